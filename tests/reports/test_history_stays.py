"""A saved report says the same after the catalog moved: rows, files, summary and snapshot."""

from decimal import Decimal

import pytest

from catalog.models import Gpu, GpuOffer

pytestmark = pytest.mark.django_db


def said(api, user, version):
    base = f"/api/v1/reports/{version.report_id}/versions/1/"
    state = api(user).get(base).json()
    rows = api(user).get(f"{base}rows/?page_size=100").json()
    csv = b"".join(api(user).get(f"{base}download/?format=csv").streaming_content)
    return state["summary"], state["findings"], state["content_sha256"], rows, csv


def test_prices_and_gpus_that_change_leave_a_saved_report_as_it_was(api, ana, make_report):
    version = make_report(ana, pricing={"currency": "USD"})
    before = said(api, ana, version)
    assert any(row["cost_per_mtok_output_mid"] for row in before[3]["results"])
    assert GpuOffer.objects.filter(gpu__slug="h100-sxm5-80gb").update(price_per_gpu_hour=Decimal("99")) > 0
    gpu = Gpu.objects.get(slug="h100-sxm5-80gb")
    gpu.memory_bandwidth_bytes_per_s = 1.0e12
    gpu.save()
    assert said(api, ana, version) == before
    again = make_report(ana, pricing={"currency": "USD"})
    assert said(api, ana, again)[2] != before[2]
