"""Bodies are read strictly, and every fault is told at once."""

import contextlib
import json
from typing import Annotated

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, Tag

from catalog.api.problems import InvalidRequest
from catalog.api.query import parse_query
from estimator.api.parsing import parse_body
from estimator.api.view import EstimateQuery
from estimator.engine.faults import ResolutionError
from estimator.question.fields import WHOLE, GpuSlug, ModelSlug, Money, RequestBody, Tokens, by_key, tag
from estimator.resolvers.facts import StoredFacts
from tests.effort import lines_run


class Shape(RequestBody):
    heads: Annotated[int, Field(ge=1, le=1000), WHOLE]
    note: str | None = None


class Config(RequestBody):
    config: dict[str, object]


class Body(RequestBody):
    model: Annotated[
        Annotated[ModelSlug, Tag(tag("slug"))] | Annotated[Shape, Tag(tag("shape"))] | Annotated[Config, Tag(tag("c"))],
        by_key({"config": "c", "heads": "shape"}, text="slug"),
    ]
    gpu: GpuSlug | None = None
    tokens: Tokens | None = None
    share: Annotated[float, Field(ge=0, le=1)] | None = None
    price: Money | None = None
    gpus: list[GpuSlug] = []


FACTS = StoredFacts(
    {"model": {"llama-3.1-8b": {}, "llama-3.1-70b": {}}, "gpu": {"h100-sxm5-80gb": {}, "l4": {}}}, catalog_revision=3
)


def faults(raw: str | bytes) -> list[tuple[str, str]]:
    with pytest.raises(ResolutionError) as caught:
        parse_body(Body, raw.encode() if isinstance(raw, str) else raw, FACTS)
    return [("/".join(map(str, issue.path)), issue.code) for issue in caught.value.faults]


def one_issue(raw: str):
    with pytest.raises(ResolutionError) as caught:
        parse_body(Body, raw.encode(), FACTS)
    (issue,) = caught.value.faults
    return issue


def test_a_right_body_is_read():
    body = parse_body(Body, b'{"model": "llama-3.1-8b", "tokens": 8.03e3, "price": "2.50"}', FACTS)
    assert (body.model, body.tokens, body.price) == ("llama-3.1-8b", 8030, "2.50")
    assert type(body.tokens) is int


def test_every_fault_is_told_in_one_answer():
    raw = '{"model": {"heads": 0, "hedas": 1}, "gpu": "h100", "tokens": true, "share": 2, "price": "1e3", "x": null}'
    assert sorted(faults(raw)) == [
        ("gpu", "unknown_slug"),
        ("model/heads", "out_of_range"),
        ("model/hedas", "unknown_field"),
        ("price", "invalid"),
        ("share", "out_of_range"),
        ("tokens", "invalid_type"),
        ("x", "unknown_field"),
    ]


@pytest.mark.parametrize(
    "raw", ["", "{", "NaN", '{"tokens": NaN}', '{"tokens": Infinity}', '{"share": 1e999}', "{'a': 1}"]
)
def test_what_is_not_json_is_malformed(raw):
    assert faults(raw) == [("", "malformed")]


def test_infinity_in_a_free_form_part_is_malformed():
    assert faults('{"model": {"config": {"rope_theta": 1e999}}}') == [("", "malformed")]


@pytest.mark.parametrize("around", [("[", "]"), ('{"model":{"config":{"a":', "}}}")], ids=["bare", "in a config"])
def test_nesting_ten_thousand_deep_is_malformed_for_the_work_of_a_thousand(around):
    def raw(deep: int) -> str:
        return around[0] + '{"a":' * deep + "1" + "}" * deep + around[1]

    assert faults(raw(10_000)) == [("", "malformed")]
    assert lines_run(lambda: faults(raw(10_000))) <= lines_run(lambda: faults(raw(2_000)))


def test_nesting_just_within_the_limit_is_read_or_refused_without_a_crash():
    raw = '{"model":{"config":{"a":' + '{"a":' * 900 + "1" + "}" * 900 + "}}}"
    with contextlib.suppress(ResolutionError):
        parse_body(Body, raw.encode(), FACTS)


def test_invalid_utf8_and_lone_surrogates_are_malformed():
    assert faults(b'{"model": "\xff"}') == [("", "malformed")]
    assert faults('{"model": "\\ud800"}') == [("", "malformed")]


@pytest.mark.parametrize("number", ["1" * 30, "1e300", "-1", "0", "1e19", "-1e300"])
def test_numbers_outside_the_limits_are_out_of_range(number):
    assert faults(f'{{"model": "llama-3.1-8b", "tokens": {number}}}') == [("tokens", "out_of_range")]


@pytest.mark.parametrize("value", ["1.5", "true", '"5"', "[]", "{}"])
def test_what_is_no_whole_number_is_an_invalid_type(value):
    assert faults(f'{{"model": "llama-3.1-8b", "tokens": {value}}}') == [("tokens", "invalid_type")]


@pytest.mark.parametrize("value", ["true", '"0.5"', "[0.5]"])
def test_a_share_is_a_number_and_neither_text_nor_truth(value):
    assert faults(f'{{"model": "llama-3.1-8b", "share": {value}}}') == [("share", "invalid_type")]


