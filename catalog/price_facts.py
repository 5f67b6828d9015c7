"""Prices, cache policies and offers as facts: what estimates and stored reports are made from."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

from catalog.edits import source_facts
from catalog.model_names import ModelNames, NameRule
from catalog.models import ApiModel, ApiPrice, CachePolicy, GpuOffer, PriceRule
from catalog.models.cache_policy import CacheMode
from catalog.snapshot import UnknownSlugError, register

# Where one model is sold by several, its maker's list is meant by the bare name; then the big clouds, in this order.
FIRST_PARTY = (
    "anthropic",
    "openai",
    "google",
    "deepseek",
    "x-ai",
    "moonshotai",
    "mistral",
    "minimax",
    "zai",
    "alibaba",
)


def price_facts(slug: str) -> dict[str, Any]:
    """Every price of one provider's model that was not voided, of all dates, and the cache policies that fit it.

    Raises:
        UnknownSlugError: No price has this slug.
        ValueError: The rows are in several currencies.
    """
    # In one order everywhere: PostgreSQL gives an edited row last, and facts are hashed into the snapshots of reports.
    stated = ApiPrice.objects.filter(slug=slug, voided_at__isnull=True)
    rows = list(stated.select_related("provider", "price_list").order_by("pk"))
    if not rows:
        raise UnknownSlugError("price", slug)
    first = rows[0]
    currencies = {row.currency for row in rows}
    if len(currencies) > 1:
        raise ValueError(f"{slug} has prices in several currencies: {', '.join(sorted(currencies))}")
    return {
        "slug": slug,
        "provider": first.provider.slug,
        "model": first.model,
        "currency": first.currency,
        "usage_convention": first.provider.usage_convention,
        "life": life_facts(slug),
        "rows": [_row_facts(row) for row in rows],
        "policies": policies_for(first.provider_id, first.model),
        "rules": rules_for(first.provider_id, first.model),
    }


def _row_facts(row: ApiPrice) -> dict[str, Any]:
    return {
        "id": row.pk,
        "meter": row.meter,
        "unit": row.unit,
        "amount": f"{row.amount.normalize():f}",
        "channel": row.channel,
        "endpoint_class": row.endpoint_class,
        "tier_above_tokens": row.tier_above_tokens,
        "tier_operator": row.tier_operator,
        "daily_start": row.daily_start.isoformat() if row.daily_start else None,
        "daily_end": row.daily_end.isoformat() if row.daily_end else None,
        "daily_zone": row.daily_zone,
        "weekday_mask": row.weekday_mask,
        "effective_from": row.effective_from.isoformat() if row.effective_from else None,
        "effective_to": row.effective_to.isoformat() if row.effective_to else None,
        "basis": row.basis,
        **source_facts(row, "source", "date_seen"),
        "source_url": row.source_url,
        "price_list": row.price_list.slug if row.price_list else None,
        "dispute": row.all_disputes,
    }


def rules_for(provider_id: int, model: str) -> list[dict[str, Any]]:
    """Rules of a seller that fit a model; of those that say the same thing the one with the longest match."""
    best: dict[tuple[Any, ...], tuple[int, PriceRule]] = {}
    for rule in PriceRule.objects.filter(provider_id=provider_id).order_by("slug"):
        lengths = [len(pattern) for pattern in rule.models_matching if fnmatchcase(model.lower(), pattern)]
        said = (rule.kind, rule.meter, tuple(rule.places), tuple(rule.channels), rule.search_context)
        key = (*said, rule.effective_from, rule.effective_to)
        if lengths and max(lengths) > best.get(key, (-1, rule))[0]:
            best[key] = (max(lengths), rule)
    return [rule_facts(rule) for _length, rule in best.values()]


def rule_facts(rule: PriceRule) -> dict[str, Any]:
    """One price rule; a fee reads as a row of a price list."""
    stated = _sources_of(rule)
    return {
        "id": f"rule:{rule.slug}",
        "slug": rule.slug,
        "name": rule.name,
        "kind": rule.kind,
        "channels": list(rule.channels),
        "places": list(rule.places),
        "multiplier": _decimal(rule.multiplier),
        "meter": rule.meter,
        "billed_as": rule.billed_as,
        "amount": _decimal(rule.amount),
        "unit": rule.unit,
        "currency": rule.currency,
        "search_context": rule.search_context,
        "free_quantity": _decimal(rule.free_quantity),
        "free_per": rule.free_per,
        "effective_from": rule.effective_from.isoformat() if rule.effective_from else None,
        "effective_to": rule.effective_to.isoformat() if rule.effective_to else None,
        "basis": rule.basis,
        "source": stated["source"],
        "source_url": stated["source_url"],
        "date_seen": stated["source_date"],
        "dispute": "",
        "notes": rule.notes,
    }


def _decimal(value: Decimal | None) -> str | None:
    return None if value is None else f"{value.normalize():f}"


def policies_for(provider_id: int, model: str) -> list[dict[str, Any]]:
    """Policies of a provider that fit a model; of each kind (default, chosen by name) the longest pattern wins."""
    best: dict[bool, tuple[int, CachePolicy]] = {}
    for policy in CachePolicy.objects.filter(provider_id=provider_id):
        lengths = [len(pattern) for pattern in policy.models_matching if fnmatchcase(model.lower(), pattern)]
        if lengths and max(lengths) > best.get(policy.is_default, (0, policy))[0]:
            best[policy.is_default] = (max(lengths), policy)
    return [policy_facts(best[kind][1]) for kind in (True, False) if kind in best]


def policy_facts(policy: CachePolicy) -> dict[str, Any]:
    """One cache policy; seconds and tokens."""
    storage = policy.storage_price_per_mtok_hour
    return {
        "slug": policy.slug,
        "name": policy.name,
        "mode": policy.mode,
        "is_default": policy.is_default,
        "min_tokens": policy.min_tokens,
        "max_tokens": policy.max_tokens,
        "writes_free": policy.writes_free or policy.mode in (CacheMode.AUTOMATIC, CacheMode.STORED),
        "granularity_tokens": policy.granularity_tokens,
        "ttls_s": list(policy.ttls_s),
        "ttl_basis": policy.ttl_basis,
        "ttl_settable": policy.ttl_settable,
        "refresh_on_hit": policy.refresh_on_hit,
        "max_breakpoints": policy.max_breakpoints,
        "lookback_blocks": policy.lookback_blocks,
        "storage_price_per_mtok_hour": None if storage is None else f"{storage.normalize():f}",
        "hit_quality": policy.hit_quality,
        "best_effort": policy.best_effort,
        "stacks_with_batch": policy.stacks_with_batch,
        **_sources_of(policy),
        "notes": policy.notes,
    }


def _sources_of(row: ApiModel | CachePolicy | PriceRule) -> dict[str, Any]:
    """Source, address and date; the address of what a person replaced goes with it."""
    facts = source_facts(row, "source", "source_date")
    replaced = facts["source"] != row.source
    return facts | {"source_url": "" if replaced else getattr(row, "source_url", "")}


def price_names() -> dict[str, str]:
    """Every name a price answers to: its slug, provider/model, and the bare model where one seller is meant by it."""
    known = ApiPrice.objects.filter(voided_at__isnull=True).values_list("slug", "provider__slug", "model").distinct()
    names: dict[str, str] = {}
    sellers: dict[str, dict[str, str]] = {}
    for slug, provider, model in known.order_by("slug"):
        names[slug] = slug
        names[f"{provider}/{model}"] = slug
        sellers.setdefault(model, {})[provider] = slug
    for model, slugs in sellers.items():
        maker = next((provider for provider in FIRST_PARTY if provider in slugs), None)
        if maker is not None or len(slugs) == 1:
            names.setdefault(model, slugs[maker] if maker is not None else next(iter(slugs.values())))
    return names


def price_finder() -> Callable[[str], tuple[str, ...]]:
    """Finds the prices that a name as providers return it means, by the rules of the sellers' models."""
    priced = set(ApiPrice.objects.filter(voided_at__isnull=True).values_list("slug", flat=True).distinct())
    known = ApiModel.objects.order_by("slug").values_list("slug", "provider__slug", "model", "match")
    rules = [NameRule(slug=slug, provider=seller, model=model, match=rule) for slug, seller, model, rule in known]
    names = ModelNames((rule for rule in rules if rule.slug in priced), makers=FIRST_PARTY)
    return names.find


