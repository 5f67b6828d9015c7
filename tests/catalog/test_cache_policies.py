"""Rules of prompt caches as shipped: where a seller has several minimums, every model has one of its own."""

import re
from collections import defaultdict

import pytest

from catalog.models import ApiPrice, CachePolicy
from catalog.price_facts import policies_for

pytestmark = pytest.mark.django_db
# Families whose makers state minimums by model: their names hold one of these, whoever sells them.
FAMILIES = ("claude", "gemini", "nova")
# Gemini 1.x and 2.0 have no implicit cache; "latest" is whichever model it points to.
OUTSIDE = r"gemini-(1|2\.0|flash-1|pro-1)|latest"
# Minimum of a Claude model, the same at Anthropic, Bedrock, Google Cloud and OpenRouter
# (platform.claude.com prompt caching and litellm 1.110.2 prompt_cache_min_tokens, read 2026-11-30).
MINIMUMS = {
    "opus-5": 512, "opus-5-5": 512, "sonnet-5-5": 512, "haiku-5-5": 512, "fable-5": 512, "fable-5-1": 512,
    "opus-4-8": 1024, "sonnet-5": 1024, "sonnet-4-6": 1024, "sonnet-4-5": 1024, "opus-4-1": 1024,
    "opus-4-7": 2048, "opus-4-6": 4096, "opus-4-5": 4096, "haiku-4-5": 4096,
}  # fmt: skip


@pytest.fixture
def cached_models(shipped):
    """Provider id and slug → models with a price of cache reads."""
    found = defaultdict(set)
    rows = ApiPrice.objects.filter(meter="cache_read", channel="standard", voided_at__isnull=True)
    for provider, slug, model in rows.values_list("provider_id", "provider__slug", "model").distinct():
        found[provider, slug].add(model)
    return found


def default_of(provider, model):
    return next((policy for policy in policies_for(provider, model) if policy["is_default"]), None)


def test_every_model_of_a_seller_with_several_minimums_has_one_of_its_own(cached_models):
    checked = 0
    for (provider, slug), models in cached_models.items():
        policies = list(CachePolicy.objects.filter(provider_id=provider, is_default=True))
        if len({policy.min_tokens for policy in policies}) < 2:
            continue
        catch_all = [p for policy in policies for p in policy.models_matching if not re.search(r"\d|nova", p)]
        assert not catch_all, f"{slug}: {catch_all} gives every model one minimum"
        families = [name for name in FAMILIES if any(name in p for policy in policies for p in policy.models_matching)]
        for model in models:
            if any(family in model for family in families) and not re.search(OUTSIDE, model):
                assert default_of(provider, model) is not None, f"{slug} {model} has no minimum"
                checked += 1
    assert checked > 100


def test_a_claude_model_has_the_same_minimum_wherever_it_is_sold(cached_models):
    sellers = set()
    for (provider, slug), models in cached_models.items():
        for model in models:
            name = re.search(r"claude-([a-z]+-\d(?:[.-]\d)?)(?![\d.])", model)
            key = name[1].replace(".", "-") if name else None
            policy = default_of(provider, model)
            if key in MINIMUMS and policy is not None:
                assert policy["min_tokens"] == MINIMUMS[key], f"{slug} {model}"
                sellers.add(slug)
    assert sellers >= {"anthropic", "aws", "google", "openrouter"}


@pytest.mark.parametrize(
    ("model", "minimum"),
    [
        ("gemini-2.5-flash", 2048),
        ("gemini-2.5-pro", 2048),
        ("gemini-3.1-pro-preview", 4096),
        ("gemini-3.8-flash", 4096),
        ("gemini-4-argon", 4096),
    ],
)
def test_minimums_of_gemini_are_those_of_its_page(shipped, model, minimum):
    provider = ApiPrice.objects.filter(model=model, provider__slug="google").first().provider_id
    assert {policy["min_tokens"] for policy in policies_for(provider, model)} == {minimum}


def test_every_rule_names_its_source_and_the_day_it_was_read(shipped):
    policies = CachePolicy.objects.all()
    assert policies.count() > 20
    assert [
        policy.slug for policy in policies if not (policy.source and policy.source_url and policy.source_date)
    ] == []
