"""Names as providers return them find the prices they mean; a model's life is said on its bills."""

import pytest

from catalog.importers.genai_prices import match_rule, read_package
from catalog.model_names import ModelNames, NameRule, match_fault
from catalog.models import ApiModel
from catalog.price_facts import FIRST_PARTY
from catalog.services.api_models import plan_api_models
from catalog.spelling import near_matches
from tests.shipped_catalog import load_shipped_catalog

RETURNED = {
    "claude-haiku-4-5-20251001": "anthropic-claude-haiku-4-5",
    "Claude-Haiku-4-5-20251001": "anthropic-claude-haiku-4-5",
    "gpt-4o-2024-08-06": "openai-gpt-4o",
    "gpt-5.2-20251211": "openai-gpt-5.2",
    "gemini-2.5-flash-native-audio-preview-12-2025": "google-gemini-live-2.5-flash",
    "models/gemini-2.5-pro": "google-gemini-2.5-pro",
    "ft:gpt-4o-2024-08-06:acme::abc": "openai-ft-gpt-4o",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0": "aws-regional.anthropic.claude-sonnet-4-5-20250929-v1-0",
    "aws/us.amazon.nova-pro-v1:0": "aws-amazon.nova-pro-v1-0",
    "google/claude-haiku-4-5-20251001": "google-claude-haiku-4-5",
}


@pytest.mark.django_db
def test_a_bill_takes_a_name_as_the_provider_returns_it_and_says_the_model_s_life(client, settings):
    settings.AFORO_ALLOW_ANONYMOUS = True
    load_shipped_catalog()

    def bill(price, **usage):
        body = {"api": {"price": price, "usage": {"input_tokens": 1000, "output_tokens": 10} | usage}}
        return client.post("/api/v1/estimates/cost/", body, "application/json").json()

    for name, slug in RETURNED.items():
        assert bill(name)["api"]["price"] == slug, name
    assert "retired on 2026-07-24" in " ".join(bill("deepseek-deepseek-chat")["warnings"])
    long = bill("openai-gpt-4o", input_tokens=10_000_000)
    assert "10,000,000 tokens and gpt-4o takes 128,000 at most" in " ".join(long["warnings"])
    assert not [word for word in bill("openai-gpt-4o")["warnings"] if "at most" in word]
    assert ApiModel.objects.filter(deprecated=True).count() > 60
    assert not plan_api_models(read_package()).writes


def names(*rules, makers=FIRST_PARTY):
    made = [
        NameRule(slug=f"{seller}-{model}", provider=seller, model=model, match=rule) for seller, model, rule in rules
    ]
    return ModelNames(made, makers=makers)


def test_several_sellers_none_of_them_the_maker_are_choices():
    rule = {"equals": "llama-9-70b"}
    found = names(("groq", "l", rule), ("together", "l", rule)).find("llama-9-70b")
    assert found == ("groq-l", "together-l")


def test_an_exact_name_of_another_seller_beats_a_pattern_of_the_maker():
    found = names(("openai", "a", {"contains": "gpt"}), ("azure", "b", {"equals": "gpt-x"})).find("gpt-x")
    assert found == ("azure-b",)


def test_every_rule_of_the_package_can_be_read_and_finds_its_own_models():
    reading = read_package()
    assert not [each["model"] for each in reading.api_models if match_fault(each["match"])]
    assert len(reading.api_models) == reading.models


@pytest.mark.parametrize(
    "rule", [{"like": "x"}, {"equals": ""}, {"regex": "("}, {"or": {"equals": "x"}}, {"or": [{}]}, []]
)
def test_a_rule_that_cannot_be_read_is_refused_in_words(rule):
    assert match_fault(rule)


def test_near_names_of_the_same_generation_come_first():
    known = ["claude-haiku-5-5", "claude-haiku-4-5", "claude-haiku-3", "claude-sonnet-4-5"]
    assert near_matches("claude-haiku-4-5-preview", known)[0] == "claude-haiku-4-5"
    assert near_matches("gpt-4o-2024-99", ["gpt-4o-2024-05-13", "gpt-5o", "gpt-4o"])[-1] == "gpt-5o"


def test_a_clause_of_the_package_becomes_a_rule():
    from genai_prices.types import ClauseEquals, ClauseOr, ClauseStartsWith

    clause = ClauseOr(or_=[ClauseEquals(equals="a"), ClauseStartsWith(starts_with="b")])
    assert match_rule(clause) == {"or": [{"equals": "a"}, {"starts_with": "b"}]}
