"""The calculator without a browser: what it says is what the API says; a form, an address, and nothing inline."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from django.contrib.staticfiles import finders

from pages.question import FIELDS, FIRST, body_of, read
from tests.pages.page import Page

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loaded_catalog")]

MOST_BYTES = 300_000
CONFIG = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 131072, "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.fixture
def get(client):
    def ask(query="", **headers):
        response = client.get(f"/{query}", headers=headers)
        assert response.status_code == 200, response.content
        return Page(response.content.decode())

    return ask


def verdict(client, **values):
    body, faults = body_of(read({**FIRST, **values}))
    assert faults == ()
    response = client.post("/api/v1/estimates/verdict/", orjson.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    return response.json()


def test_the_first_page_answers_a_question_that_can_be_changed(client, get):
    page, answer = get(), verdict(client)
    assert page.heading() == answer["verdict"]["sentence"]
    for part in ("figures", "binds", "advice"):
        assert answer["verdict"][part] in page.text()
    named = {attrs["name"] for tag in ("input", "select", "textarea") for attrs in page.all(tag) if "name" in attrs}
    assert named == {*FIELDS, "config", "shown"}
    labelled = {attrs["for"] for attrs in page.all("label")}
    fields = [attrs for tag in ("input", "select", "textarea") for attrs in page.all(tag)]
    assert all(attrs["id"] in labelled for attrs in fields)


@pytest.mark.parametrize(
    "changed",
    [
        {"weights": "bf16"},
        {"gpu": "b200-sxm-180gb", "gpus": "1", "n": "4"},
        {"model": "meta-llama/Llama-3.1-8B-Instruct", "gpu": "L40S", "gpus": "1", "weights": ""},
        {"load": "rate", "n": "0.2"},
        {"ttft": "", "tpot": ""},
        {"price": "2.58", "input": "8,000", "cached": "50", "utilization": "0.85"},
    ],
)
def test_every_question_says_what_the_api_says(client, get, changed):
    question = read({**FIRST, **changed})
    page, answer = get(f"?{question.query}"), verdict(client, **changed)
    assert page.heading() == answer["verdict"]["sentence"]
    rows = {row[0]: row for row in page.tables() if row}
    for change in answer["changes"]:
        assert change["state"].replace("_", " ") in rows[change["label"]][1]
    if answer["memory"]["feasible"]:
        assert "Speed" in page.text()
    else:
        assert "too much: the dashed line" in page.text()
        assert "Speed at" not in page.text()


def test_an_address_holds_the_whole_question_and_nothing_empty():
    question = read({**FIRST, "price": "", "n": " 32 "})
    held = parse_qs(question.query)
    assert held == {name: [value] for name, value in {**FIRST, "n": "32"}.items()}
    again = read({name: values[0] for name, values in held.items()})
    assert again.query == question.query


def test_the_command_and_the_manifest_are_shown_to_be_copied(client, get):
    launch = verdict(client)["launch"]
    copied = {attrs["data-copy"] for attrs in get().all("button") if "data-copy" in attrs}
    assert {launch["command"], launch["manifest"]} <= copied
    amd = {"gpu": "mi300x", "gpus": "4"}
    assert verdict(client, **amd)["launch"]["manifest_reason"] in get(f"?{read({**FIRST, **amd}).query}").text()


def test_htmx_gets_the_answer_alone_and_the_address_it_stands_for(client):
    whole = client.get("/", FIRST)
    part = client.post("/", FIRST, headers={"HX-Request": "true"})
    assert part.status_code == 200
    assert b"<html" not in part.content
    assert part["HX-Replace-Url"] == "/?" + read(FIRST).query
    assert part["Vary"] == whole["Vary"]
    assert "HX-Request" in part["Vary"]
    assert Page(part.content.decode()).heading() == Page(whole.content.decode()).heading()
    # The line for small screens and the price's origin stand outside the answer and are sent along.
    outside = [attrs["id"] for tag in ("span", "p") for attrs in Page(part.content.decode()).all(tag)
               if "hx-swap-oob" in attrs]  # fmt: skip
    assert sorted(outside) == ["line", "price-hint"]


def test_changes_are_links_to_their_own_question(client, get):
    page = get()
    links = [attrs["href"] for attrs in page.all("a") if attrs["href"].startswith("/?")]
    answer = verdict(client)
    by_query = {urlsplit(link).query: link for link in links}
    assert len(by_query) >= len(answer["changes"])
    gpus = {parse_qs(query)["gpu"][0]: query for query in by_query}
    other = next(change for change in answer["changes"] if change["value"] in gpus)
    assert get(f"?{gpus[other['value']]}").heading() == other["sentence"]


def test_every_fault_is_named_at_its_field(get):
    page = get("?model=llama-9-999b&gpu=l40s&gpus=two&input=-5&output=100&n=1.5")
    links = {attrs["href"] for attrs in page.all("a")}
    assert {"#model", "#gpus", "#input", "#n"} <= links
    invalid = {attrs["id"] for _tag, attrs in page.elements if attrs.get("aria-invalid")}
    assert {"model", "gpus", "input", "n"} <= invalid
    assert "“two” is not a number." in page.text()
    assert "There is no model" in page.text()
    assert get("?model=llama-3.1-8b-instruct").heading() == "The question cannot be answered as it is."


def test_a_pasted_config_is_read_and_is_no_part_of_the_address(client):
    values = {**FIRST, "model": "", "gpus": "1", "weights": "", "config": orjson.dumps(CONFIG).decode()}
    page = Page(client.post("/", values).content.decode())
    assert "fits" in page.heading()
    assert "A pasted config is not part of the address" in page.text()
    assert "model_type" not in "".join(attrs.get("href", "") for attrs in page.all("a"))
    assert "HX-Replace-Url" not in client.post("/", values, headers={"HX-Request": "true"})
    for text in ("not { json", "[" * 30_000):
        broken = Page(client.post("/", {**values, "config": text}).content.decode())
        assert "#config" in {attrs["href"] for attrs in broken.all("a")}


@pytest.mark.parametrize("output", ["0", "1"])
@pytest.mark.parametrize("load", ["users", "rate"])
def test_an_answer_without_a_second_token_has_no_time_between_tokens(get, output, load):
    page = get(f"?model=llama-3.1-8b&gpu=h100-sxm5-80gb&n=2&input=1000&output={output}&load={load}")
    assert page.heading()


def test_a_use_case_brings_its_lengths_load_and_targets(get):
    page = get()
    chips = re.findall(r'<li><a href="(\?[^"]+)"[^>]*>([^<]+)</a></li>', page.html)
    chat = next(unescape(href) for href, name in chips if name == "Chat assistant")
    held = parse_qs(chat[1:])
    assert (held["input"], held["output"], held["n"], held["ttft"], held["tpot"]) == (
        ["1500"], ["300"], ["64"], ["1"], ["50"],
    )  # fmt: skip
    assert held["model"] == [FIRST["model"]]
    assert 'aria-current="true">Chat assistant' in get(chat).html


def test_text_of_people_is_shown_and_never_run(get):
    page = get("?model=%3Cscript%3Ealert(1)%3C/script%3E&gpu=l40s&input=1&output=1")
    assert "<script>alert" not in page.html
    assert "&lt;script&gt;alert(1)" in page.html


def test_nothing_is_inline_and_nothing_is_asked_elsewhere(get):
    page = get()
    for tag, attrs in page.elements:
        assert "style" not in attrs, (tag, attrs)
        assert not [name for name in attrs if name.startswith("on")], (tag, attrs)
        for name in ("src", "href", "action", "hx-post"):
            assert not attrs.get(name, "").startswith(("http:", "https:", "//")), (tag, attrs)
    assert all("src" in attrs for attrs in page.all("script"))
    assert "<style" not in page.html


def test_the_first_page_weighs_at_most_300_kilobytes(get):
    page = get()
    files = [attrs["src"] for attrs in page.all("script")] + [attrs["href"] for attrs in page.all("link")]
    sizes = [Path(finders.find(address.removeprefix("/static/"))).stat().st_size for address in files]
    assert len(sizes) >= 4
    assert len(page.html.encode()) + sum(sizes) <= MOST_BYTES


def test_a_page_reads_the_revision_and_nothing_else_when_its_facts_are_warm(client, django_assert_num_queries):
    client.get("/")
    with django_assert_num_queries(1):
        client.get("/", {**FIRST, "n": "17"})


def test_pages_need_a_log_in_where_anonymous_access_is_off(client, settings, django_user_model):
    settings.AFORO_ALLOW_ANONYMOUS = False
    response = client.get("/?n=3")
    assert response.status_code == 302
    assert response["Location"].startswith("/login/?next=/%3Fn%3D3")
    client.force_login(django_user_model.objects.create_user("ana", password="x" * 12))
    assert client.get("/").status_code == 200


def test_pages_are_counted_as_estimates_are(client, settings):
    from config import request_counts

    request_counts.forget()
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {
        "DEFAULT_THROTTLE_RATES": settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {"estimates": "2/min"}
    }
    assert [client.get("/").status_code for _ in range(3)] == [200, 200, 429]
    response = client.get("/")
    assert int(response["Retry-After"]) >= 1
    assert b"Ask again in" in response.content
    request_counts.forget()


EXTREMES = ("0", "1", "0.5", "1e-300", "1e-9", "1e6", "1e9", "1e300", "-1", "nan", "1e400", "½", "9" * 200)


@pytest.mark.parametrize("load", ["users", "rate"])
@pytest.mark.parametrize("field", ["n", "input", "output", "cached", "gpus", "utilization"])
def test_an_extreme_number_in_an_address_is_answered_or_its_field_is_named(client, load, field):
    for text in EXTREMES:
        response = client.get("/", {**FIRST, "load": load, "n": "1", field: text})
        assert response.status_code == 200, text
        faults = response.context["faults"]
        assert bool(response.context.get("answer")) is not bool(faults), text
        assert all(fault.name for _label, fault in faults), (text, faults)
        assert not re.search(r"\b(nan|inf)\b", Page(response.content.decode()).heading() if not faults else ""), text


def test_no_gpus_and_no_users_are_refused_and_not_read_as_one(client):
    for field in ("gpus", "n"):
        faults = client.get("/", {**FIRST, field: "0"}).context["faults"]
        assert [fault.name for _label, fault in faults] == [field]
