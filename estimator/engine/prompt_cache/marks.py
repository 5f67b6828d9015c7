"""A prefix in parts that live for different times: one-hour marks before five-minute ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from itertools import pairwise

from estimator.engine.cost import money
from estimator.engine.cost.price_list import InForce
from estimator.engine.errors import InvalidInputError
from estimator.engine.prompt_cache.cached_prices import CachePrices, cache_prices
from estimator.engine.prompt_cache.policy import Arrivals, CacheRules
from estimator.engine.prompt_cache.saving import KnownCosts, Prompt, cost_without_cache, steady_or_finite_hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A breakpoint: the prefix up to `prefix_tokens` is kept for `ttl_s`.

    `requests_per_hour` is the rate of requests that share the prompt up to here; None: that of the whole prefix.
    """

    prefix_tokens: int
    ttl_s: int
    requests_per_hour: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedPart:
    """The tokens between one mark and the one before it; `cost` is their expected cost in one request."""

    mark: Mark
    tokens: int
    hit_probability: float
    prices: CachePrices
    cost: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedSaving(KnownCosts):
    """Cost per request without and with the marks, part by part."""

    parts: tuple[MarkedPart, ...]
    cached_tokens: int


def saving_with_marks(
    prices: InForce,
    rules: CacheRules,
    prompt: Prompt,
    arrivals: Arrivals,
    marks: Sequence[Mark],
    *,
    shards: int = 1,
    horizon_s: float | None = None,
) -> MarkedSaving:
    """Cost per request of a prefix cut by marks: Σ part · [h_i · p_read + (1 − h_i) · p_write(T_i)] + rest · p_in.

    A part is found whenever the part before it is and its own entry lives: lives and rates never grow along the
    prompt, so h_i never does either. What the minimum or the steps keep from a mark's entry is written by the next.

    Args:
        prices: Prices in force; every mark bills its own write meter.
        rules: The cache's rules; a storage price knows no marks.
        prompt: Lengths of a request.
        arrivals: Requests that share the whole prefix.
        marks: In the order of the prompt.
        shards: Caches that do not share entries.
        horizon_s: Length of a campaign with its cold start; None is the steady state.

    Raises:
        UnpricedMeterError: Writes of a mark's life have no price.
        InvalidInputError: Marks out of order, too many, beyond the prefix, or with a life that is not on offer.

    Source: Anthropic's rule for mixed lives (longer ones first; reads up to the highest hit, then writes by life).
    """
    _check(rules, prompt, arrivals, marks)
    parts: list[MarkedPart] = []
    before = 0
    for mark in marks:
        length = rules.cacheable_tokens(mark.prefix_tokens)
        if length > before:
            parts.append(_part(prices, rules, prompt, arrivals, mark, length - before, shards, horizon_s))
            before = length
    first = cache_prices(prices, marks[0].ttl_s, prompt.prompt_tokens, rules=rules, answers=prompt.output_tokens > 0)
    without = cost_without_cache(first, prompt)
    with localcontext(money.EXACT):
        rest = (prompt.prompt_tokens - before) * first.input + prompt.output_tokens * first.output
        exact = sum((part.cost for part in parts), start=rest)
        saving = without - exact
    return MarkedSaving(
        parts=tuple(parts),
        cached_tokens=before,
        cost_without=without,
        cost_with=money.round_physics(exact) if parts else without,
        saving=money.round_physics(saving) if parts else Decimal(0),
        saving_fraction=money.to_physics(saving) / money.to_physics(without) if without and parts else 0.0,
    )


def _part(
    prices: InForce,
    rules: CacheRules,
    prompt: Prompt,
    arrivals: Arrivals,
    mark: Mark,
    tokens: int,
    shards: int,
    horizon_s: float | None,
) -> MarkedPart:
    price = cache_prices(prices, mark.ttl_s, prompt.prompt_tokens, rules=rules, answers=prompt.output_tokens > 0)
    if mark.requests_per_hour is not None:
        arrivals = replace(arrivals, requests_per_hour=mark.requests_per_hour)
    hit = steady_or_finite_hit(rules, arrivals, mark.ttl_s, shards=shards, horizon_s=horizon_s)
    with localcontext(money.EXACT):
        cost = tokens * price.mixed(hit)
    return MarkedPart(mark=mark, tokens=tokens, hit_probability=hit, prices=price, cost=cost)


def _check(rules: CacheRules, prompt: Prompt, arrivals: Arrivals, marks: Sequence[Mark]) -> None:
    if rules.storage_price_per_mtok_hour is not None:
        raise InvalidInputError("a cache paid by the hour (storage_price_per_mtok_hour) has no marks", field="marks")
    if rules.max_breakpoints is not None and len(marks) > rules.max_breakpoints:
        raise InvalidInputError(f"the provider takes at most {rules.max_breakpoints} marks", field="marks")
    for place, mark in enumerate(marks):
        if mark.ttl_s not in rules.ttls_s and not rules.ttl_settable:
            offered = ", ".join(str(ttl) for ttl in rules.ttls_s) or "none"
            raise InvalidInputError(f"the provider offers times to live of {offered} s", field=f"marks.{place}.ttl_s")
    for place, (one, after) in enumerate(pairwise(marks), start=1):
        if after.prefix_tokens <= one.prefix_tokens:
            raise InvalidInputError("marks follow one another along the prompt", field=f"marks.{place}.prefix_tokens")
        if after.ttl_s > one.ttl_s:
            raise InvalidInputError("longer lives come before shorter ones", field=f"marks.{place}.ttl_s")
    if marks[-1].prefix_tokens > prompt.prefix_tokens:
        raise InvalidInputError("the last mark is beyond the prefix", field=f"marks.{len(marks) - 1}.prefix_tokens")
    _check_rates(arrivals, marks)


def _check_rates(arrivals: Arrivals, marks: Sequence[Mark]) -> None:
    whole = arrivals.requests_per_hour
    given = [mark.requests_per_hour for mark in marks]
    if whole is None:
        place = next((place for place, rate in enumerate(given) if rate is not None), None)
        if place is not None:
            raise InvalidInputError("recorded arrivals have no rates", field=f"marks.{place}.requests_per_hour")
        return
    for place, (rate, after) in enumerate(pairwise([*(rate or whole for rate in given), whole])):
        if after > rate:
            raise InvalidInputError(
                "a longer prefix is never shared by more requests", field=f"marks.{place}.requests_per_hour"
            )
