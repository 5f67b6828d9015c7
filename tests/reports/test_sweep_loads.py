"""Loads of a sweep other than batches: rates, offline, one stream; each row is the answer to its request."""

import numpy as np
import orjson
import pytest

from estimator.engine.faults import ResolutionError
from estimator.estimates.sweep import compute as sweeps
from estimator.estimates.sweep.loads import loads_of
from estimator.question.sweep import SweptWorkload
from estimator.resolvers.live import current_facts
from reports.api import schemas
from reports.services.preparing import prepare
from tests.reports.test_sweep_rows import values

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

LENGTHS = {"input_tokens": 1000, "output_tokens": 300}
BASE = {
    "models": ["llama-3.1-8b", "llama-3.1-70b"],
    "gpus": ["h100-sxm5-80gb"],
    "engines": ["vllm-0.19", "ideal", "llama.cpp"],
    "precisions": [{"weights": "fp8", "kv_cache": "fp8"}],
    "memory": {"utilization": 0.9},
}
WORKLOADS = [
    LENGTHS | {"mode": "open_loop", "requests_per_s": [8.0, 0.5, 10_000.0], "name": "arrivals"},
    LENGTHS | {"mode": "open_loop", "requests_per_s": [2.0], "burstiness_cv": 2.0, "prefix_cache_hit_rate": 0.5},
    LENGTHS | {"mode": "offline"},
    LENGTHS | {"mode": "single_stream"},
    LENGTHS | {"mode": "decode_step", "context_tokens": 5000},
    LENGTHS | {"mode": "closed_loop"},
]
SLO = {"ttft_s": 0.5, "e2e_s": 20.0, "percentile": 99}


def definition(**changes):
    return schemas.plain(schemas.Sweep.model_validate_json(orjson.dumps(BASE | changes)))


def sweep_of(slo=None, **changes):
    given = definition(**changes)
    targets = schemas.plain(schemas.Targets.model_validate_json(orjson.dumps(slo))) if slo else None
    snapshot = orjson.loads(orjson.dumps(sweeps.snapshot_of(given, current_facts())))
    return sweeps.load({"sweep": given, "slo": targets}, snapshot)


def faults(**changes):
    with pytest.raises(ResolutionError) as caught:
        prepare(sweep=definition(**changes), slo=None, pricing=None)
    return {("/".join(map(str, issue.path)), issue.code) for issue in caught.value.faults}


@pytest.fixture
def sweep(loaded_catalog):
    return sweep_of(slo=SLO, workloads=WORKLOADS, batch_sizes=[1, 64])


def test_rates_batches_and_single_rows_stand_in_the_order_of_their_workloads(sweep):
    rows = sweep.rows(0, sweep.total_rows)
    of_one_setting = 3 + 1 + 1 + 1 + 2 + 2
    assert (
        sweep.total_rows == 6 * of_one_setting == sweeps.most_rows(definition(workloads=WORKLOADS, batch_sizes=[1, 64]))
    )
    assert values(rows, "batch_size")[:of_one_setting] == [None] * 5 + [1, 1, 64, 1, 64]
    assert values(rows, "offered_requests_per_s")[:of_one_setting] == [0.5, 8.0, 10_000.0, 2.0] + [None] * 6
    assert values(rows, "workload")[3] == "open_loop 1000+300 hit 0.5 cv 2"


