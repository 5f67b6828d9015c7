"""Sellers' names of one model belong together, and names of other models do not."""

import datetime

import pytest

from catalog.models import ApiPrice, Provider
from catalog.price_families import price_families
from tests.catalog.factories import LanguageModelFactory

pytestmark = pytest.mark.django_db

SOLD = (
    ("aws", "meta.llama3-3-70b-instruct-v1:0"),
    ("groq", "llama-3.3-70b-versatile"),
    ("together", "meta-llama/Meta-Llama-3.3-70B-Instruct-Turbo"),
    ("databricks", "databricks-meta-llama-3-3-70b-instruct"),
    ("cloudflare", "@cf/meta/llama-3.3-70b-instruct-fp8-fast"),
    ("openrouter", "meta-llama/llama-3.3-70b-instruct:free"),
    ("anthropic", "claude-sonnet-4-5"),
    ("openrouter", "anthropic/claude-sonnet-4.5"),
    ("aws", "global.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ("anthropic", "claude-sonnet-4-6"),
    ("openai", "gpt-4.1"),
    ("openai", "gpt-4.1-mini"),
    ("openai", "gpt-4-turbo"),
    ("openai", "gpt-4"),
)


@pytest.fixture
def families():
    LanguageModelFactory(slug="llama-3.3-70b", name="Llama-3.3-70B")
    LanguageModelFactory(slug="llama-3.3-70b-instruct", name="Llama-3.3-70B-Instruct")
    for seller, model in SOLD:
        provider, _made = Provider.objects.get_or_create(slug=seller, defaults={"name": seller.title()})
        ApiPrice.objects.create(
            provider=provider, model=model, meter="input", unit="mtok", amount="1",
            effective_from=datetime.date(2026, 1, 1),
        )  # fmt: skip
    return price_families()


def models(family):
    return {(seller.provider, seller.model) for seller in family.sellers}


def test_regions_days_publishers_variants_and_ways_to_serve_are_one_model(families):
    llama = families.find("Llama 3.3 70B Instruct")
    assert models(llama) == set(SOLD[:6])
    assert (llama.slug, llama.weights) == ("llama-3.3-70b", "llama-3.3-70b")
    sonnet = families.find("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    assert models(sonnet) == set(SOLD[6:9])
    assert sonnet.slug == "claude-sonnet-4-5"


def test_other_sizes_and_generations_are_other_models(families):
    assert models(families.find("claude-sonnet-4.6")) == {("anthropic", "claude-sonnet-4-6")}
    assert {families.find(name).slug for _seller, name in SOLD[10:]} == {
        "gpt-4.1",
        "gpt-4.1-mini",
        "gpt-4-turbo",
        "gpt-4",
    }
    assert families.find("claude") is None


def test_a_search_finds_by_words_and_by_near_names(families):
    assert [one.slug for one in families.search("sonnet 4.5", 5)] == ["claude-sonnet-4-5"]
    assert families.search("groq", 5)[0].slug == "llama-3.3-70b"
    assert "gpt-4.1-mini" in [one.slug for one in families.search("gpt-4.1-mimi", 5)]
    assert families.search("\x00" * 300, 5) == []
    assert families.seller("groq-llama-3.3-70b-versatile").provider == "groq"
