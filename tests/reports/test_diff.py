"""Causes and amounts of a change: named exactly, and summing to it."""

from decimal import Decimal

import pytest

from catalog.models import Gpu
from reports import diff
from reports.diff import attribution, pages
from reports.models import ReportVersion
from reports.work import worker
from tests.reports.conftest import SWEEP

pytestmark = pytest.mark.django_db
URL = "/api/v1/reports/"


def rebuilt(api, ana, version, body=None, number=2):
    answer = api(ana).post(f"{URL}{version.report_id}/versions/", body or {})
    assert answer.status_code == 202, answer.json()
    worker.run()
    made = ReportVersion.objects.get(report=version.report, number=number)
    assert made.state == "complete", made.error
    return made


def edit_gpu(**values):
    gpu = Gpu.objects.get(slug="h100-sxm5-80gb")
    for name, value in values.items():
        setattr(gpu, name, value)
    gpu.save()


def check_sums(difference):
    assert difference["moved"]
    for entry in difference["moved"]:
        for metric, values in entry["metrics"].items():
            if values["change"] is None:
                continue
            total = sum(Decimal(c["amounts"][metric]) for c in entry["causes"] if c["amounts"].get(metric))
            assert total == Decimal(values["change"]), (metric, entry)


def test_versions_of_the_same_catalog_do_not_differ(api, ana, make_report):
    version = make_report(ana)
    difference = diff.compare(version, rebuilt(api, ana, version))
    assert difference["same_content"]
    assert (difference["moved"], difference["catalog"], difference["inputs"]) == ([], [], [])
    assert difference["rows"] == {"matched": 36, "moved": 0, "only_in_old": 0, "only_in_new": 0}


def test_a_bandwidth_edit_is_the_only_cause_and_is_worth_the_whole_change(api, ana, make_report):
    version = make_report(ana)
    edit_gpu(memory_bandwidth_bytes_per_s=3.0e12)
    difference = diff.compare(version, rebuilt(api, ana, version))
    assert [cause["slug"] for cause in difference["catalog"]] == ["h100-sxm5-80gb"]
    change = difference["catalog"][0]["changes"]
    assert [entry["path"] for entry in change] == ["memory_bandwidth_bytes_per_s"]
    assert (change[0]["old"], change[0]["new"]) == (3.35e12, 3.0e12)
    assert {entry["setting"]["gpu"] for entry in difference["moved"]} == {"h100-sxm5-80gb"}
    assert {c["cause"] for entry in difference["moved"] for c in entry["causes"]} == {"gpu:h100-sxm5-80gb"}
    check_sums(difference)


def test_price_bandwidth_and_estimator_are_told_apart_and_sum_exactly(api, ana, make_report, monkeypatch):
    real = attribution.sweeps.load
    monkeypatch.setattr("reports.work.worker.sweeps.load", lambda inputs, snapshot: Slower(real(inputs, snapshot)))
    version = make_report(ana)
    worker.forget_plans()
    monkeypatch.undo()
    edit_gpu(memory_bandwidth_bytes_per_s=3.0e12)
    pricing = {"currency": "USD", "price_per_gpu_hour": {"h100-sxm5-80gb": "2.5"}}
    new = rebuilt(api, ana, version, {"pricing": pricing})
    difference = diff.compare(version, new)
    on_h100 = [entry for entry in difference["moved"] if entry["setting"]["gpu"] == "h100-sxm5-80gb"]
    costs = {c["cause"] for e in on_h100 for c in e["causes"] if "cost_per_mtok_output_mid" in c["amounts"]}
    assert costs == {"estimator", "gpu:h100-sxm5-80gb", "price:h100-sxm5-80gb"}
    speeds = {c["cause"] for e in on_h100 for c in e["causes"] if "tokens_per_s_total_mid" in c["amounts"]}
    assert speeds == {"estimator", "gpu:h100-sxm5-80gb"}
    check_sums(difference)


