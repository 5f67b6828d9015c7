"""Reports over REST, from the order to the file."""

import json

import pytest

from estimator.engine.version import ESTIMATOR_VERSION
from reports import conf
from reports.artifacts import build
from reports.models import Report, ReportVersion
from reports.services import versions
from reports.work import worker
from tests.published_schema import faults
from tests.reports.conftest import SWEEP

pytestmark = pytest.mark.django_db
URL = "/api/v1/reports/"


def order(name="r", **changes):
    return {"name": name, "sweep": SWEEP} | changes


def fault(answer):
    return {(error.get("pointer") or error.get("parameter"), error["code"]) for error in answer.json()["errors"]}


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


def test_downloads_have_etag_ranges_and_a_name(api, ana, make_report):
    version = make_report(ana)
    url = f"{URL}{version.report_id}/versions/1/download/"
    client = api(ana)
    answer = client.get(url, {"format": "csv"})
    whole = b"".join(answer.streaming_content)
    assert answer.status_code == 200
    assert whole.count(b"\r\n") == 37
    assert answer["Content-Disposition"].startswith('attachment; filename="aforo-h100-capacity-v1-')
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer["Content-Security-Policy"]
    assert client.get(url, {"format": "csv"}, HTTP_IF_NONE_MATCH=answer["ETag"]).status_code == 304
    part = client.get(url, {"format": "csv"}, HTTP_RANGE="bytes=10-19")
    assert part.status_code == 206
    assert b"".join(part.streaming_content) == whole[10:20]
    assert part["Content-Range"] == f"bytes 10-19/{len(whole)}"
    tail = client.get(url, {"format": "csv"}, HTTP_RANGE="bytes=-5")
    assert b"".join(tail.streaming_content) == whole[-5:]
    assert client.get(url, {"format": "csv"}, HTTP_RANGE=f"bytes={len(whole)}-").status_code == 416
    stale = client.get(url, {"format": "csv"}, HTTP_RANGE="bytes=0-1", HTTP_IF_RANGE='"other"')
    assert stale.status_code == 200
    parquet = client.get(url, {"format": "parquet"})
    assert b"".join(parquet.streaming_content)[:4] == b"PAR1"
    document = json.loads(b"".join(client.get(url, {"format": "json"}).streaming_content))
    assert len(document["rows"]) == 36


def test_a_large_form_is_202_until_a_worker_made_it(api, ana, make_report, bells):
    version = make_report(ana)
    url = f"{URL}{version.report_id}/versions/1/download/"
    waiting = api(ana).get(url, {"format": "html"})
    assert waiting.status_code == 202
    assert waiting["Retry-After"] == "1"
    worker.run()
    assert api(ana).get(url, {"format": "html"}).status_code == 200
    assert fault(api(ana).get(url, {"format": "pdf"})) == {("format", "invalid")}


def test_a_form_that_cannot_be_made_tells_why(api, ana, make_report, monkeypatch):
    version = make_report(ana)
    monkeypatch.setattr("reports.artifacts.xlsx.MAX_ROWS", 3)
    url = f"{URL}{version.report_id}/versions/1/download/"
    answer = api(ana).get(url, {"format": "xlsx"})
    assert answer.status_code == 409
    assert "take CSV, JSON or Parquet" in answer.json()["detail"]


