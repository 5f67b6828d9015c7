"""Where prompt caching starts to pay: the share of hits, the reads per write, and the rate of requests."""

import math
from dataclasses import dataclass

from estimator.engine.cost import money
from estimator.engine.prompt_cache.cached_prices import CachePrices
from estimator.engine.prompt_cache.policy import SECONDS_PER_HOUR, ArrivalKind, CacheRules


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Where caching starts to pay; None with a reason where there is no such point. 0 means it always pays.

    `hit_rate` is h* = (w − 1) / (w − ρ); `reads_per_write` is (w − 1) / (1 − ρ), `reads_per_write_whole` its ceiling;
    `requests_per_hour` is the rate of the given kind of arrivals at which h reaches h*.
    """

    requests_per_hour: float | None = None
    hit_rate: float | None = None
    reads_per_write: float | None = None
    reads_per_write_whole: int | None = None
    reason: str | None = None


SEVERAL_LIVES = BreakEven(reason="several_lives")
"""Parts with lives of their own each have their own point."""

NOTHING_CACHED = BreakEven(reason="nothing_is_cached")
"""No rate makes a prefix pay that the cache does not take."""


def break_even(
    prices: CachePrices, rules: CacheRules, ttl_s: float, *, kind: ArrivalKind, shards: int = 1
) -> BreakEven:
    """The break-even rate, share of hits and reads per write.

    h* = (w−1)/(w−ρ). Poisson, refreshed: r* = −ln(1 − h*/η)/T = ln((w−ρ)/(1−ρ))/T for η = 1; fixed expiry:
    r* = x/(1−x)/T, x = h*/η. Regular: any gap below T (fixed expiry: k hits per write must reach h*). With storage
    paid by the hour, r* = s/(p_in − p_read). n shards: n times the rate.
    """
    if prices.read >= prices.input:
        return BreakEven(reason="reads_cost_as_much_as_input")
    if rules.storage_price_per_mtok_hour is not None:
        hourly = money.to_physics(rules.storage_price_per_mtok_hour) / 1e6
        rate = hourly / money.to_physics(prices.input - prices.read)
        return BreakEven(requests_per_hour=rate, reason="storage is paid by the hour: only the rate counts")
    if prices.write is None:
        return BreakEven(reason=prices.reason)
    rho, write = prices.read_ratio, prices.write_ratio
    # A write no dearer than input pays from the first request on, also where it is as cheap as a read.
    hit_rate = (write - 1) / (write - rho) if write > 1 else 0.0
    reads = max(write - 1, 0.0) / (1 - rho)
    per_hour = _break_even_rate(hit_rate / rules.hit_quality, rules, ttl_s, kind) if ttl_s else None
    return BreakEven(
        requests_per_hour=None if per_hour is None else per_hour * shards,
        hit_rate=hit_rate,
        reads_per_write=reads,
        reads_per_write_whole=math.ceil(round(reads, 12)),
        reason=None if per_hour is not None else "hits_never_frequent_enough",
    )


def _break_even_rate(share: float, rules: CacheRules, ttl_s: float, kind: ArrivalKind) -> float | None:
    """Requests per hour at which live entries are found with this share."""
    if share <= 0:
        return 0.0
    if kind is ArrivalKind.REGULAR:
        if rules.refresh_on_hit:
            return SECONDS_PER_HOUR / ttl_s if share <= 1 else None
        return None if share >= 1 else math.ceil(round(share / (1 - share), 12)) * SECONDS_PER_HOUR / ttl_s
    if share >= 1:
        return None
    load = -math.log1p(-share) if rules.refresh_on_hit else share / (1 - share)
    return load / ttl_s * SECONDS_PER_HOUR
