"""The decision of a version says what its rows say: worked out again from the rows with plain Python."""

from decimal import Decimal
from typing import Any

import pytest

from reports import conf
from reports.decision import stored
from reports.decision.block import decide
from reports.decision.parts import Decision
from reports.models import ReportVersion
from reports.rows import tables
from reports.services import api_bills
from reports.storage import rows_path
from tests.reports.conftest import SLO, SWEEP
from tests.reports.test_findings import rows_of

pytestmark = pytest.mark.django_db
GPUS = ["h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-4090"]
WORKLOADS = [{"name": "chat", "input_tokens": 1000, "output_tokens": 300}, {"input_tokens": 6000, "output_tokens": 500}]
PRICES = {"h100-sxm5-80gb": "3.0", "a100-sxm4-80gb": "1.5"}
TWO_WORKLOADS = SWEEP | {"gpus": GPUS, "workloads": WORKLOADS}


@pytest.fixture
def version(make_report: Any, ana: Any) -> ReportVersion:
    return make_report(ana, sweep=TWO_WORKLOADS, pricing={"currency": "USD", "price_per_gpu_hour": PRICES})


def decision(version: ReportVersion) -> Decision:
    found, reason = stored.decision_of(version)
    assert found is not None, reason
    return found


def test_each_gpu_has_a_line_for_each_workload_and_it_is_the_cheapest_row_within_the_targets(version):
    rows, groups = rows_of(version), decision(version).groups
    assert [group.workload for group in groups] == ["chat", "closed_loop 6000+500"]
    for group in groups:
        assert sorted(line.gpu for line in group.lines) == sorted(GPUS)
        for line in group.lines:
            own = [r for r in rows if (r["workload"], r["gpu"]) == (group.workload, line.gpu)]
            within = [r for r in own if r["status"] == "ok" and r["meets_slo"]]
            if not within:
                assert line.setting is None
                assert line.reason
                continue
            best = min(within, key=lambda r: (r["cost_per_mtok_output_mid"] or 0, -r["tokens_per_s_per_gpu_mid"]))
            assert line.setting is not None
            assert line.setting.row_index == best["row_index"]
            assert line.tokens_per_s_total.mid == best["tokens_per_s_total_mid"]


def test_costs_are_those_of_the_row_and_follow_from_its_speed(version):
    rows = {row["row_index"]: row for row in rows_of(version)}
    priced = [line for group in decision(version).groups for line in group.lines if line.cost_per_month is not None]
    assert len(priced) >= 4
    for line in priced:
        row = rows[line.setting.row_index]
        assert line.cost_per_mtok_output.mid == row["cost_per_mtok_output_mid"]
        # By hand: an hour over the tokens of an hour, prompt and answer together.
        share = row["output_tokens"] / (row["input_tokens"] + row["output_tokens"])
        assert float(line.cost_per_mtok_blended.mid) == pytest.approx(float(line.cost_per_mtok_output.mid) * share)
        assert float(line.cost_per_mtok_blended.low) == pytest.approx(float(line.cost_per_mtok_output.low) * share)
        assert line.cost_per_month == line.price.per_gpu_hour * 730 * line.setting.gpus
        # A GPU whose price nobody gave has the catalog's, with who asks it and the day it was seen.
        given = PRICES.get(line.gpu)
        assert line.price.per_gpu_hour == Decimal(given) if given else line.price.seller and line.price.date


def loads_of(rows: list[dict[str, Any]], group: Any, line: Any) -> list[dict[str, Any]]:
    """The rows of the setting of a line that can be computed."""
    parts = ("engine", "precision", "parallelism")
    own = (group.workload, line.gpu, "ok", *(getattr(line.setting, name) for name in parts))
    return [row for row in rows if tuple(row[n] for n in ("workload", "gpu", "status", *parts)) == own]


def test_users_are_the_largest_loads_that_hold_all_targets_with_the_chances_that_a_verdict_calls_so(version):
    rows, told = rows_of(version), 0
    for group in decision(version).groups:
        for line in group.lines:
            if line.setting is None:
                continue
            own = loads_of(rows, group, line)
            for name, chance in (("safe", 0.9), ("likely", 0.5)):
                holds = [row["batch_size"] for row in own if (row["chance_within_slo"] or 0) >= chance]
                assert getattr(line.load_within, name) == max(holds, default=None)
            assert line.load_within.by == "chance"
            assert line.load_within.meets == max(row["batch_size"] for row in own if row["meets_slo"])
            told += 1
    assert told >= 4