@pytest.mark.parametrize(
    "price", ['"-1"', '"1e3"', '"1."', '".5"', '" 1"', '"1\\n"', '"٣"', '"NaN"', '"0.1234567890123"', '""']
)
def test_money_that_is_no_plain_decimal_is_invalid(price):
    assert faults(f'{{"model": "llama-3.1-8b", "price": {price}}}') == [("price", "invalid")]


def test_money_as_a_number_is_an_invalid_type():
    assert faults('{"model": "llama-3.1-8b", "price": 2.5}') == [("price", "invalid_type")]


def test_a_missing_field_is_required():
    assert faults("{}") == [("model", "required")]


@pytest.mark.parametrize("raw", ["[]", "1", '"x"', "null", "true"])
def test_a_body_that_is_no_object_is_an_invalid_type(raw):
    assert faults(raw) == [("", "invalid_type")]


def test_a_union_with_two_keys_is_ambiguous_and_names_them():
    issue = one_issue('{"model": {"config": {}, "heads": 8}}')
    assert (issue.path, issue.code) == (("model",), "ambiguous")
    assert "config" in issue.detail
    assert "heads" in issue.detail


def test_a_union_with_no_key_says_which_there_are():
    issue = one_issue('{"model": {"hedas": 8}}')
    assert (issue.path, issue.code) == (("model",), "required")
    assert "config, heads" in issue.detail


def test_a_union_of_another_type_is_an_invalid_type():
    assert faults('{"model": 7}') == [("model", "invalid_type")]


def test_an_unknown_slug_comes_with_near_matches():
    issue = one_issue('{"model": "llama-3-8b"}')
    assert issue.code == "unknown_slug"
    assert issue.near[0] == "llama-3.1-8b"
    assert "llama-3.1-8b" in issue.detail


def test_capitals_and_underscores_do_not_hide_the_near_match():
    assert one_issue('{"model": "llama-3.1-8b", "gpu": "H100_SXM5"}').near == ("h100-sxm5-80gb",)


def test_slugs_in_a_list_are_pointed_at_by_index():
    assert faults('{"model": "llama-3.1-8b", "gpus": ["l4", "l5"]}') == [("gpus/1", "unknown_slug")]


def test_a_key_given_twice_is_ambiguous():
    assert faults('{"model": "llama-3.1-8b", "tokens": 1, "tokens": 2}') == [("tokens", "ambiguous")]


def test_text_that_looks_like_a_repeated_key_is_no_fault():
    body = parse_body(Body, b'{"model": {"heads": 8, "note": "\\"tokens\\": 1, \\"tokens\\" : 2"}}', FACTS)
    assert body.model.heads == 8


def test_at_most_a_hundred_faults_are_told():
    raw = "{" + ",".join(f'"x{i}": 1' for i in range(500)) + "}"
    assert len(faults(raw)) == 100


def test_near_names_are_sought_for_the_faults_that_are_told_only():
    def work(slugs: int) -> int:
        raw = '{"model": "llama-3.1-8b", "gpus": [' + ",".join(['"' + "x" * 100 + '"'] * slugs) + "]}"
        assert len(faults(raw)) == min(slugs, 100)
        return lines_run(lambda: faults(raw))

    one_sought = (work(100) - work(50)) / 50
    one_more = (work(2000) - work(1000)) / 1000
    assert one_more < one_sought / 5


def test_a_field_of_the_body_that_looks_like_a_tag_keeps_its_name():
    assert faults('{"model": {"heads": 8, "=shape": 1}}') == [("model/=shape", "unknown_field")]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
        max_leaves=20,
    )
)
def test_any_json_in_a_wrong_body_is_told_its_faults(value):
    with pytest.raises(ResolutionError) as caught:
        parse_body(Body, json.dumps({"model": value, "never": 1}).encode(), FACTS)
    assert caught.value.faults


def query_faults(text: str) -> list[tuple[str, str]]:
    with pytest.raises(InvalidRequest) as caught:
        parse_query(EstimateQuery, QueryDict(text))
    return [(str(error.path[0]), error.code) for error in caught.value.errors]


def test_a_query_takes_true_and_refuses_the_rest():
    assert parse_query(EstimateQuery, QueryDict("explain=true")).explain is True
    assert parse_query(EstimateQuery, QueryDict("explain=0")).explain is False
    assert query_faults("explain=maybe&verbose=1") == [("explain", "invalid_type"), ("verbose", "unknown_field")]


def test_a_parameter_given_twice_is_ambiguous():
    assert query_faults("explain=true&explain=false") == [("explain", "ambiguous")]


def test_nul_in_a_text_is_named_by_its_place_and_a_written_backslash_is_not_nul():
    class Note(RequestBody):
        texts: list[str] = Field(description="Texts.")

    with pytest.raises(ResolutionError) as refused:
        parse_body(Note, rb'{"texts": ["fine", "a\u0000b", "c\\u0000d"]}')
    assert [(issue.path, issue.code) for issue in refused.value.faults] == [(("texts", 1), "invalid")]
    assert parse_body(Note, rb'{"texts": ["c\\u0000d"]}').texts == [r"c\u0000d"]
