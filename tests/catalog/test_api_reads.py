"""Lists and rows of the catalog over REST: pages, search, filters, order, entity tags, and faults by name."""

import os
from pathlib import Path

import orjson
import pytest

from catalog.api import examples
from tests.catalog.factories import EngineProfileFactory, GpuFactory, LanguageModelFactory, PresetFactory

RESOURCES = {
    "gpus": GpuFactory,
    "models": LanguageModelFactory,
    "engine-profiles": EngineProfileFactory,
    "presets": PresetFactory,
}

# What the schema shows, with the request that gives it.
EXAMPLES = {
    "gpus-list": "gpus/?search=h100%20sxm&page_size=1",
    "gpus-retrieve": "gpus/l4/",
    "models-list": "models/?search=llama-3.1-8b&page_size=1",
    "models-retrieve": "models/llama-3.1-8b/",
    "engine-profiles-list": "engine-profiles/?kind=ideal",
    "engine-profiles-retrieve": "engine-profiles/vllm-0.19/",
    "presets-list": "presets/?search=chat",
    "presets-retrieve": "presets/rag/",
}


def masked(value):
    """The answer without what differs from day to day."""
    if isinstance(value, dict):
        return {key: "2026-11-29T12:00:00Z" if key == "updated_at" else masked(child) for key, child in value.items()}
    return [masked(child) for child in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_in_the_schema_is_what_the_service_answers(reader, shipped, name):
    answer = reader.get(f"/api/v1/{EXAMPLES[name]}")
    assert answer.status_code == 200, answer.content
    shown = masked(orjson.loads(answer.content))
    if os.environ.get("AFORO_WRITE_EXAMPLES") == "1":
        path = Path(examples.EXAMPLES_DIR) / f"{name}.json"
        path.write_bytes(orjson.dumps(shown, option=orjson.OPT_INDENT_2) + b"\n")
        examples.example.cache_clear()
    assert shown == examples.example(name), "run with AFORO_WRITE_EXAMPLES=1 to write the examples anew, and read them"


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_page_says_how_many_rows_there_are_and_links_to_the_others(reader, resource):
    for _ in range(5):
        RESOURCES[resource]()
    answer = reader.get(f"/api/v1/{resource}/?page=2&page_size=2")
    body = answer.json()
    assert (body["count"], body["page"], body["pages"], len(body["results"])) == (5, 2, 3, 2)
    links = dict(reversed(part.split("; rel=")) for part in answer["Link"].split(", "))
    assert set(links) == {'"first"', '"prev"', '"next"', '"last"'}
    assert links['"next"'] == f"<http://testserver/api/v1/{resource}/?page=3&page_size=2>"
    beyond = reader.get(f"/api/v1/{resource}/?page=9&page_size=2").json()
    assert (beyond["count"], beyond["results"]) == (5, [])


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_list_costs_the_same_few_queries_however_many_rows(reader, resource, django_assert_max_num_queries):
    for _ in range(10):
        RESOURCES[resource]()
    with django_assert_max_num_queries(4):
        reader.get(f"/api/v1/{resource}/")


@pytest.mark.parametrize("resource", RESOURCES)
def test_search_finds_rows_whose_texts_hold_every_word(reader, resource):
    row = RESOURCES[resource](name="Needle of thread")
    RESOURCES[resource](name="Needle alone")
    found = reader.get(f"/api/v1/{resource}/?search=THREAD%20needle").json()["results"]
    assert [each["slug"] for each in found] == [row.slug]


@pytest.mark.parametrize(
    ("query", "slugs"),
    [
        ("vendor=AMD", ["amd"]),
        ("supports=fp8", ["small"]),
        ("min_memory_bytes=81000000000", ["amd"]),
        ("max_memory_bytes=30000000000", ["small"]),
        ("launched_from=2023-01-01&launched_until=2023-12-31", ["small"]),
        ("architecture=hopper", ["big"]),
        ("ordering=-memory_vendor_bytes", ["amd", "big", "small"]),
        ("ordering=launch_date", ["small", "amd", "big"]),
        ("supports=fp8&vendor=AMD", []),
    ],
)
def test_filters_and_orders_of_accelerators(reader, query, slugs):
    GpuFactory(slug="big")
    GpuFactory(
        slug="small", memory_vendor_bytes=24 * 10**9, peak_fp8_flops_per_s=242e12, launch_date="2023-03-21",
        architecture="Ada",
    )  # fmt: skip
    GpuFactory(
        slug="amd", vendor="AMD", memory_vendor_bytes=192 * 10**9, launch_date="2024-03-21", architecture="CDNA3"
    )
    found = reader.get(f"/api/v1/gpus/?{query}").json()["results"]
    assert [each["slug"] for each in found] == slugs


def test_filters_of_language_models_on_the_shipped_catalog(reader, shipped):
    sparse = reader.get("/api/v1/models/?mixture_of_experts=true&page_size=200").json()["results"]
    assert {"mixtral-8x7b-v0.1", "qwen3-30b-a3b"} <= {model["slug"] for model in sparse}
    assert all(model["active_parameters"] < model["total_parameters"] for model in sparse)
    dense = reader.get("/api/v1/models/?mixture_of_experts=false&page_size=200").json()
    assert dense["count"] + len(sparse) == reader.get("/api/v1/models/").json()["count"]
    large = reader.get("/api/v1/models/?min_parameters=400000000000&ordering=-total_parameters").json()["results"]
    assert large == sorted(large, key=lambda model: -model["total_parameters"])
    assert all(model["total_parameters"] >= 4e11 for model in large)


@pytest.mark.parametrize(
    ("query", "parameter", "code", "near"),
    [
        ("vendr=AMD", "vendr", "unknown_field", "vendor"),
        ("vendor=Nvidia", "vendor", "invalid", "NVIDIA"),
        ("supports=fp88", "supports", "invalid", "fp8"),
        ("ordering=memory", "ordering", "invalid", "memory_vendor_bytes"),
        ("page=0", "page", "out_of_range", None),
        ("page=two", "page", "invalid_type", None),
        ("page_size=100000", "page_size", "out_of_range", None),
        ("min_bandwidth_bytes_per_s=nan", "min_bandwidth_bytes_per_s", "out_of_range", None),
        ("launched_from=yesterday", "launched_from", "invalid", None),
        ("page=1&page=2", "page", "ambiguous", None),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_allowed(reader, query, parameter, code, near):
    answer = reader.get(f"/api/v1/gpus/?{query}")
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    (error,) = answer.json()["errors"]
    assert (error["parameter"], error["code"]) == (parameter, code)
    if near:
        assert near in error["near"]


def test_every_wrong_parameter_is_named_in_one_answer(reader):
    errors = reader.get("/api/v1/gpus/?page=0&vendor=x&colour=red").json()["errors"]
    assert {error["parameter"] for error in errors} == {"page", "vendor", "colour"}


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_list_known_to_the_client_is_not_sent_again_until_a_row_changes(reader, resource):
    row = RESOURCES[resource]()
    url = f"/api/v1/{resource}/"
    tag = reader.get(url)["ETag"]
    known = reader.get(url, headers={"If-None-Match": tag})
    assert (known.status_code, known.content) == (304, b"")
    assert reader.get(url + "?page_size=1", headers={"If-None-Match": tag}).status_code == 200
    row.notes = "changed"
    row.save()
    assert reader.get(url, headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_row_known_to_the_client_is_not_sent_again_until_it_changes(reader, resource):
    row, other = RESOURCES[resource](), RESOURCES[resource]()
    url = f"/api/v1/{resource}/{row.slug}/"
    tag = reader.get(url)["ETag"]
    other.notes = "changed"
    other.save()
    assert reader.get(url, headers={"If-None-Match": f'"other", W/{tag}'}).status_code == 304
    row.notes = "changed"
    row.save()
    assert reader.get(url, headers={"If-None-Match": tag}).status_code == 200


def test_an_unknown_slug_is_not_found_with_near_ones(reader):
    GpuFactory(slug="h100-sxm5-80gb")
    answer = reader.get("/api/v1/gpus/h100-sxn5-80gb/")
    assert answer.status_code == 404
    assert answer.json()["near"] == ["h100-sxm5-80gb"]


def test_an_alias_answers_with_the_profile_it_means_and_says_where_it_lives(reader):
    EngineProfileFactory(slug="vllm-0.19", aliases=["vllm"])
    answer = reader.get("/api/v1/engine-profiles/vllm/")
    assert answer.json()["slug"] == "vllm-0.19"
    assert answer["Content-Location"] == "/api/v1/engine-profiles/vllm-0.19/"


def test_anonymous_reading_can_be_forbidden(reader, settings):
    settings.AFORO_ALLOW_ANONYMOUS = False
    assert reader.get("/api/v1/gpus/").status_code == 401


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("gpus/H100-SXM5-80GB/", "h100-sxm5-80gb"),
        ("gpus/B200/", "b200-sxm-180gb"),
        ("models/Llama-3.1-8B/", "llama-3.1-8b"),
        ("engine-profiles/vllm/", "vllm-0.33"),
    ],
)
def test_a_name_that_can_mean_one_row_is_answered_with_the_address_by_slug(reader, shipped, path, slug):
    answer = reader.get(f"/api/v1/{path}")
    assert answer.json()["slug"] == slug
    assert answer["Content-Location"] == f"/api/v1/{path.split('/')[0]}/{slug}/"


def test_a_name_of_several_rows_is_404_with_the_choices(reader, shipped):
    answer = reader.get("/api/v1/gpus/h100/")
    assert answer.status_code == 404
    assert answer.json()["near"] == ["h100-nvl-94gb", "h100-pcie-80gb", "h100-sxm5-80gb"]


def test_a_row_is_changed_by_its_slug_only(editor, shipped):
    assert editor.patch("/api/v1/gpus/H100-SXM5-80GB/", {"notes": "x"}).status_code == 404
