"""Hostile and mistaken requests to the reports endpoints: each a clear 4xx, nothing stored, never a 500."""

import json
from typing import Any

import pytest
from django.test import Client

from reports.models import Report, ReportVersion
from reports.work import worker
from tests.reports.conftest import SWEEP

pytestmark = pytest.mark.django_db
LONG = "9" * 5000


@pytest.fixture
def version(make_report: Any, ana: Any) -> ReportVersion:
    made: ReportVersion = make_report(ana)
    return made


def base(version: ReportVersion) -> str:
    return f"/api/v1/reports/{version.report_id}/"


PATHS: list[tuple[str, int]] = [
    ("versions/0/", 404),
    ("versions/-1/", 404),
    (f"versions/{10**18}/", 404),
    (f"versions/{10**30}/", 404),
    (f"versions/{LONG}/", 404),
    (f"diff/?from=1&to={10**30}", 400),
    (f"diff/?from=1&to={LONG}", 400),
    ("diff/?from=0&to=1", 400),
    ("diff/?from=-1&to=1", 400),
    ("diff/?to=1", 400),
    ("diff/?from=1&from=1&to=1", 400),
    ("versions/?page=0", 400),
    (f"versions/?page=1{'0' * 5000}", 400),
    ("versions/?page=0000000000001999999999999", 400),
    ("versions/?page=99999", 200),
    ("versions/?page_size=501", 400),
    ("versions/?pagesize=5", 400),
    ("versions/1/rows/?page=999999999", 200),
    ("versions/1/rows/?gpu=';drop table x;--", 200),
    ("versions/1/rows/?batch_size=1;drop", 400),
    (f"versions/1/rows/?batch_size={LONG}", 400),
    (f"versions/1/rows/?batch_size={10**30}", 400),
    ("versions/1/rows/?batch_size=1_0", 400),
    ("versions/1/rows/?batch_size=%C2%B2", 400),
    ("versions/1/rows/?batch_size=", 400),
    ("versions/1/rows/?tpot_s_mid__lte=nan", 400),
    ("versions/1/rows/?tpot_s_mid__lte=1e999", 400),
    ("versions/1/rows/?cost_per_mtok_output_mid__lte=1e400", 400),
    ("versions/1/rows/?cost_per_mtok_output_mid__lte=sNaN", 400),
    ("versions/1/rows/?cost_per_mtok_output_mid__lte=1e24", 200),
    ("versions/1/rows/?fits=1", 400),
    ("versions/1/rows/?fits__gte=true", 200),
    ("versions/1/rows/?gpu__like=x", 400),
    ("versions/1/rows/?gpu=%00", 400),
    ("versions/1/rows/?ordering=gpu;drop", 400),
    ('versions/1/rows/?ordering=gpu"', 400),
    ("versions/1/rows/?ordering=--gpu", 400),
    ("versions/1/rows/?ordering=gpu,gpu,gpu,gpu,gpu", 400),
    ("versions/1/rows/?gpu=a&gpu=b", 400),
    ("versions/1/rows/?gpu=" + ",".join(f"g{n}" for n in range(101)), 400),
    ("versions/1/download/", 400),
    ("versions/1/download/?format=exe", 400),
    ("versions/1/download/?format=csv&format=exe", 400),
    ("shares/0/", 405),
]


def test_a_wrong_address_or_query_is_a_clear_4xx(api, ana, version):
    client = api(ana)
    wrong = []
    for path, status in PATHS:
        response = client.get(base(version) + path)
        if response.status_code != status:
            wrong.append((path[:80], status, response.status_code, response.content[:200]))
    assert wrong == []


@pytest.mark.parametrize(
    "query", ["?search=%00", "?tag=%00", "?tag='; drop", "?search=%25_", "?ordering=owner", "?page=2&archived=maybe"]
)
def test_the_list_of_reports_takes_any_query(api, ana, version, query):
    assert api(ana).get(f"/api/v1/reports/{query}").status_code in (200, 400)


def body(**changes: Any) -> dict[str, Any]:
    sweep = SWEEP | changes.pop("sweep", {})
    return {"name": "x", "sweep": sweep} | changes


HOSTILE: list[tuple[dict[str, Any], str]] = [
    (body(sweep={"models": []}), "#/sweep/models"),
    (body(sweep={"models": ["llama-3.1-8b", "llama-3.1-8b"]}), "#/sweep/models/1"),
    (body(sweep={"engines": ["vllm", "vllm-0.33"]}), "#/sweep/engines/1"),
    (body(sweep={"models": ["llama-3.1-8bb"]}), "#/sweep/models/0"),
    (body(sweep={"gpus": ["h100"]}), "#/sweep/gpus/0"),
    (body(sweep={"batch_sizes": []}), "#/sweep/batch_sizes"),
    (body(sweep={"batch_sizes": [0]}), "#/sweep/batch_sizes/0"),
    (body(sweep={"batch_sizes": list(range(1, 5001))}), "#/sweep/batch_sizes"),
    (body(sweep={"batch_sizes": "most"}), "#/sweep/batch_sizes"),
    (body(sweep={"batch_sizes": {"from": 9, "to": 3}}), "#/sweep/batch_sizes/to"),
    (body(sweep={"batch_sizes": {"from": 1, "to": 1_000_000}}), "#/sweep"),
    (body(sweep={"workloads": [{"input_tokens": 10**9, "output_tokens": 1}]}), "#/sweep/workloads/0/input_tokens"),
    (
        body(sweep={"workloads": [{"input_tokens": 9, "output_tokens": 1, "prefix_cache_hit_rate": 1}]}),
        "#/sweep/workloads/0/prefix_cache_hit_rate",
    ),
    (body(sweep={"parallelism": [{"tp": 3}]}), "#/sweep/parallelism/0"),
    (body(name="a\x00b"), "#/name"),
    (body(tags=["a\x00b"]), "#/tags/0"),
    (body(sweep={"workloads": [{"name": "a\x00", "input_tokens": 9, "output_tokens": 1}]}), "#/sweep/workloads/0/name"),
    (body(name=""), "#/name"),
    (body(name="   "), "#/name"),
    (body(name="x" * 201), "#/name"),
    (body(pricing={"price_per_gpu_hour": {"h100-sxm5-80gb": "9" * 18}}), "#/pricing/price_per_gpu_hour"),
    (body(pricing={"price_per_gpu_hour": {"l40s": "1"}}), "#/pricing/price_per_gpu_hour/l40s"),
    (body(pricing={"offers": {"h100-sxm5-80gb": "nope"}}), "#/pricing/offers/h100-sxm5-80gb"),
    (body(slo={"ttft_s": 0}), "#/slo/ttft_s"),
]