def test_every_row_equals_the_answer_to_its_request(api, ana, sweep):
    rows = sweep.rows(0, sweep.total_rows)
    columns = {name: values(rows, name) for name in rows}
    by_label = {SweptWorkload.model_validate(given, strict=False).label: given for given in WORKLOADS}
    said, verdicts = 0, set()
    for number in range(sweep.total_rows):
        row = {name: column[number] for name, column in columns.items()}
        workload = {key: value for key, value in by_label[row["workload"]].items() if key != "name"}
        if workload["mode"] == "open_loop":
            workload["requests_per_s"] = row["offered_requests_per_s"]
        elif row["batch_size"] is not None:
            workload["concurrency"] = int(row["batch_size"])
        body = {
            **{name: row[name] for name in ("model", "gpu", "engine")},
            "precision": BASE["precisions"][0], "memory": BASE["memory"], "workload": workload, "slo": SLO,
        }  # fmt: skip
        response = api(ana).post("/api/v1/estimates/throughput/", body)
        answer = response.json()
        if response.status_code == 400:
            assert (row["status"], row["reason"]) == ("unsupported", answer["errors"][0]["detail"])
            continue
        for name in ("ttft_s", "tpot_s", "e2e_s", "tokens_per_s_total", "tokens_per_s_per_user"):
            for side in ("low", "mid", "high"):
                told = answer["expected"][name] and answer["expected"][name][side]
                assert row[f"{name}_{side}"] == (told and pytest.approx(told, rel=1e-12)), (name, body)
        met = {1: True, 0: False, -1: None}[row["meets_slo"]]
        assert met == answer["meets_slo"]["all"], (body, answer["meets_slo"])
        chance = answer["odds"]["all"]
        assert row["chance_within_slo"] == (chance and pytest.approx(chance, rel=1e-9)), body
        verdicts.add(met)
        if answer["open_load"]:
            for name in ("utilization", "max_stable_requests_per_s"):
                assert row[name] == pytest.approx(answer["open_load"][name], rel=1e-12), body
        said += row["tpot_s_mid"] is not None
    assert said > 25
    assert verdicts == {True, False, None}


def test_a_target_that_binds_nothing_is_neither_met_nor_missed(loaded_catalog):
    one_token = [LENGTHS | {"output_tokens": 1}]
    rows = sweep_of(slo={"tpot_s": 1.0}, workloads=one_token, batch_sizes=[1]).rows(0, 1)
    assert values(rows, "meets_slo") == [-1]


def test_a_sweep_far_beyond_the_limit_is_counted_and_not_built(loaded_catalog, monkeypatch):
    monkeypatch.setattr("estimator.estimates.sweep.compute.loads_of", lambda *_given: pytest.fail("built"))
    many = {"from": 1, "to": 1_000_000, "scale": "linear"}
    assert faults(workloads=[LENGTHS, LENGTHS | {"input_tokens": 7}], batch_sizes=many) == {("sweep", "out_of_range")}


def test_a_queue_that_grows_meets_no_target_in_the_estimate_either(api, ana):
    workload = LENGTHS | {"mode": "open_loop", "requests_per_s": 10_000.0}
    body = {"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "workload": workload, "slo": {"tpot_s": 100.0}}
    met = api(ana).post("/api/v1/estimates/throughput/", body).json()["meets_slo"]
    assert (met["tpot_s"], met["all"]) == (True, False)


def test_a_queue_that_grows_says_so_and_meets_no_target(loaded_catalog):
    overload = [LENGTHS | {"mode": "open_loop", "requests_per_s": [1.0, 10_000.0]}]
    sweep = sweep_of(slo={"tpot_s": 100.0}, workloads=overload, models=["llama-3.1-8b"], engines=["vllm"])
    rows = sweep.rows(0, 2)
    assert values(rows, "status") == ["ok", "ok"]
    assert values(rows, "meets_slo") == [1, 0]
    assert values(rows, "ttft_s_mid")[1] is None
    assert "grows" in values(rows, "reason")[1]
    assert values(rows, "utilization")[0] < 1 < values(rows, "utilization")[1]
    # Beyond what can be served, tokens/s are those of the full replica and no longer follow the arrivals.
    assert values(rows, "tokens_per_s_total_mid")[0] == pytest.approx(300.0)
    assert values(rows, "tokens_per_s_total_mid")[1] < 10_000 * 300


def test_memory_where_the_mode_sets_the_batch_is_that_of_the_sequences_that_run(sweep):
    columns = sweep.rows(0, sweep.total_rows)
    names = ("model", "engine", "workload", "offered_requests_per_s", "batch_size", "kv_cache_bytes", "slack_bytes",
             "effective_concurrency", "full_length_sequences")  # fmt: skip
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(values(columns, name) for name in names), strict=True)]
    rows = [row for row in rows if (row["model"], row["engine"]) == ("llama-3.1-8b", "vllm-0.19")]
    one = next(row["kv_cache_bytes"] for row in rows if row["workload"] == "closed_loop 1000+300")
    free = [row for row in rows if row["batch_size"] is None and "hit" not in row["workload"]]
    assert [row["offered_requests_per_s"] for row in free] == [0.5, 8.0, 10_000.0, None]
    for row in free:
        running = min(np.ceil(row["effective_concurrency"]), row["full_length_sequences"])
        assert row["kv_cache_bytes"] == pytest.approx(one * running, rel=1e-9), row
        assert row["slack_bytes"] >= 0, row


