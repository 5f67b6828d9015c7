"""What to do with a shared prefix: no cache, entries of each life, an object that lapses, or one kept alive."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from enum import StrEnum

from estimator.engine.cost import money
from estimator.engine.prompt_cache.policy import ArrivalKind, Arrivals, CacheRules
from estimator.engine.prompt_cache.saving import Prompt, Saving


class Use(StrEnum):
    """How a cache is used."""

    NONE = "none"
    LIFETIME = "lifetime"
    LAPSING = "lapsing"
    KEPT_ALIVE = "kept_alive"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOption:
    """One way to use the cache and what a request costs then; None with a reason where that is not known."""

    use: Use
    ttl_s: int | None
    cost: Decimal | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Every way, and the cheapest of those whose cost is known; of equals the simpler one."""

    best: CacheOption
    options: tuple[CacheOption, ...]


def advice(
    savings: Sequence[Saving], rules: CacheRules, prompt: Prompt, arrivals: Arrivals, *, shards: int = 1
) -> Advice:
    """Compare every way to use the cache.

    Entries that a hit refreshes can be kept alive by requests of one's own that read the prefix once a life while
    nobody else does (Poisson: 1 / (e^(rT) − 1) of them for each real one; regular: one for each whole life in a gap).
    Left out: the answer of such a request, one token.

    Args:
        savings: Every life evaluated; with storage by the hour kept alive and lapsing.
        rules: The cache's rules.
        prompt: Lengths of a request.
        arrivals: Requests that share the prefix.
        shards: Caches that do not share entries, each kept alive on its own.
    """
    options: list[CacheOption] = []
    if any(item.cached_tokens for item in savings):
        stored = rules.storage_price_per_mtok_hour is not None
        options += [_as_used(item, stored) for item in savings]
        if not stored and rules.kept_by_reading and rules.hit_quality == 1.0:
            kept = [item for item in savings if _can_be_kept(item, arrivals)]
            options += [_kept_by_reading(item, prompt, arrivals, shards) for item in kept]
    return compare(savings[0].cost_without, options)


def compare(cost_without: Decimal, options: Sequence[CacheOption]) -> Advice:
    """No cache against the other ways."""
    every = (CacheOption(use=Use.NONE, ttl_s=None, cost=cost_without), *options)
    order = {use: place for place, use in enumerate(Use)}
    best = min(every, key=lambda one: (one.cost is None, one.cost or Decimal(0), order[one.use], one.ttl_s or 0))
    return Advice(best=best, options=every)


def _as_used(item: Saving, stored: bool) -> CacheOption:
    use = Use.LIFETIME if not stored else Use.KEPT_ALIVE if item.kept_alive else Use.LAPSING
    return CacheOption(use=use, ttl_s=item.ttl_s, cost=item.cost_with, reason=item.reason)


def _can_be_kept(item: Saving, arrivals: Arrivals) -> bool:
    return item.prices.write is not None and item.ttl_s is not None and arrivals.kind is not ArrivalKind.RECORDED


def _kept_by_reading(item: Saving, prompt: Prompt, arrivals: Arrivals, shards: int) -> CacheOption:
    """Cost per request when every idle life is bridged by a read: p_read · (1 + reads between), plus the cold start."""
    price, ttl_s, rate = item.prices, item.ttl_s or 0, arrivals.rate_per_s / shards
    if arrivals.kind is ArrivalKind.REGULAR:
        between = float(math.ceil(round(1 / (rate * ttl_s), 12)) - 1)
    else:
        load = rate * ttl_s
        between = 1 / math.expm1(load) if load < 700 else 0.0
    with localcontext(money.EXACT):
        per_token = price.read * (1 + money.from_physics(between))
        if item.requests is not None:
            per_token += (price.priced_write - price.read) * money.from_physics(min(shards / item.requests, 1.0))
        rest = (prompt.prompt_tokens - item.cached_tokens) * price.input + prompt.output_tokens * price.output
        cost = money.round_physics(item.cached_tokens * per_token + rest)
    return CacheOption(use=Use.KEPT_ALIVE, ttl_s=item.ttl_s, cost=cost)