@pytest.mark.parametrize(("given", "pointer"), HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_order_names_the_field_and_stores_nothing(api, ana, loaded_catalog, given, pointer):
    response = api(ana).post("/api/v1/reports/", given)
    assert response.status_code == 400, response.content[:300]
    pointers = [error["pointer"] for error in response.json()["errors"]]
    assert any(found.startswith(pointer) for found in pointers), response.json()
    assert Report.objects.count() == 0


def test_too_many_rows_name_the_limit(api, ana, loaded_catalog):
    answer = api(ana).post("/api/v1/reports/", body(sweep={"batch_sizes": {"from": 1, "to": 1_000_000}})).json()
    assert "4000000" in answer["errors"][0]["detail"].replace(",", "")
    assert "2000000" in answer["errors"][0]["detail"].replace(",", "")


def test_an_unknown_slug_names_what_is_near(api, ana, loaded_catalog):
    answer = api(ana).post("/api/v1/reports/", body(sweep={"gpus": ["h100-sxm5-80"]})).json()
    assert answer["errors"][0]["code"] == "unknown_slug"
    assert "h100-sxm5-80gb" in answer["errors"][0]["near"]


@pytest.mark.parametrize("raw", [b"[]", b"null", b'"x"', b"{", b"\xff", b'{"name": NaN}', b"[" * 100_000])
def test_a_body_of_another_shape_is_refused(ana, raw):
    client = Client(raise_request_exception=False)
    client.force_login(ana)
    assert client.post("/api/v1/reports/", raw, content_type="application/json").status_code in (400, 403)


CHANGES: list[tuple[str, str, Any, int]] = [
    ("post", "shares/", {"user": "nobody"}, 400),
    ("post", "shares/", {"user": "a\x00"}, 400),
    ("post", "shares/", {"group": "nobody"}, 400),
    ("post", "shares/", {}, 400),
    ("post", "shares/", {"user": "ana", "group": "x"}, 400),
    ("put", "schedule/", {"period": "* * * * *"}, 400),
    ("put", "schedule/", {"period": 3600}, 400),
    ("put", "schedule/", {}, 400),
    ("patch", "", {"name": "a\x00"}, 400),
    ("patch", "", {"tags": ["a\x00"]}, 400),
    ("patch", "", {"owner": "berta"}, 400),
    ("post", "versions/1/links/", {"format": "exe"}, 400),
    ("post", "versions/1/links/", {"format": "csv", "expires_in_days": 31}, 400),
    ("post", "versions/1/links/", {"format": "csv", "expires_in_days": 0}, 400),
    ("post", "versions/1/retry/", {}, 409),
    ("post", "versions/1/cancel/", {}, 409),
    ("post", "versions/1/cancel/", {"x": 1}, 400),
    ("delete", f"shares/{10**30}/", None, 404),
    ("delete", "versions/1/links/nope/", None, 404),
]


def test_hostile_changes_are_refused(api, ana, version):
    client = api(ana)
    wrong = []
    for method, path, given, status in CHANGES:
        response = getattr(client, method)(base(version) + path, given)
        if response.status_code != status:
            wrong.append((method, path, given, status, response.status_code, response.content[:200]))
    assert wrong == []


NAMES = [
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "🚀" * 100,
    "\u202etxt.exe",
    "x" * 200,
    "a\r\nb",
    "../../etc",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_safe_in_every_file(api, ana, make_report, name):
    workload = {"name": name[:80], "input_tokens": 500, "output_tokens": 100}
    version = make_report(ana, name=name, sweep=SWEEP | {"workloads": [workload]})
    for file_format in ("csv", "json", "xlsx", "html"):
        response = api(ana).get(f"{base(version)}versions/1/download/?format={file_format}")
        if response.status_code == 202:
            worker.run()
            response = api(ana).get(f"{base(version)}versions/1/download/?format={file_format}")
        assert response.status_code == 200
        assert "\n" not in response["Content-Disposition"]
        content = b"".join(response.streaming_content)
        if file_format == "csv":
            assert b",=cmd" not in content
        if file_format == "json":
            assert json.loads(content)["rows"][0]["workload"] == name[:80]
        if file_format == "html":
            assert b"<script>alert(1)" not in content


def test_max_over_too_many_settings_is_refused_before_it_costs_minutes(api, ana, loaded_catalog, monkeypatch):
    monkeypatch.setattr("estimator.estimates.sweep.compute.MAX_SETTINGS_UP_TO_FIT", 3)
    response = api(ana).post("/api/v1/reports/", body(sweep={"batch_sizes": "max"}))
    assert response.status_code == 400
    assert "4 settings" in response.json()["errors"][0]["detail"]
