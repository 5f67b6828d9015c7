"""Prices of a report: given, of owned GPUs, and changed afterwards."""

import pytest

from reports.models import ReportVersion
from reports.work import worker
from tests.reports.asking import URL, fault, order

pytestmark = pytest.mark.django_db


def test_a_price_for_an_accelerator_outside_the_sweep_is_refused(api, ana, loaded_catalog):
    answer = api(ana).post(URL, order(pricing={"currency": "USD", "price_per_gpu_hour": {"l4": "1.0"}}))
    assert fault(answer) == {("#/pricing/price_per_gpu_hour/l4", "invalid")}


def test_owned_gpus_are_priced_by_what_they_cost_a_month(api, ana, make_report):
    """8,166.666667 + 7.84 kW · 730 h · 0.12 = 686.784 + 3,000 over 8 · 730 GPU hours: 2.02970046."""
    owned = {"capex": "392000", "gpus": 8, "watts": 5600, "pue": 1.4, "price_per_kwh": "0.12",
             "overhead_per_month": "3000"}  # fmt: skip
    version = make_report(ana, pricing={"owned": {"h100-sxm5-80gb": owned}})
    price = version.snapshot["prices"]["h100-sxm5-80gb"]
    assert price["price_per_gpu_hour"] == "2.02970046"
    assert price["source"].startswith("owned: capital 8166.66667")
    rows = api(ana).get(f"{URL}{version.report_id}/versions/1/rows/").json()["results"]
    assert any(float(row["price_per_hour"]) == pytest.approx(2.02970046 * row["gpus"]) for row in rows
               if row["gpu"] == "h100-sxm5-80gb")  # fmt: skip


@pytest.mark.parametrize(
    ("pricing", "pointer"),
    [
        ({"owned": {"l4": {"capex": "1"}}}, "#/pricing/owned/l4"),
        ({"owned": {"h100-sxm5-80gb": {"capex": "1", "residual_value": "2"}}},
         "#/pricing/owned/h100-sxm5-80gb/residual_value"),
        ({"owned": {"h100-sxm5-80gb": {"capex": "1", "price_per_kwh": "2"}}}, "#/pricing/owned/h100-sxm5-80gb/watts"),
        ({"owned": {"h100-sxm5-80gb": {"capex": "1"}}, "price_per_gpu_hour": {"h100-sxm5-80gb": "1"}},
         "#/pricing/owned/h100-sxm5-80gb"),
    ],
)  # fmt: skip
def test_owned_gpus_that_contradict_themselves_are_refused(api, ana, loaded_catalog, pricing, pointer):
    answer = api(ana).post(URL, order(pricing=pricing))
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_recost_keeps_the_figures_and_changes_the_money(api, ana, make_report):
    version = make_report(ana)
    client = api(ana)
    body = {"pricing": {"currency": "USD", "price_per_gpu_hour": {"h100-sxm5-80gb": "4.0"}}}
    answer = client.post(f"{URL}{version.report_id}/versions/1/recost/", body)
    assert answer.status_code == 202
    worker.run()
    second = ReportVersion.objects.get(report=version.report, number=2)
    assert (second.state, second.kind, second.parent_id) == ("complete", "recost", version.pk)
    rows = [client.get(f"{URL}{version.report_id}/versions/{n}/rows/").json()["results"] for n in (1, 2)]
    money = {"cost_per_mtok_output_low", "cost_per_mtok_output_mid", "cost_per_mtok_output_high", "price_per_hour"}
    for old, new in zip(*rows, strict=True):
        assert {k: v for k, v in old.items() if k not in money} == {k: v for k, v in new.items() if k not in money}
        if old["gpu"] == "h100-sxm5-80gb":
            assert float(new["cost_per_mtok_output_mid"]) == pytest.approx(2 * float(old["cost_per_mtok_output_mid"]))
