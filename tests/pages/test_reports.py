"""The pages of reports without a browser: the list, the order form, a report live and complete, and its share link."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache

from reports.models import Report, ReportVersion
from reports.work import worker
from tests.pages.page import Page

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]
ORDER = {
    "name": "Which GPU?", "model": "llama-3.1-8b", "gpu": ["h100-sxm5-80gb", "a100-sxm4-80gb"], "gpus": "1",
    "engine": ["vllm"], "kv": "bf16", "use1": "chat", "input1": "1,000", "output1": "300", "load": "users",
    "loads": "1-64", "ttft": "2", "tpot": "50", "prices": "h100-sxm5-80gb 2.50",
}  # fmt: skip
BROWSER = {"accept": "text/html,application/xhtml+xml"}


@pytest.fixture(autouse=True)
def quiet(settings, tmp_path, monkeypatch):
    settings.AFORO_ARTIFACT_DIR = tmp_path / "artifacts"
    monkeypatch.setattr("reports.work.bell.ring", lambda pieces=1: None)
    worker.forget_plans()
    cache.clear()


@pytest.fixture
def ana(client):
    user = get_user_model().objects.create_user("ana", password="x")
    client.force_login(user)
    return user


def page_of(response, status=200):
    assert response.status_code == status, response.content
    return Page(response.content.decode())


def ordered(client, **changes):
    response = client.post("/reports/new/", ORDER | changes)
    assert response.status_code == 302, re.sub(r"<[^>]+>", " ", response.content.decode())
    return response["Location"]


def test_an_order_goes_from_the_form_to_the_decision(client, ana):
    at = ordered(client)
    version = ReportVersion.objects.get()
    sweep = version.inputs["sweep"]
    assert [one["slug"] if isinstance(one, dict) else one for one in sweep["gpus"]] == ORDER["gpu"]
    assert sweep["workloads"][0]["input_tokens"] == 1000
    assert version.inputs["slo"]["tpot_s"] == 0.05
    assert version.snapshot["prices"]["h100-sxm5-80gb"]["price_per_gpu_hour"] == "2.50"
    waiting = page_of(client.get(at))
    assert "place 1 in the queue" in waiting.text()
    part = client.get(at, headers={"HX-Request": "true"})
    assert part.content.lstrip().startswith(b'<section class="card live">')
    worker.run()
    assert client.get(at, headers={"HX-Request": "true"})["HX-Refresh"] == "true"
    shown = page_of(client.get(at)).text()
    version.refresh_from_db()
    for group in version.decision["groups"]:
        assert group["sentence"] in shown
        for line in group["lines"]:
            assert line["gpu_name"] in shown
    assert "Which GPU?" in page_of(client.get("/reports/")).text()


def test_every_fault_of_an_order_stands_beside_its_field_at_once(client, ana):
    wrong = {
        "name": "", "model": "llama-9-999b", "gpu": [], "gpus": "two", "input1": "-5", "output1": "many",
        "ttft": "1e999", "tpot": "0", "prices": "cheap", "loads": "9-3",
    }  # fmt: skip
    page = page_of(client.post("/reports/new/", ORDER | wrong), 400)
    assert Report.objects.count() == 0
    beside = {attrs["id"].removesuffix("-wrong") for attrs in page.all("p") if attrs.get("class") == "wrong"}
    assert {"name", "model", "gpu", "gpus", "input1", "output1", "ttft", "tpot", "prices"} <= beside
    invalid = {
        attrs["id"] for tag in ("input", "textarea", "select") for attrs in page.all(tag) if "aria-invalid" in attrs
    }
    assert {"gpus", "input1", "output1", "ttft", "tpot"} <= invalid


@pytest.mark.parametrize("amount", ["1e999999999", "1E3", "NaN", "Infinity", "-1", "2_5", "٣"])
def test_a_price_that_is_no_plain_number_is_a_fault_and_is_not_written_out(client, ana, amount):
    page = page_of(client.post("/reports/new/", ORDER | {"prices": f"h100-sxm5-80gb {amount}"}), 400)
    assert f"“h100-sxm5-80gb {amount}” is no GPU and price" in page.text()


@pytest.mark.parametrize("text", ["\x00", "💥" * 3000, "<script>alert(1)</script>", "1" * 5000, "NaN", "[" * 2000])
def test_whatever_is_written_into_a_field_is_a_fault_or_taken_and_never_breaks(client, ana, text):
    for name in ("name", "model", "gpus", "input1", "loads", "prices", "utilization", "cached", "load", "kv", "gpu"):
        response = client.post("/reports/new/", ORDER | {name: text})
        assert response.status_code in (302, 400), (name, response.status_code)
        assert b"<script>alert(1)" not in response.content


def test_the_calculator_s_question_fills_the_form(client, ana):
    query = "model=llama-3.1-8b&gpu=l40s&gpus=2&weights=fp8&kv=fp8&engine=vllm&input=1500&output=300&n=9&price=1.25"
    page = page_of(client.get(f"/reports/new/?{query}"))
    values = {attrs["name"]: attrs.get("value") for attrs in page.all("input") if "name" in attrs}
    assert (values["input1"], values["output1"], values["gpus"]) == ("1500", "300", "2")
    assert "l40s 1.25" in page.html
    picked = {attrs["value"] for attrs in page.all("option") if "selected" in attrs}
    assert {"l40s", "fp8"} <= picked
    assert f"/reports/new/?{query.split('&n=')[0]}".replace("&", "&amp;") in client.get(f"/?{query}").content.decode()


def test_nobody_sees_a_report_that_is_not_theirs_nor_anything_without_a_login(client, ana):
    at = ordered(client)
    client.force_login(get_user_model().objects.create_user("berta", password="x"))
    assert client.get(at).status_code == 404
    assert client.post(at, {"act": "cancel"}).status_code == 404
    assert "Which GPU?" not in page_of(client.get("/reports/")).text()
    Report.objects.update(visibility="all")
    assert client.get(at).status_code == 200
    assert client.post(at, {"act": "cancel"}).status_code == 403
    client.logout()
    for path in ("/reports/", "/reports/new/", at):
        assert client.get(path).status_code == 302


def test_the_buttons_cancel_order_again_and_share(client, ana):
    at = ordered(client)
    client.post(at, {"act": "cancel"})
    assert ReportVersion.objects.get().state == "cancelled"
    assert client.post(at, {"act": "cancel"}, follow=True).content.count(b"The version is cancelled.") == 1
    client.post(at, {"act": "again"})
    worker.run()
    shown = client.post(f"{at}?version=2", {"act": "share"}, follow=True).content.decode()
    (link,) = set(re.findall(r"http://testserver(/r/[^\"<]+)", shown))
    assert link not in client.get(f"{at}?version=2").content.decode()  # told once
    client.logout()
    page = client.get(link, headers=BROWSER)
    assert page.status_code == 200
    assert page["Referrer-Policy"] == "no-referrer"
    assert page["Cache-Control"] == "private, no-store"
    text = page.content.decode()
    assert "is cheapest within the targets" in text
    assert "/admin/" not in text
    assert client.get(link[:-3] + "/", headers=BROWSER).status_code == 404
    Report.objects.update(archived_at="2026-01-01T00:00:00Z")
    assert "This link has ended." in page_of(client.get(link, headers=BROWSER), 410).text()


def test_a_file_that_is_not_there_yet_is_waited_for_on_a_page(client, ana):
    at = ordered(client)
    worker.run()
    response = client.get(f"{at}1/xlsx/")
    assert 'http-equiv="refresh"' in page_of(response, 202).html
    worker.run()
    response = client.get(f"{at}1/xlsx/")
    assert response.status_code == 302
    assert client.get(response["Location"]).status_code == 200
    assert client.get(f"{at}1/exe/").status_code == 404


def test_pages_hold_nothing_inline_and_ask_no_other_host(client, ana):
    at = ordered(client)
    worker.run()
    for path in ("/reports/", "/reports/new/", at):
        html = client.get(path).content.decode()
        assert not re.search(r"<script(?![^>]*(src=|application/json))", html), path
        assert " style=" not in html, path
        assert not re.search(r"(?:src|<link[^>]*href)=\"(?:https?:)?//", html), path