def life_facts(slug: str) -> dict[str, Any]:
    """Window, deprecation and end of a seller's model; nothing where it is not known."""
    row = ApiModel.objects.filter(slug=slug).first()
    if row is None:
        return {}
    return {
        "context_window_tokens": row.context_window_tokens,
        "max_input_tokens": row.max_input_tokens,
        "deprecated": row.deprecated,
        "deprecated_on": row.deprecated_on.isoformat() if row.deprecated_on else None,
        "retired_on": row.retired_on.isoformat() if row.retired_on else None,
        "comments": row.comments,
        **_sources_of(row),
    }


def offer_facts(slug: str) -> dict[str, Any]:
    """One hourly offer.

    Raises:
        UnknownSlugError: No offer has this slug.
    """
    offer = GpuOffer.objects.select_related("gpu").filter(slug=slug).first()
    if offer is None:
        raise UnknownSlugError("offer", slug)
    return {
        "slug": offer.slug,
        "name": offer.name,
        "provider": offer.provider,
        "gpu": offer.gpu.slug if offer.gpu else None,
        "gpu_count": offer.gpu_count,
        "market": offer.market,
        "price_per_hour": f"{offer.price_per_hour.normalize():f}",
        "price_per_gpu_hour": f"{offer.price_per_gpu_hour.normalize():f}",
        "currency": offer.currency,
        "region": offer.region,
        **source_facts(offer, "source", "date_seen"),
    }


def _offer_names() -> Mapping[str, str]:
    return {slug: slug for slug in GpuOffer.objects.values_list("slug", flat=True)}


def register_price_kinds() -> None:
    """Make prices and offers known to the snapshot of facts."""
    register("price", price_facts, price_names, finder=price_finder)
    register("offer", offer_facts, _offer_names)