def test_a_form_that_failed_tells_why_once_and_is_made_when_asked_again(api, ana, make_report, monkeypatch, settings):
    settings.AFORO_DISK_FULL_RETRY_S = 0
    version = make_report(ana)
    url = f"{URL}{version.report_id}/versions/1/download/"

    def no_room(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(build.WRITERS, "html", no_room)
    api(ana).get(url, {"format": "html"})
    worker.run()
    refused = api(ana).get(url, {"format": "html"})
    assert (refused.status_code, refused.json()["code"]) == (409, "disk_full")
    monkeypatch.undo()
    assert api(ana).get(url, {"format": "html"}).status_code == 202
    worker.run()
    assert api(ana).get(url, {"format": "html"}).status_code == 200


def test_the_same_key_orders_once_and_another_body_is_422(api, ana, berta, loaded_catalog):
    client = api(ana)
    first = client.post(URL, order(), HTTP_IDEMPOTENCY_KEY="k-1")
    again = client.post(URL, order(), HTTP_IDEMPOTENCY_KEY="k-1")
    assert first.json() == again.json()
    assert Report.objects.count() == 1
    other = client.post(URL, order(name="other"), HTTP_IDEMPOTENCY_KEY="k-1")
    assert other.status_code == 422
    assert other.json()["type"].endswith("idempotency-key-reused")
    assert api(berta).post(URL, order(name="other"), HTTP_IDEMPOTENCY_KEY="k-1").status_code == 202
    assert client.post(URL, order(), HTTP_IDEMPOTENCY_KEY="k" * 129).status_code == 400


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"models": ["llama-3.1-8c"]}, {("#/sweep/models/0", "unknown_slug")}),
        ({"gpus": ["h100-sxm5-80gb", "h1000"]}, {("#/sweep/gpus/1", "unknown_slug")}),
        ({"engines": ["vllm-9"]}, {("#/sweep/engines/0", "unknown_slug")}),
        ({"parallelism": [{"tp": 1}, {"tp": 3}]}, {("#/sweep/parallelism/1", "not_supported")}),
        (
            {"gpus": ["a100-sxm4-80gb"], "precisions": [{"weights": "fp8", "activations": "fp8"}]},
            {("#/sweep/precisions/0", "not_supported")},
        ),
        ({"batch_sizes": {"from": 8, "to": 4}}, {("#/sweep/batch_sizes/to", "out_of_range")}),
        ({"batch_sizes": [0]}, {("#/sweep/batch_sizes/0", "out_of_range")}),
        ({"batch_sizes": "all"}, {("#/sweep/batch_sizes", "invalid")}),
        ({"batch_sizes": []}, {("#/sweep/batch_sizes", "out_of_range")}),
        ({"models": []}, {("#/sweep/models", "out_of_range")}),
        ({"models": ["llama-3.1-8b", "llama-3.1-8b"]}, {("#/sweep/models/1", "ambiguous")}),
        ({"nothing": 1}, {("#/sweep/nothing", "unknown_field")}),
        (
            {"workloads": [{"input_tokens": -1, "output_tokens": 1}]},
            {("#/sweep/workloads/0/input_tokens", "out_of_range")},
        ),
        (
            {"workloads": [{"input_tokens": 1_000_000, "output_tokens": 1}]},
            {("#/sweep/workloads/0", "out_of_range")},
        ),
    ],
)
def test_a_bad_sweep_is_400_by_field_and_nothing_is_stored(api, ana, loaded_catalog, change, expected):
    answer = api(ana).post(
        URL,
        order(
            sweep=SWEEP | change,
        ),
    )
    assert answer.status_code == 400, answer.json()
    assert fault(answer) >= expected
    assert Report.objects.count() == 0


def test_near_matches_are_named(api, ana, loaded_catalog):
    answer = api(ana).post(URL, order(sweep=SWEEP | {"models": ["llama-3.1-8c"]}))
    assert "llama-3.1-8b" in answer.json()["errors"][0]["near"]


def test_names_as_people_write_them_are_stored_as_slugs(api, ana, loaded_catalog):
    sweep = SWEEP | {"models": ["meta-llama/Llama-3.1-8B"], "gpus": ["NVIDIA H100 80GB HBM3"], "engines": ["vLLM 0.19"]}
    assert api(ana).post(URL, order(sweep=sweep, pricing=None)).status_code == 202
    stored = Report.objects.get().versions.get().inputs["sweep"]
    assert (stored["models"], stored["gpus"], stored["engines"]) == (
        ["llama-3.1-8b"],
        ["h100-sxm5-80gb"],
        ["vllm-0.19"],
    )
    twice = api(ana).post(URL, order(sweep=SWEEP | {"models": ["llama-3.1-8b", "Llama 3.1 8B"]}))
    assert fault(twice) == {("#/sweep/models/1", "ambiguous")}


@pytest.mark.parametrize("query", ["archived=maybe", "mine=2", "tags=x", "page=0", "ordering=owner"])
def test_a_parameter_of_the_list_that_says_nothing_is_refused(api, ana, query):
    answer = api(ana).get(f"{URL}?{query}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["parameter"] == query.split("=")[0]


def test_creating_takes_no_parameters(api, ana, loaded_catalog):
    answer = api(ana).post(f"{URL}?dry_run=true", order())
    assert [error["parameter"] for error in answer.json()["errors"]] == ["dry_run"]
    assert Report.objects.count() == 0


def test_a_sweep_over_the_row_limit_is_refused_before_it_costs_anything(api, ana, loaded_catalog):
    batches = {"from": 1, "to": 1_000_000, "scale": "linear"}
    answer = api(ana).post(URL, order(sweep=SWEEP | {"batch_sizes": batches}))
    assert fault(answer) == {("#/sweep", "out_of_range")}
    assert "2000000" in answer.json()["errors"][0]["detail"]


def test_a_price_for_an_accelerator_outside_the_sweep_is_refused(api, ana, loaded_catalog):
    answer = api(ana).post(URL, order(pricing={"currency": "USD", "price_per_gpu_hour": {"l4": "1.0"}}))
    assert fault(answer) == {("#/pricing/price_per_gpu_hour/l4", "invalid")}


def test_malformed_json_and_nan_are_refused(api, ana):
    for raw in ("{", '{"name": NaN}', "[]"):
        answer = api(ana).post(URL, raw, content_type="application/json")
        assert answer.status_code == 400, raw
    assert Report.objects.count() == 0


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