def test_rows_of_a_release_that_told_no_chance_are_held_at_the_sides_of_the_band_and_the_line_says_so(
    version,
):
    whole = rows_path(version)
    old = conf.scratch_dir() / "old.parquet"
    with tables.connect() as connection:
        connection.execute(
            f"COPY (SELECT * EXCLUDE (chance_within_slo) FROM {tables.source(whole)}) TO {tables.quoted(old)}"
        )
    found = decide((old,), version.inputs, version.snapshot, version.summary)
    rows, differ = rows_of(version), 0
    for group, now in zip(found.groups, decision(version).groups, strict=True):
        for line, one in zip(group.lines, now.lines, strict=True):
            if line.setting is None:
                continue
            for name, side in (("safe", "high"), ("likely", "mid")):
                holds = [r["batch_size"] for r in loads_of(rows, group, line)
                         if all((r[f"{t}_{side}"] or 9e9) <= SLO[t] for t in SLO)]  # fmt: skip
                assert getattr(line.load_within, name) == max(holds, default=None)
            assert line.load_within.by == "band"
            assert line.load_within.meets == one.load_within.meets
            differ += line.load_within != one.load_within.model_copy(update={"by": "band"})
    assert differ, "the rule by band and that by chance tell the same loads here: the test shows nothing"


@pytest.mark.parametrize("side", ["mid", "conservative"])
def test_loads_of_which_one_says_that_nothing_lies_between_hold_and_miss_at_the_side_that_was_asked(
    make_report, ana, side
):
    sweep = SWEEP | {"batch_sizes": [1, 4, 16, 24, 32, 40, 48, 64, 128, 256]}
    version = make_report(ana, sweep=sweep, slo={"tpot_s": 0.02, "ttft_s": 0.5, "band_side": side})
    group = decision(version).groups[0]
    line = group.lines[0]
    own = {row["batch_size"]: row["meets_slo"] for row in loads_of(rows_of(version), group, line)}
    holds = max(batch for batch, meets in own.items() if meets)
    misses = min(batch for batch in own if batch > holds)
    assert own[misses] is False
    assert f" holds the targets at {holds} users, not at {misses}; loads between" in " ".join(group.changes)


def test_without_targets_no_load_is_said_to_hold_them(make_report, ana):
    group = decision(make_report(ana, sweep=SWEEP | {"batch_sizes": [1, 4096]}, slo=None)).groups[0]
    assert {line.load_within.by for line in group.lines} == {None}
    assert not any("holds the targets" in text for text in group.changes)


def test_at_the_price_that_it_names_the_second_costs_what_the_winner_costs(version, api, ana):
    group = decision(version).groups[0]
    second = group.lines[1]
    assert second.gpu == group.winner.runner_up
    below = str(group.winner.runner_up_wins_below)
    answer = api(ana).post(
        f"/api/v1/reports/{version.report_id}/versions/1/recost/",
        {"pricing": {"currency": "USD", "price_per_gpu_hour": PRICES | {second.gpu: below}}},
    )
    assert answer.status_code == 202, answer.json()
    from reports.work import worker

    worker.run()
    again = decision(ReportVersion.objects.get(report=version.report, number=2)).groups[0]
    costs = {line.gpu: line.cost_per_mtok_output.mid for line in again.lines if line.cost_per_mtok_output}
    assert float(costs[second.gpu]) == pytest.approx(float(costs[group.winner.gpu]), rel=1e-8)


def test_a_gpu_that_nothing_fits_on_says_so_and_a_missed_target_is_named(make_report, ana):
    sweep = SWEEP | {"models": ["llama-3.3-70b-instruct"], "gpus": ["rtx-4090", "h100-sxm5-80gb"]}
    sweep |= {"precisions": [{"weights": "fp8"}], "batch_sizes": [1, 2]}
    found = decision(make_report(ana, sweep=sweep, slo={"tpot_s": 0.001}, pricing=None))
    states = {line.gpu: (line.state, line.reason) for line in found.groups[0].lines}
    assert states["rtx-4090"][0] == "does_not_fit"
    assert "GiB" in states["rtx-4090"][1]
    assert states["h100-sxm5-80gb"][0] == "misses_targets"
    assert "Each further token: at best" in states["h100-sxm5-80gb"][1]
    assert found.groups[0].winner is None
    assert found.groups[0].sentence == "No GPU meets the targets."


