"""A saved report says the same after the catalog moved: rows, files, summary and snapshot."""

from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from catalog.models import Gpu, GpuOffer
from reports import triggers
from reports.storage import file_sha256, get_storage
from reports.work import worker

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
    card = Gpu.objects.get(slug="h100-sxm5-80gb")
    assert GpuOffer.objects.filter(gpu=card).update(price_per_gpu_hour=Decimal("99")) > 0
    gpu = Gpu.objects.get(slug="h100-sxm5-80gb")
    gpu.memory_bandwidth_bytes_per_s = 1.0e12
    gpu.save()
    assert said(api, ana, version) == before
    again = make_report(ana, pricing={"currency": "USD"})
    assert said(api, ana, again)[2] != before[2]


def without(row, names):
    return {name: value for name, value in row.items() if name not in names}


def test_a_report_of_a_release_with_fewer_columns_is_read_priced_and_compared_as_ever(api, ana, make_report):
    version = make_report(ana)
    url = f"/api/v1/reports/{version.report_id}/versions/1/"
    summary, findings, content, rows, csv = said(api, ana, version)
    stored = get_storage().path(version.rows_file)
    # Columns of a later release that hold nothing in a closed loop.
    lacked = ("offered_requests_per_s", "utilization")
    assert all(row[name] is None for row in rows["results"] for name in lacked)
    names = ", ".join(lacked)
    with duckdb.connect() as connection:
        kept = f"SELECT * EXCLUDE ({names}) FROM read_parquet('{stored}')"
        connection.execute(f"COPY ({kept}) TO '{stored}.old' (FORMAT parquet, COMPRESSION zstd)")
    older = version.rows_file.replace(".parquet", "-old.parquet")
    Path(f"{stored}.old").rename(get_storage().path(older))
    narrow = [
        finding | {name: without(finding[name], lacked) for name in ("row", "other_row") if finding.get(name)}
        for finding in version.findings
    ]
    triggers.drop()
    size = get_storage().size(older)
    digest = file_sha256(get_storage().path(older))
    type(version).objects.filter(pk=version.pk).update(
        rows_file=older, rows_file_bytes=size, rows_file_sha256=digest, findings=narrow
    )
    triggers.ensure()
    assert said(api, ana, version) == (summary, findings, content, rows, csv)
    for file_format in ("json", "xlsx", "html"):
        api(ana).get(f"{url}download/", {"format": file_format})
        worker.run()
        assert api(ana).get(f"{url}download/", {"format": file_format}).status_code == 200, file_format
    assert api(ana).get(f"{url}rows/", {"offered_requests_per_s": "1"}).json()["count"] == 0
    assert api(ana).post(f"{url}recost/", {}).status_code == 202
    assert api(ana).post(f"/api/v1/reports/{version.report_id}/versions/").status_code == 202
    worker.run()
    for newer in (2, 3):
        diff = api(ana).get(f"/api/v1/reports/{version.report_id}/diff/", {"from": 1, "to": newer}).json()
        assert diff["rows"]["matched"] == rows["count"]
        assert diff["rows"]["only_in_old"] == diff["rows"]["only_in_new"] == 0