def test_up_to_what_fits_leaves_rates_as_they_are(loaded_catalog):
    sweep = sweep_of(workloads=WORKLOADS, batch_sizes="max", models=["llama-3.1-8b"], engines=["vllm"])
    rows = sweep.rows(0, sweep.total_rows)
    assert values(rows, "offered_requests_per_s")[:4] == [0.5, 8.0, 10_000.0, 2.0]
    closed = [
        b
        for b, w in zip(values(rows, "batch_size"), values(rows, "workload"), strict=True)
        if w == "closed_loop 1000+300"
    ]
    assert closed[:4] == [1, 2, 4, 8]
    assert closed[-1] == values(rows, "full_length_sequences")[-1] < values(rows, "max_sequences")[-1]
    pieces = [sweep.rows(first, 3) for first in range(0, sweep.total_rows, 3)]
    assert [v for piece in pieces for v in values(piece, "tpot_s_mid")] == values(rows, "tpot_s_mid")


def test_a_wait_that_hangs_on_settings_nobody_gave_is_not_said(loaded_catalog):
    crowd = {"workloads": [LENGTHS], "batch_sizes": [100_000], "models": ["llama-3.1-8b"], "engines": ["nim"]}
    crowd |= {"memory": {"utilization": 0.9, "max_num_seqs": 1_000_000}}
    given = sweep_of(**crowd).rows(0, 1)
    assert values(given, "ttft_s_mid")[0] > 0
    for taken in ({"precisions": [{"weights": "fp8"}]}, {"memory": {"max_num_seqs": 1_000_000}}):
        row = sweep_of(**crowd | taken).rows(0, 1)
        assert values(row, "ttft_s_mid") == [None]
        assert "not both given" in values(row, "reason")[0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"workloads": [LENGTHS]}, {("sweep/batch_sizes", "required")}),
        ({"workloads": [LENGTHS | {"mode": "offline"}], "batch_sizes": [1]}, {("sweep/batch_sizes", "not_supported")}),
        (
            {"workloads": [LENGTHS | {"mode": "open_loop"}]},
            {("sweep/workloads/0/requests_per_s", "required")},
        ),
        (
            {"workloads": [LENGTHS | {"requests_per_s": [1.0], "burstiness_cv": 2.0}], "batch_sizes": [1]},
            {
                ("sweep/workloads/0/requests_per_s", "not_supported"),
                ("sweep/workloads/0/burstiness_cv", "not_supported"),
            },
        ),
    ],
)  # fmt: skip
def test_a_load_that_a_mode_lacks_or_does_not_take_is_named(changes, expected):
    assert faults(**changes) == expected


def test_equal_rates_are_one_row():
    given = LENGTHS | {"mode": "open_loop", "requests_per_s": [2, 1.0, 2.0]}
    assert loads_of(SweptWorkload.model_validate(given, strict=False), ()).rate.tolist() == [1.0, 2.0]
