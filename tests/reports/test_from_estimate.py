"""A report from the body of an estimate, and the queue."""

import pytest

from reports.models import ReportVersion
from reports.work import worker
from tests.reports.asking import URL, fault
from tests.reports.conftest import SWEEP
from tests.reports.test_findings import rows_of

pytestmark = pytest.mark.django_db
ESTIMATE = {
    "model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm", "parallelism": {"tp": 2},
    "precision": {"weights": "fp8", "kv_cache": "fp8"},
    "workload": {"input_tokens": 1000, "output_tokens": 300, "concurrency": 24},
    "slo": {"ttft_s": 2.0, "tpot_s": 0.05}, "price_per_gpu_hour": "2.50", "currency": "USD",
}  # fmt: skip


def test_a_row_of_the_report_says_what_the_estimate_says(api, ana, loaded_catalog):
    body = {"name": "from", "estimate": ESTIMATE, "gpus": ["a100-sxm4-80gb"]}
    answer = api(ana).post(f"{URL}from-estimate/", body)
    assert answer.status_code == 202, answer.json()
    worker.run()
    version = ReportVersion.objects.get(report=answer.json()["report"])
    assert version.state == "complete", version.error
    # Powers of two from 1 to 256 and its own 24; beside them where the targets end.
    assert len([row for row in rows_of(version) if not row["refined"]]) == 2 * 10
    verdict = api(ana).post("/api/v1/estimates/verdict/", ESTIMATE).json()
    (row,) = [r for r in rows_of(version) if (r["gpu"], r["batch_size"]) == ("h100-sxm5-80gb", 24)]
    assert row["tokens_per_s_total_mid"] == verdict["speed"]["tokens_per_s_total"]["mid"]
    assert str(row["cost_per_mtok_output_mid"].normalize()) == verdict["cost"]["cost_per_mtok_output"]
    assert row["meets_slo"] is (verdict["verdict"]["state"] == "safe")


def test_a_cap_on_power_stays_with_the_sweep(api, ana, loaded_catalog):
    answer = api(ana).post(f"{URL}from-estimate/", {"name": "r", "estimate": ESTIMATE | {"power_cap_w": 300}})
    assert answer.status_code == 202, answer.json()
    assert ReportVersion.objects.get(report=answer.json()["report"]).inputs["sweep"]["power_cap_w"] == 300


def test_batch_sizes_beside_arrivals_are_refused(api, ana, loaded_catalog):
    workload = {"mode": "open_loop", "input_tokens": 1000, "output_tokens": 300, "requests_per_s": 2.0}
    body = {"name": "r", "estimate": ESTIMATE | {"workload": workload}, "batch_sizes": [1, 2]}
    answer = api(ana).post(f"{URL}from-estimate/", body)
    assert answer.status_code == 400
    assert [(one["pointer"], one["code"]) for one in answer.json()["errors"]] == [("#/batch_sizes", "not_supported")]


def test_arrivals_are_looked_at_on_both_sides_of_their_rate(api, ana, loaded_catalog):
    workload = {"mode": "open_loop", "input_tokens": 1000, "output_tokens": 300, "requests_per_s": 2.0}
    answer = api(ana).post(f"{URL}from-estimate/", {"name": "r", "estimate": ESTIMATE | {"workload": workload}})
    assert answer.status_code == 202, answer.json()
    worker.run()
    rows = rows_of(ReportVersion.objects.get())
    assert [row["offered_requests_per_s"] for row in rows] == [1.0, 2.0, 4.0]


def test_faults_of_an_estimate_are_named_by_their_place_in_it(api, ana, loaded_catalog):
    answer = api(ana).post(f"{URL}from-estimate/", {"name": "r", "estimate": ESTIMATE | {"workload": None}})
    assert fault(answer) == {("#/estimate/workload", "required")}
    answer = api(ana).post(f"{URL}from-estimate/", {"name": "r", "estimate": ESTIMATE | {"gpu": "h999"}})
    assert {pointer for pointer, _code in fault(answer)} == {"#/estimate/gpu"}


def test_the_queue_counts_everybody_s_and_names_one_s_own(api, ana, berta, loaded_catalog):
    for user in (ana, berta):
        for name in ("first", "second"):
            assert api(user).post(URL, {"name": name, "sweep": SWEEP}).status_code == 202
    found = api(ana).get(f"{URL}queue/").json()
    assert (found["running"], found["waiting"]) == (0, 4)
    assert found["rows_left"] == sum(v.total_rows for v in ReportVersion.objects.all())
    # Owners take turns: before the k-th of one's own each other owner has at most k.
    assert [(one["name"], one["progress"]["queue_place"]) for one in found["mine"]] == [("first", 2), ("second", 4)]
    worker.run()
    assert api(ana).get(f"{URL}queue/").json() == {"running": 0, "waiting": 0, "rows_left": 0, "mine": []}
    assert api(None).get(f"{URL}queue/").status_code == 401
