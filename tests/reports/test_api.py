"""Reports over REST: from the order to the version, its rows, its end and its place in the list."""

import pytest

from estimator.engine.version import ESTIMATOR_VERSION
from reports import conf
from reports.api.waiting import PENDING, ready
from reports.models import ReportVersion
from reports.services import versions
from reports.work import worker
from tests.published_schema import faults
from tests.reports.asking import URL, fault, order
from tests.reports.conftest import SWEEP

pytestmark = pytest.mark.django_db


def test_an_order_is_202_with_its_address_and_is_computed_by_the_worker(api, ana, loaded_catalog):
    client = api(ana)
    answer = client.post(URL, order(slo={"tpot_s": 0.05}))
    assert answer.status_code == 202
    assert answer["Retry-After"] == "1"
    address = answer["Location"]
    waiting = client.get(address)
    assert waiting.json()["state"] == "queued"
    nothing = dict.fromkeys(("detail", "rows_per_s", "eta_s"))
    assert waiting.json()["progress"] == nothing | {"phase": "queued", "queue_place": 1, "done": 0, "total": 36}
    assert client.get(address, HTTP_IF_NONE_MATCH=waiting["ETag"]).status_code == 304
    worker.run()
    done = client.get(address, HTTP_IF_NONE_MATCH=waiting["ETag"])
    body = done.json()
    assert body["state"] == "complete"
    assert body["summary"]["rows"] == 36
    assert body["progress"]["done"] == 36
    assert body["snapshot"]["facts"]["gpu"]["h100-sxm5-80gb"]["sources"]
    assert {finding["kind"] for finding in body["findings"]} >= {"best_within_slo", "knee", "pareto_frontier"}
    assert all(body["findings"][0]["row"][key] is not None for key in ("model", "gpu", "tpot_s_mid"))


def test_rows_filter_order_and_page_and_never_by_text(api, ana, make_report):
    version = make_report(ana)
    url = f"{URL}{version.report_id}/versions/1/rows/"
    client = api(ana)
    answer = client.get(
        url, {"gpu": "h100-sxm5-80gb", "batch_size__gte": "64", "ordering": "-tpot_s_mid", "page_size": "2"}
    )
    body = answer.json()
    assert body["count"] == 6
    assert 'rel="next"' in answer["Link"]
    times = [row["tpot_s_mid"] for row in body["results"]]
    assert times == sorted(times, reverse=True)
    assert {row["gpu"] for row in body["results"]} == {"h100-sxm5-80gb"}
    both = client.get(url, {"gpu": "h100-sxm5-80gb,a100-sxm4-80gb", "fits": "true"}).json()
    assert both["count"] == 36
    evil = client.get(url, {"gpu": "x' OR 1=1 --"})
    assert evil.json()["count"] == 0
    assert fault(client.get(url, {"ordering": "gpu; DROP TABLE x"})) == {("ordering", "invalid")}
    assert fault(client.get(url, {"nothing": "1", "tp__gte": "x"})) == {
        ("nothing", "unknown_field"),
        ("tp__gte", "invalid_type"),
    }


def test_a_rebuild_makes_the_next_version_and_the_first_stays(api, ana, make_report):
    version = make_report(ana)
    answer = api(ana).post(f"{URL}{version.report_id}/versions/")
    assert answer.json()["version"] == 2
    worker.run()
    second = ReportVersion.objects.get(report=version.report, number=2)
    assert second.state == "complete"
    assert second.content_sha256 == version.content_sha256
    changed = api(ana).post(f"{URL}{version.report_id}/versions/", {"slo": {"tpot_s": 0.01, "band_side": "mid"}})
    assert changed.json()["version"] == 3
    third = ReportVersion.objects.get(report=version.report, number=3)
    assert third.inputs["slo"]["tpot_s"] == 0.01
    assert third.inputs["sweep"] == version.inputs["sweep"]