def test_without_prices_the_faster_gpu_is_named_and_nothing_is_said_of_money(make_report, ana):
    found = decision(make_report(ana, pricing={"currency": "EUR"}))
    group = found.groups[0]
    assert group.winner.by == "speed"
    assert group.sentence.startswith("No price is known; H100 SXM5 80GB gives the most tokens per second and GPU")
    assert all(line.cost_per_month is None and line.price is None for line in group.lines)
    assert {line.price_reason for line in group.lines} == {"No seller on demand in EUR is known."}


def test_the_row_to_measure_is_the_one_whose_outcome_changes_the_choice_most_and_it_has_the_command_of_its_load(
    version,
):
    rows = {row["row_index"]: row for row in rows_of(version)}
    told = 0
    for group in decision(version).groups:
        found = group.next_measurement
        lines = [line for line in group.lines if line.setting is not None]
        chances = [rows[line.setting.row_index]["chance_within_slo"] for line in lines]
        assert None not in chances
        assert (found.command is None) == (found.reason is not None)
        if found.command is None:
            continue
        told += 1
        row = rows[found.row_index]
        assert found.chance == pytest.approx(row["chance_within_slo"], abs=1e-9)
        assert found.gpu == row["gpu"]
        assert f"--max-concurrency {row['batch_size']} " in found.command
        assert f"--random-input-len {row['input_tokens']:g} " in found.command
        # Nobody is sent to measure what is sure, nor what would never be chosen before something that is.
        assert 0.02 < found.chance < 0.98
        cheaper = [rows[line.setting.row_index] for line in lines if line.place < _place(lines, row)]
        assert all(one["chance_within_slo"] < 0.98 for one in cheaper)
    assert told


def _place(lines: list[Any], row: dict[str, Any]) -> int:
    return next((line.place for line in lines if line.gpu == row["gpu"]), 99)


def test_the_bill_of_an_api_is_that_of_the_cost_estimate(version, api, ana, monkeypatch):
    body = {"price": {"currency": "USD", "meters": {"input": "0.20", "output": "0.60"}}}
    usage = {"input_tokens": 1000, "output_tokens": 300}
    answer = api(ana).post("/api/v1/estimates/cost/", {"api": body | {"usage": usage}})
    total = Decimal(answer.json()["api"]["total"])
    entry = {
        "model": "llama-3.1-8b", "workload": "chat", "sellers": 1,
        "bills": [{
            "price": "seller-x", "provider": "x", "model": "x", "currency": "USD", "cost_per_request": str(total),
            "input_per_mtok": "0.20", "output_per_mtok": "0.60", "date": "2026-11-01", "url": None,
        }],
    }  # fmt: skip
    found = decide(rows_path(version), version.inputs, version.snapshot | {"api_bills": [entry]}, version.summary)
    line = found.groups[0].apis[0]
    assert float(line.cost_per_mtok_blended) == pytest.approx(float(total) / 1300 * 1e6)
    own = found.groups[0].lines[0].cost_per_mtok_blended.mid
    assert line.cost_over_winner == pytest.approx(float(line.cost_per_mtok_blended / own))
    if line.winner_cheaper_above_load is not None:
        assert line.winner_cheaper_above_load == pytest.approx(float(own / line.cost_per_mtok_blended))


def test_a_version_that_stored_no_decision_gets_it_from_its_rows(version, monkeypatch):
    then = decision(version)
    old = ReportVersion.objects.get(pk=version.pk)
    old.decision = None
    assert stored.decision_of(old)[0] == then
    old.snapshot = {name: value for name, value in old.snapshot.items() if name != "api_bills"}
    stored._derived.clear()
    found, _reason = stored.decision_of(old)
    assert found.groups[0].apis_reason == "The version was ordered by a release that kept no prices of APIs."
    assert found.groups[0].lines == then.groups[0].lines


def test_the_api_answers_the_decision_under_an_etag(version, api, ana, berta):
    path = f"/api/v1/reports/{version.report_id}/versions/1/decision/"
    answer = api(ana).get(path)
    assert answer.status_code == 200
    assert answer.json()["decision"] == decision(version).model_dump(mode="json")
    assert api(ana).get(path, HTTP_IF_NONE_MATCH=answer["ETag"]).status_code == 304
    assert api(berta).get(path).status_code == 404


def test_sellers_with_further_words_in_their_name_are_left_out(loaded_catalog):
    from catalog.spelling import model_words

    same = model_words("Llama-3.3-70B-Instruct")
    assert model_words("meta-llama/llama-3.3-70b-instruct") == same
    assert model_words("meta-llama/Llama-3.3-70B-Instruct-Turbo") != same
    assert model_words("meta-llama/llama-3.3-70b-instruct:free") != same
    assert api_bills.KEPT == 3