def test_amounts_of_two_currencies_have_no_difference(api, ana, make_report):
    version = make_report(ana, pricing={"currency": "USD", "price_per_gpu_hour": {"h100-sxm5-80gb": "2"}})
    url = f"{URL}{version.report_id}/"
    euros = {"currency": "EUR", "price_per_gpu_hour": {"h100-sxm5-80gb": "2"}}
    assert api(ana).post(f"{url}versions/1/recost/", {"pricing": euros}).status_code == 202
    worker.run()
    moved = api(ana).get(f"{url}diff/", {"from": 1, "to": 2}).json()["moved"]
    on_h100 = [entry for entry in moved if entry["setting"]["gpu"] == "h100-sxm5-80gb"]
    assert on_h100
    for entry in on_h100:
        assert entry["currency"] == {"old": "USD", "new": "EUR"}
        assert list(entry["metrics"]) == ["cost_per_mtok_output_mid"]
        cost = entry["metrics"]["cost_per_mtok_output_mid"]
        assert cost["old"] == cost["new"] is not None  # the same number of other money
        assert cost["change"] is None
        assert entry["causes"] == [{"cause": "price:h100-sxm5-80gb", "amounts": {"cost_per_mtok_output_mid": None}}]


class Slower:
    """An estimator of another time: everything a tenth slower."""

    def __init__(self, sweep):
        self._sweep = sweep
        self.total_rows = sweep.total_rows
        self.axes = sweep.axes
        self.is_refined = sweep.is_refined

    def rows(self, first, count):
        columns = self._sweep.rows(first, count)
        for side in ("low", "mid", "high"):
            columns[f"tokens_per_s_total_{side}"] = columns[f"tokens_per_s_total_{side}"] * 0.9
            columns[f"cost_per_mtok_output_{side}"] = columns[f"cost_per_mtok_output_{side}"] / 0.9
        return columns


def test_other_inputs_are_named_and_rows_only_in_one_are_counted(api, ana, make_report):
    version = make_report(ana)
    new = rebuilt(api, ana, version, {"sweep": SWEEP | {"gpus": ["h100-sxm5-80gb"]}, "slo": {"tpot_s": 0.04}})
    difference = diff.compare(version, new)
    assert {change["path"] for change in difference["inputs"]} >= {"slo.tpot_s"}
    assert difference["rows"] == {"matched": 18, "moved": 0, "only_in_old": 18, "only_in_new": 0}


def test_without_the_estimator_that_made_it_causes_have_no_amounts(api, ana, make_report, monkeypatch):
    version = make_report(ana)
    edit_gpu(memory_bandwidth_bytes_per_s=3.0e12)
    new = rebuilt(api, ana, version)
    monkeypatch.setattr(attribution, "ESTIMATOR_VERSION", "another")
    difference = diff.compare(version, new)
    assert difference["amounts"]["given"] is False
    assert difference["moved"][0]["causes"] is None
    assert difference["catalog"]


def test_the_comparison_as_json_csv_and_page(api, ana, make_report):
    version = make_report(ana)
    edit_gpu(memory_bandwidth_bytes_per_s=3.0e12)
    rebuilt(api, ana, version)
    url = f"{URL}{version.report_id}/diff/"
    document = api(ana).get(url, {"from": 1, "to": 2}).json()
    text = api(ana).get(url, {"from": 1, "to": 2, "format": "csv"}).content.decode()
    lines = text.split("\r\n")
    assert lines[0].startswith(
        "model,gpu,engine,precision,parallelism,workload,batch_size,offered_requests_per_s,metric,old,new,cause,amount"
    )
    assert len([line for line in lines if ",total," in line]) == sum(len(e["metrics"]) for e in document["moved"])
    page = api(ana).get(url, {"from": 1, "to": 2, "format": "html"})
    assert b"memory_bandwidth_bytes_per_s" in page.content
    assert b"<script" not in page.content
    assert pages.as_csv(document).decode() == text
    assert api(ana).get(url, {"from": 1}).status_code == 400
    assert api(ana).get(url, {"from": 1, "to": 9}).status_code == 404


def test_a_price_that_went_is_its_own_cause(api, ana, make_report):
    version = make_report(ana)
    pricing = {"currency": "CHF"}  # no offer of the catalog is in francs
    new = rebuilt(api, ana, version, {"pricing": pricing})
    difference = diff.compare(version, new)
    causes = {c["cause"] for e in difference["moved"] for c in e["causes"]}
    assert causes == {"price:h100-sxm5-80gb", "price:a100-sxm4-80gb"}


def test_inputs_of_another_release_are_compared_without_amounts(api, ana, make_report, monkeypatch):
    version = make_report(ana)
    edit_gpu(memory_bandwidth_bytes_per_s=3.0e12)
    new = rebuilt(api, ana, version)
    version.inputs["sweep"].pop("models")
    difference = diff.compare(version, new)
    assert difference["amounts"]["given"] is False
    assert difference["catalog"]