@pytest.mark.parametrize("query", ["archived=maybe", "mine=2", "tags=x", "page=0", "ordering=owner"])
def test_a_parameter_of_the_list_that_says_nothing_is_refused(api, ana, query):
    answer = api(ana).get(f"{URL}?{query}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["parameter"] == query.split("=")[0]


def test_cancel_and_retry_follow_the_table(api, ana, loaded_catalog):
    client = api(ana)
    address = client.post(URL, order()).json()["url"]
    assert client.post(address + "retry/").status_code == 409
    assert client.post(address + "cancel/").json()["state"] == "cancelled"
    refused = client.post(address + "cancel/")
    assert refused.status_code == 409
    assert refused.json()["state"] == "cancelled"
    assert worker.run() is False
    assert client.get(address + "rows/").status_code == 409


def test_a_failed_version_tells_why_and_can_be_retried(api, ana, loaded_catalog, monkeypatch, settings):
    settings.AFORO_DISK_FULL_RETRY_S = 0
    client = api(ana)
    address = client.post(URL, order()).json()["url"]

    def no_room(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reports.rows.tables.write_rows", no_room)
    worker.run()
    failed = client.get(address).json()
    assert failed["state"] == "failed"
    assert failed["error"] == {"code": "disk_full", "detail": "The disk for report files is full."}
    monkeypatch.undo()
    assert client.post(address + "retry/").status_code == 202
    worker.run()
    assert client.get(address).json()["state"] == "complete"


def test_an_unknown_error_is_shown_as_a_reference_only(api, ana, loaded_catalog, monkeypatch, caplog):
    address = api(ana).post(URL, order()).json()["url"]

    def broken(*_args):
        raise RuntimeError("secret detail")

    monkeypatch.setattr("reports.rows.tables.write_rows", broken)
    for _attempt in range(conf.MAX_ATTEMPTS):
        worker.run()
    error = api(ana).get(address).json()["error"]
    assert error["code"] == "internal"
    assert "secret" not in error["detail"]
    assert error["detail"].split()[-1].rstrip(".") in caplog.text


def test_renaming_needs_the_etag_that_is_current_and_archiving_hides(api, ana, make_report):
    version = make_report(ana)
    client, url = api(ana), f"{URL}{version.report_id}/"
    etag = client.get(url)["ETag"]
    assert client.patch(url, {"name": "new", "tags": ["a"]}, HTTP_IF_MATCH=etag).json()["name"] == "new"
    assert client.patch(url, {"name": "newer"}, HTTP_IF_MATCH=etag).status_code == 412
    assert client.get(URL, {"tag": "a", "search": "NEW"}).json()["count"] == 1
    assert client.delete(url).status_code == 204
    assert client.get(URL).json()["count"] == 0
    assert client.get(URL, {"archived": "true"}).json()["count"] == 1
    assert client.patch(url, {"archived": False}).json()["archived"] is False


def test_up_to_what_fits_ends_at_what_fits(api, ana, make_report):
    version = make_report(ana, sweep=SWEEP | {"batch_sizes": "max"})
    rows = api(ana).get(f"{URL}{version.report_id}/versions/1/rows/", {"page_size": "1000"}).json()["results"]
    by_setting = {}
    for row in rows:
        by_setting.setdefault((row["gpu"], row["precision"]), []).append(row)
    for setting in by_setting.values():
        assert all(row["fits"] for row in setting)
        assert setting[-1]["batch_size"] == min(setting[-1][f"{kind}_sequences"] for kind in ("max", "full_length"))


def test_lists_and_polls_cost_few_queries(api, ana, make_report, django_assert_max_num_queries):
    version = make_report(ana)
    for _extra in range(3):
        prepared = versions.Prepared(inputs={}, snapshot={}, total_rows=5, estimator_version=ESTIMATOR_VERSION)
        versions.create_report(owner=ana, name="x", prepared=prepared)
    with django_assert_max_num_queries(4):
        assert api(ana).get(URL).json()["count"] == 4
    with django_assert_max_num_queries(5):
        api(ana).get(f"{URL}{version.report_id}/versions/1/")


def test_the_published_schema_describes_the_document(api, ana):
    schema = api(ana).get(f"{URL}document-schema/").json()
    assert schema["$schema"].endswith("2020-12/schema")


def test_reports_are_found_by_a_whole_tag_with_any_characters(api, ana, make_report):
    make_report(ana, tags=["h100", 'q"uote', "100%"])
    make_report(ana, tags=["h1000"])
    for tag, count in (("h100", 1), ("h10", 0), ('q"uote', 1), ("100%", 1), ("%", 0), ("' or 1=1", 0)):
        assert api(ana).get("/api/v1/reports/", {"tag": tag}).json()["count"] == count, tag


def test_a_version_is_as_the_schema_says_with_findings_of_every_kind(api, ana, make_report):
    version = make_report(ana)
    answer = api(ana).get(f"{URL}{version.report_id}/versions/1/").json()
    assert len({finding["kind"] for finding in answer["findings"]}) >= 4
    assert faults("VersionAnswer", answer) == []


def test_who_prefers_to_wait_is_waited_for_by_the_front(api, ana, loaded_catalog, settings):
    client = api(ana)
    settings.AFORO_MAX_WAIT_S = 20
    answer = client.post(URL, order(), HTTP_PREFER="respond-async, wait=30")
    pending = answer.wsgi_request.META[PENDING]
    assert (answer.status_code, pending.kind, pending.within_s) == (202, "version", 20)
    assert answer["Location"].endswith(pending.path)
    waited = {(pending.kind, pending.key), ("file", 999_999)}
    assert ready(waited) == {("file", 999_999)}
    polled = client.get(pending.path, HTTP_PREFER="wait=5")
    assert polled.wsgi_request.META[PENDING].within_s == 5
    for unasked in ({}, {"HTTP_PREFER": "wait=0"}, {"HTTP_PREFER": "wait=soon"}, {"HTTP_PREFER": "await=5"}):
        assert PENDING not in client.get(pending.path, **unasked).wsgi_request.META
    worker.run()
    assert ready(waited) == waited
    assert PENDING not in client.get(pending.path, HTTP_PREFER="wait=5").wsgi_request.META
    made = client.get(f"{pending.path}download/?format=xlsx", HTTP_PREFER="wait=5")
    assert (made.status_code, made.wsgi_request.META[PENDING].kind) == (202, "file")
