"""Each finding's rows really prove it: worked out again from the rows with numpy alone."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from reports.models import ReportVersion
from reports.rows import findings, tables
from reports.storage import rows_path
from tests.reports.conftest import SWEEP

pytestmark = pytest.mark.django_db
SWEEPS: list[dict[str, Any]] = [
    SWEEP | {"parallelism": [{"tp": 1}, {"tp": 2}, {"tp": 4}], "batch_sizes": [1, 8, 64, 256, 1024]},
    SWEEP
    | {
        "models": ["llama-3.1-8b", "mixtral-8x7b-v0.1"],
        "precisions": [{"weights": "fp8", "kv_cache": "fp8"}, {"weights": "bf16"}, {"weights": "int4"}],
        "parallelism": [{"tp": 2}, {"tp": 4, "pp": 2}, {"tp": 8}],
        "batch_sizes": [1, 2, 4, 16, 128, 512],
    },
    SWEEP
    | {
        "workloads": [{"input_tokens": n, "output_tokens": 100} for n in (100, 2000)],
        "precisions": [{"weights": "bf16"}, {"weights": "bf16", "kv_cache": "fp8"}],
        "batch_sizes": {"from": 1, "to": 4096, "scale": "powers_of_two"},
    },
]


def rows_of(version: ReportVersion) -> list[dict[str, Any]]:
    with tables.connect() as connection:
        result = connection.execute(f"SELECT * FROM {tables.source(rows_path(version))}")
        names = [entry[0] for entry in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def key(row: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


CONFIGURATION = ("model", "workload", "gpu", "engine", "precision", "parallelism")


def check_knee(entry: dict[str, Any], group: list[dict[str, Any]]) -> None:
    row, after = entry["row"], entry["other_row"]
    best = max(r["tokens_per_s_per_gpu_mid"] for r in group)
    same = sorted(
        (r for r in group if key(r, *CONFIGURATION) == key(row, *CONFIGURATION)), key=lambda r: r["batch_size"]
    )
    assert max(r["tokens_per_s_per_gpu_mid"] for r in same) == best
    batches = np.array([r["batch_size"] for r in same], float)
    total = np.array([r["tokens_per_s_total_mid"] for r in same])
    slopes = np.diff(np.log(total)) / np.diff(np.log(batches))
    first = int(np.flatnonzero(slopes < 0.5)[0])
    assert (row["batch_size"], after["batch_size"]) == (batches[first], batches[first + 1])


def check_quantisation(entry: dict[str, Any], group: list[dict[str, Any]]) -> None:
    row, base = entry["row"], entry["other_row"]
    same = ("model", "workload", "gpu", "engine", "parallelism")
    assert key(row, *same, "batch_size") == key(base, *same, "batch_size")
    assert row["precision"] != base["precision"]
    held = lambda r: r["weights_bytes"] + r["kv_cache_bytes"]  # noqa: E731
    assert held(row) < held(base)
    setting = [r for r in group if key(r, *same) == key(row, *same)]
    totals = {(r["precision"], r["batch_size"]): r["tokens_per_s_total_mid"] for r in setting}
    for (precision, batch), total in totals.items():
        if precision == row["precision"] and batch >= row["batch_size"] and (base["precision"], batch) in totals:
            assert total <= totals[base["precision"], batch]


def check_tp(entry: dict[str, Any], _group: list[dict[str, Any]]) -> None:
    row, before = entry["row"], entry["other_row"]
    same = ("model", "workload", "gpu", "engine", "precision", "batch_size")
    assert key(row, *same) == key(before, *same)
    assert row["parallelism"].split("-", 1)[1] == before["parallelism"].split("-", 1)[1]
    assert row["tp"] > before["tp"]
    assert row["tokens_per_s_per_user_mid"] < 1.10 * before["tokens_per_s_per_user_mid"]


def check_extreme(entry: dict[str, Any], group: list[dict[str, Any]]) -> None:
    row = entry["row"]
    if entry["kind"] == "largest_batch_that_fits":
        assert row["batch_size"] == max(
            r["batch_size"] for r in group if r["fits"] and r["batch_size"] <= r["max_sequences"]
        )
    elif entry["kind"] == "best_within_slo":
        assert row["meets_slo"]
        assert row["tokens_per_s_per_gpu_mid"] == max(r["tokens_per_s_per_gpu_mid"] for r in group if r["meets_slo"])
    else:
        within = [r["cost_per_mtok_output_mid"] for r in group if r["meets_slo"] and r["cost_per_mtok_output_mid"]]
        assert float(row["cost_per_mtok_output_mid"]) == float(min(within))


def check_frontier(entry: dict[str, Any], group: list[dict[str, Any]]) -> None:
    user = np.array([r["tokens_per_s_per_user_mid"] for r in group])
    gpu = np.array([r["tokens_per_s_per_gpu_mid"] for r in group])
    beaten = ((user[None] >= user[:, None]) & (gpu[None] >= gpu[:, None])
              & ((user[None] > user[:, None]) | (gpu[None] > gpu[:, None]))).any(axis=1)  # fmt: skip
    best = {(user[n], gpu[n]) for n in np.flatnonzero(~beaten)}
    assert entry["count"] == len(best)
    index = {r["row_index"]: n for n, r in enumerate(group)}
    assert {(user[index[i]], gpu[index[i]]) for i in entry["row_indices"]} == best


CHECKS = {
    "knee": check_knee,
    "quantisation_stops_helping": check_quantisation,
    "tp_stops_helping": check_tp,
    "pareto_frontier": check_frontier,
}


@pytest.mark.parametrize("sweep", SWEEPS, ids=("splits", "precisions", "lengths"))
def test_every_finding_is_proved_by_its_rows(make_report, ana, sweep):
    version = make_report(ana, sweep=sweep, slo={"tpot_s": 0.1})
    groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in rows_of(version):
        if row["status"] == "ok":
            groups[row["model"], row["workload"]].append(row)
    assert {entry["kind"] for entry in version.findings} >= {"largest_batch_that_fits", "knee", "cheapest_feasible"}
    for entry in version.findings:
        CHECKS.get(entry["kind"], check_extreme)(entry, groups[entry["model"], entry["workload"]])


def test_more_groups_than_are_looked_at_are_said(make_report, ana, monkeypatch):
    monkeypatch.setattr(findings, "MAX_GROUPS", 2)
    workloads = [{"input_tokens": n, "output_tokens": 100} for n in (100, 200, 300)]
    version = make_report(ana, sweep=SWEEP | {"workloads": workloads})
    assert (version.summary["groups"], version.summary["groups_with_findings"]) == (3, 2)
    assert {entry["workload"] for entry in version.findings} == {"closed_loop 100+100", "closed_loop 200+100"}


def test_arrivals_are_judged_by_their_rate_and_a_growing_queue_proves_nothing(make_report, ana):
    arrivals = {"mode": "open_loop", "input_tokens": 1000, "output_tokens": 300}
    sweep = {name: value for name, value in SWEEP.items() if name != "batch_sizes"} | {
        "models": ["llama-3.2-1b"],
        "workloads": [arrivals | {"requests_per_s": [1, 2, 4, 8, 10_000]}],
        "parallelism": [{"tp": 1}, {"tp": 2}, {"tp": 4}, {"tp": 8}],
    }
    version = make_report(ana, sweep=sweep, slo={"ttft_s": 1.0})
    rows = rows_of(version)
    lasting = [row for row in rows if row["status"] == "ok" and row["utilization"] < 1]
    assert 0 < len(lasting) < len(rows)
    assert version.summary["queue_grows_rows"] == len([row for row in rows if (row["utilization"] or 0) >= 1])
    assert version.summary["max_tokens_per_s_per_user_mid"] == max(r["tokens_per_s_per_user_mid"] for r in lasting)
    found = {entry["kind"]: entry for entry in version.findings}
    assert set(found) == {"best_within_slo", "cheapest_feasible", "pareto_frontier", "tp_stops_helping"}
    best = max((row for row in lasting if row["meets_slo"]), key=lambda row: row["tokens_per_s_per_gpu_mid"])
    assert found["best_within_slo"]["row"]["tokens_per_s_per_gpu_mid"] == best["tokens_per_s_per_gpu_mid"]
    assert f"{best['offered_requests_per_s']:g} requests/s" in found["best_within_slo"]["text"]
    cheapest = min(row["cost_per_mtok_output_mid"] for row in lasting if row["meets_slo"] and row["currency"])
    assert float(found["cheapest_feasible"]["row"]["cost_per_mtok_output_mid"]) == float(cheapest)
    on_it = [row for row in rows if row["row_index"] in found["pareto_frontier"]["row_indices"]]
    assert all(row["utilization"] < 1 for row in on_it)
    step = found["tp_stops_helping"]
    assert step["row"]["offered_requests_per_s"] == step["other_row"]["offered_requests_per_s"]


@pytest.mark.parametrize(
    ("slo", "said"), [(None, "The cheapest: "), ({"tpot_s": 0.008}, "The cheapest within the targets: ")]
)
def test_the_cheapest_says_whether_targets_left_a_cheaper_one_out(make_report, ana, slo, said):
    version = make_report(ana, sweep=SWEEP, slo=slo)
    found = next(entry for entry in version.findings if entry["kind"] == "cheapest_feasible")
    assert found["text"].startswith(f"chat: 1,000 in, 300 out tokens: {said}")
    least = min(float(row["cost_per_mtok_output_mid"]) for row in rows_of(version) if row["cost_per_mtok_output_mid"])
    assert (least < float(found["row"]["cost_per_mtok_output_mid"])) == (slo is not None)
