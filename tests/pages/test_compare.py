"""The comparison: each column says what the API says of its question; differences and the best of a row are marked."""

import re
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import orjson
import pytest

from estimator.figures import written
from pages.columns import address_of, api_query
from pages.question import FIRST, Question, body_of
from tests.pages.page import Page

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

SOLD = "groq-openai-gpt-oss-120b"


def question(**values):
    return Question(FIRST).changed(**values)


def asked(client, slug, body):
    response = client.post(f"/api/v1/estimates/{slug}/", orjson.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    return response.json()


def page_of(client, *queries):
    response = client.get(address_of(queries))
    assert response.status_code == 200, response.content
    return Page(response.content.decode())


def rows(page):
    return {row[0]: row[1:] for row in page.tables() if len(row) > 1}


def test_every_column_says_what_the_api_says_of_its_question(client):
    columns = [question(), question(gpu="b200-sxm-180gb"), question(weights="bf16")]
    table = rows(page_of(client, *(one.query for one in columns), api_query(SOLD)))
    for place, one in enumerate(columns):
        answer = asked(client, "verdict", body_of(one)[0] | {"changes": False})
        assert answer["verdict"]["state"].replace("_", " ") in table["Verdict"][place]
        if not answer["memory"]["feasible"]:
            assert table["Each further token"][place] == "–"
            assert table["USD per million, blended"][place] == "–"
            continue
        assert table["Each further token"][place].startswith(written.seconds(answer["speed"]["tpot_s"]["mid"]))
        blended = answer["cost"]["cost_per_mtok_blended"]
        assert table["USD per million, blended"][place].startswith(written.money(blended))
    usage = {"input_tokens": 8000, "output_tokens": 500}
    bill = asked(client, "cost", {"api": {"price": SOLD, "usage": usage}})["api"]
    assert table["USD per million, blended"][3].startswith(written.money(bill["cost_per_mtok_blended"]))
    assert table["USD per request"][3].startswith(written.money(bill["total"]))


def test_what_differs_from_the_first_column_and_the_best_of_a_row_are_marked(client):
    page = page_of(client, question().query, question(gpu="b200-sxm-180gb").query)
    table = rows(page)
    assert "(differs from the first column)" not in table["Where"][0]
    assert table["Where"][1].endswith("(differs from the first column)")
    assert "Weights" not in table  # the same in both: the line under the heading need not be told twice
    assert table["Each further token"][1].endswith("(best of the row)")
    assert "(best of the row)" not in table["Each further token"][0]
    same = rows(page_of(client, question().query, question().query))
    assert "(best of the row)" not in " ".join(same["Each further token"])


def test_the_sentence_names_who_keeps_the_targets_and_who_costs_least(client):
    slow = question(gpus="4", ttft="600", tpot="5000", price="100")
    page = page_of(client, question(gpus="4", ttft="600", tpot="5000", price="1").query, slow.query, api_query(SOLD))
    assert "keep the targets safely" in page.heading()
    assert "costs least" in page.heading()
    large = question(gpus="1", weights="bf16")
    assert "does not fit" in page_of(client, large.query).heading()


def test_cached_tokens_of_the_question_are_billed_by_the_api_as_reads(client):
    warm = question(cached="50")
    price = "anthropic-claude-opus-5-5"
    table = rows(page_of(client, warm.query, api_query(price)))
    usage = {"input_tokens": 4000, "cache_read_tokens": 4000, "output_tokens": 500}
    bill = asked(client, "cost", {"api": {"price": price, "usage": usage}})["api"]
    assert table["USD per request"][1].startswith(written.money(bill["total"]))


def test_the_address_holds_the_columns_and_a_form_without_script_adds_one(client):
    first = question(n="7").query
    form = client.get("/compare/", {"q": [first], "gpu": "h200-sxm-141gb", "gpus": "", "model": "", "api": ""})
    assert form.status_code == 302
    held = [value for name, value in parse_qsl(urlsplit(form["Location"]).query) if name == "q"]
    assert held == [first, question(n="7", gpu="h200-sxm-141gb").query]
    page = Page(client.get(form["Location"]).content.decode())
    assert {value for name, value in ((a.get("name"), a.get("value")) for a in page.all("input")) if name == "q"} == {
        *held
    }
    api = client.get("/compare/", {"q": held, "api": SOLD})
    assert api["Location"] == address_of([*held, api_query(SOLD)])
    # Each column leads back to the calculator, and can be left out.
    links = {attrs["href"] for attrs in page.all("a")}
    assert f"/?{held[1]}" in links
    assert address_of(held[:1]) in links


def test_the_calculator_leads_to_a_comparison_of_its_question(client):
    page = Page(client.get("/", FIRST).content.decode())
    assert address_of([Question(FIRST).query]) in {attrs["href"] for attrs in page.all("a")}
    near = page_of(client, Question(FIRST).query)
    added = [unescape(href) for href in re.findall(r'<li><a href="([^"]+)">', near.html) if "compare" in href]
    assert any(len(parse_qsl(urlsplit(address).query)) == 2 for address in added)


def test_a_column_that_cannot_be_answered_says_why_and_leaves_the_others(client):
    page = page_of(client, question().query, question(model="llama-9-999b").query, "api=nobody-nothing", "%00=&x")
    assert "There is no model" in page.text()
    table = rows(page)
    assert "likely" in table["Verdict"][0] or "safe" in table["Verdict"][0] or "slow" in table["Verdict"][0]
    assert table["Verdict"][1] == "–"
    assert table["Verdict"][2] == "–"


def test_no_more_than_four_columns_are_answered_and_text_is_never_run(client):
    page = page_of(client, *[question(model="<script>alert(1)</script>").query] * 9)
    assert "<script>alert" not in page.html
    assert len(page.html) < 200_000
    assert page.html.count('scope="col"') == 4


def test_a_comparison_reads_the_revision_and_nothing_else_when_its_facts_are_warm(client, django_assert_num_queries):
    address = address_of([question().query, question(gpu="b200-sxm-180gb").query, api_query(SOLD)])
    client.get(address)
    with django_assert_num_queries(1):
        client.get(address)
