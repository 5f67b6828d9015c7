"""The price pages: what they say is what the API bills and advises; every change is shown with its day and source."""

import datetime
import re
from html import unescape

import orjson
import pytest
from django.utils import timezone

from catalog.models import ApiPrice
from catalog.revisions import bump_catalog_revision
from catalog.selectors import in_force_on
from estimator.figures import written
from pages.traffic import FIRST, RATES, read_traffic
from tests.pages.page import Page

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

MODEL, SELLER = "gemini-2.5-pro", "google-gemini-2.5-pro"


def page_of(client, address):
    response = client.get(address)
    assert response.status_code == 200, response.content
    return Page(response.content.decode())


def asked(client, slug, body):
    response = client.post(f"/api/v1/estimates/{slug}/", orjson.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    return response.json()


def table(page, title):
    """Rows of the table under a heading."""
    section = re.search(rf"<h2[^>]*>{re.escape(title)}.*?</section>", page.html, re.S)
    return Page(section.group(0)).tables()


def test_a_month_costs_what_the_api_bills(client):
    traffic = {"requests": "250000", "input": "3,000", "output": "700", "cached": "40", "shared": "1200"}
    page = Page(client.get(f"/prices/{MODEL}/", traffic).content.decode())
    usage = {"input_tokens": 1800, "cache_read_tokens": 1200, "output_tokens": 700}
    rows = table(page, "A month of your traffic")[1:]
    assert rows
    for row in rows:
        channel = "batch" if row[0].endswith("batch") else "standard"
        body = {"price": SELLER, "channel": channel, "usage": usage, "requests": 250_000, "whole_month": True}
        bill = asked(client, "cost", {"api": body})["api"]
        assert row[1] == f"{written.money(bill['total'])} USD"
        assert row[2] == written.money(bill["cost_per_mtok_blended"])
    # 250,000 · (1,800 · 1.25 + 1,200 · 0.125 + 700 · 10) / 10^6, worked by hand.
    assert rows[-1][1] == "2,350 USD"
    least = rows[0][1]
    assert page.heading() == f"A month of {MODEL} costs from {least} at Google (batch) to 2,350 USD at Google."


def test_the_advice_on_a_cache_is_that_of_the_api_at_each_rate(client):
    page = page_of(client, "/prices/claude-opus-5-5/")
    rows = table(page, "Does a prompt cache pay?")
    assert [row[0] for row in rows[1:]] == [written.count(rate) for rate in RATES]
    for rate, row in zip(RATES, rows[1:], strict=True):
        body = {
            "api": {"price": "anthropic-claude-opus-5-5"}, "prefix_tokens": 6000, "suffix_tokens": 2000,
            "output_tokens": 500, "arrivals": {"requests_per_hour": rate},
        }  # fmt: skip
        advice = asked(client, "prompt-cache", body)["advice"]
        assert row[2:] == [written.money(option["cost"]) for option in advice["options"]]
        costs = [option["cost"] for option in advice["options"] if option["cost"] is not None]
        assert len(costs) > 2  # no cache, lives, and kept alive


def test_every_price_of_today_and_every_dated_change_is_shown_with_its_source(client):
    today = timezone.now().date()
    page = page_of(client, f"/prices/{MODEL}/?seller={SELLER}")
    rows = ApiPrice.objects.filter(slug=SELLER, voided_at__isnull=True)
    shown = table(page, "Prices of Google today")[1:]
    assert len(shown) == rows.filter(in_force_on(today)).count()
    for row in rows.filter(in_force_on(today)):
        assert any(f"{row.amount.normalize():f} /" in cell for line in shown for cell in line)
        if row.all_disputes:
            assert row.all_disputes in page.text()
    changed = table(page, "How the prices changed")[1:]
    days = {written.day(row.effective_from.isoformat()) for row in rows.exclude(effective_from=None)}
    assert {line[0].removesuffix(" to come") for line in changed} >= days
    links = {attrs.get("href") for attrs in page.all("a")}
    assert {row.source_url for row in rows.filter(in_force_on(today)) if row.source_url} <= links


def test_a_price_to_come_is_said_to_be_so(client):
    row = ApiPrice.objects.get(slug="mistral-mistral-large-4", meter="input", channel="standard", effective_to=None)
    day = timezone.now().date() + datetime.timedelta(days=30)
    ApiPrice.objects.filter(pk=row.pk).update(effective_to=day)
    ApiPrice.objects.create(
        provider=row.provider, model=row.model, meter="input", unit="mtok", amount="77.125", effective_from=day
    )
    bump_catalog_revision()
    page = page_of(client, "/prices/mistral-large-4/")
    line = next(line for line in table(page, "How the prices changed") if "77.125" in line)
    assert line[0] == f"{written.day(day.isoformat())} to come"
    assert line[3] == f"{row.amount.normalize():f}"


@pytest.mark.parametrize("name", ["claude sonnet 4.5", "anthropic/claude-sonnet-4.5", "claude-sonnet-4-5-20250929"])
def test_the_index_finds_a_model_by_any_name(client, name):
    response = client.get("/prices/", {"q": name})
    if response.status_code == 302:
        assert response["Location"] == "/prices/claude-sonnet-4-5/"
    else:
        first = re.search(r'<tbody><tr><th scope="row"><a href="([^"]+)"', response.content.decode())
        assert first.group(1) == "/prices/claude-sonnet-4-5/"
    # An address with such a name leads to the page, without its publisher.
    assert client.get(f"/prices/{name.rsplit('/', 1)[-1]}/").status_code in (200, 302)


def test_the_index_shows_the_lowest_price_of_each_model(client):
    page = page_of(client, "/prices/")
    rows = {row[0]: row for row in page.tables()[1:]}
    assert len(rows) > 20
    assert rows["gpt-5"][2:] == ["1.25", "10.00"]
    missing = page_of(client, "/prices/?q=zzzzqqqq%3Cscript%3E")
    assert "No model is called" in missing.text()
    assert "<script>" not in missing.html.replace("<script src", "")
    assert client.get("/prices/nothing-like-this/").status_code == 404


def test_faults_of_the_traffic_are_named_and_nothing_is_billed(client):
    page = Page(client.get(f"/prices/{MODEL}/", {"requests": "many", "input": "10", "cached": "150"}).content.decode())
    assert {"#requests", "#cached"} <= {attrs["href"] for attrs in page.all("a") if "href" in attrs}
    assert "A month of your traffic" not in page.text()
    shared = read_traffic({**FIRST, "shared": "9000"})
    assert [fault.name for fault in shared.faults] == ["shared"]
    for huge in ("1e400", "nan", "-1", "9" * 60):
        assert client.get(f"/prices/{MODEL}/", {"requests": huge, "input": huge}).status_code == 200


def test_a_model_whose_weights_are_open_leads_to_a_comparison_with_own_gpus(client):
    page = page_of(client, "/prices/gpt-oss-120b/")
    link = next(attrs["href"] for attrs in page.all("a") if attrs.get("href", "").startswith("/compare/?"))
    compared = page_of(client, unescape(link))
    assert "Groq" in compared.text()
    assert "USD per million, blended" in compared.text()


def test_prices_of_all_sellers_of_a_model_come_from_the_api_too(client):
    answer = client.get("/api/v1/api-prices/", {"family": "meta/openai-gpt-oss-120b", "on": "2026-11-30"}).json()
    assert answer["results"] == []
    answer = client.get("/api/v1/api-prices/", {"family": "openai/gpt-oss-120b"}).json()
    assert {row["slug"] for row in answer["results"]} >= {"groq-openai-gpt-oss-120b"}


def test_a_page_whose_facts_are_warm_reads_little(client, django_assert_max_num_queries):
    for address in ("/prices/", f"/prices/{MODEL}/"):
        client.get(address)
        with django_assert_max_num_queries(2):
            client.get(address)
