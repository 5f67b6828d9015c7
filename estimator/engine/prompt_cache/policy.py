"""Rules of one provider's prompt cache, and what share of requests find their prefix in it."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.engine.errors import InvalidInputError

SECONDS_PER_HOUR = 3600
Figures = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRules:
    """What can be cached, for how long, and how surely it is found again.

    Prefixes below `min_tokens` are not cached; of longer ones, whole steps of `granularity_tokens` are, at most
    `max_tokens`. An entry lives `ttl_s` from its creation, or from its last use with `refresh_on_hit`. `hit_quality`
    below 1 is best effort: the share of live entries that are really found. A storage price means the entry is kept
    for as long as one pays. `writes_free`: writes cost what input costs (True), have a price of their own (False), or
    nobody says (None: then a price list with any write meter has one for each life, known or not).
    `kept_by_reading`: the seller says that a read starts the life anew, so that reads of one's own can keep an entry.
    `reads_explicit`: reads are billed at the price of explicit marks where the list has one apart.
    """

    ttls_s: tuple[int, ...] = ()
    refresh_on_hit: bool = True
    min_tokens: int = 0
    granularity_tokens: int = 1
    storage_price_per_mtok_hour: Decimal | None = None
    hit_quality: float = 1.0
    ttl_settable: bool = False
    max_breakpoints: int | None = None
    max_tokens: int | None = None
    writes_free: bool | None = None
    kept_by_reading: bool = False
    reads_explicit: bool = False
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(ttl <= 0 for ttl in self.ttls_s):
            raise InvalidInputError("a time to live is above 0 s", field="policy.ttls_s")
        if self.min_tokens < 0 or self.granularity_tokens < 1:
            raise InvalidInputError("granularity_tokens is 1 or more", field="policy.granularity_tokens")
        if self.max_tokens is not None and self.max_tokens < max(self.min_tokens, 1):
            raise InvalidInputError("max_tokens is at least min_tokens", field="policy.max_tokens")
        if not 0 < self.hit_quality <= 1:
            raise InvalidInputError("hit_quality is in (0, 1]", field="policy.hit_quality")

    def cacheable_tokens(self, prefix_tokens: int) -> int:
        """Tokens of a prefix that the cache takes: floor(min(P, max) / g) · g, or 0 below the minimum."""
        if prefix_tokens < max(self.min_tokens, 1):
            return 0
        taken = prefix_tokens if self.max_tokens is None else min(prefix_tokens, self.max_tokens)
        return taken // self.granularity_tokens * self.granularity_tokens


class ArrivalKind(StrEnum):
    """How the requests that share one prefix follow one another."""

    POISSON = "poisson"
    REGULAR = "regular"
    RECORDED = "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Requests for ONE prefix in ONE cache scope: a rate, or recorded times in seconds."""

    kind: ArrivalKind = ArrivalKind.POISSON
    requests_per_hour: float | None = None
    times_s: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.kind is ArrivalKind.RECORDED:
            if not self.times_s or any(b < a for a, b in zip(self.times_s, self.times_s[1:], strict=False)):
                raise InvalidInputError("recorded arrivals need times_s in ascending order", field="arrivals.times_s")
        elif self.requests_per_hour is None or not 0 < self.requests_per_hour < math.inf:
            raise InvalidInputError("requests_per_hour must be above 0", field="arrivals.requests_per_hour")

    @property
    def rate_per_s(self) -> float:
        """Mean requests per second."""
        if self.requests_per_hour is not None:
            return self.requests_per_hour / SECONDS_PER_HOUR
        span = self.times_s[-1] - self.times_s[0]
        return len(self.times_s) / span if span > 0 else 0.0


def poisson_hit_probability(rate_per_s: Any, ttl_s: Any, *, refresh_on_hit: bool = True, shards: Any = 1) -> Figures:
    """Share of Poisson requests that find a live entry, steady state, [0, 1].

    Refreshed on use: 1 − exp(−r·T). Fixed expiry: r·T / (1 + r·T) (a renewal: one write, then r·T hits on average).
    Requests spread over n caches at random: r → r / n.

    Args:
        rate_per_s: Requests per second for the prefix, ≥ 0, any shape.
        ttl_s: Time to live in s, > 0.
        refresh_on_hit: Whether a hit starts the life anew.
        shards: Caches that do not share entries, ≥ 1.

    Source: exponential gaps and renewal theory; agrees with a simulation of 10^6 arrivals within 0.002 (tests).

    Equation: docs/model.md, eq. (57).

    >>> round(float(poisson_hit_probability(1 / 300, 300)), 3)
    0.632
    >>> float(poisson_hit_probability(1 / 300, 300, refresh_on_hit=False))
    0.5
    """
    load = rate_per_s * ttl_s / shards
    return np.asarray(-np.expm1(-load) if refresh_on_hit else load / (1 + load))


def regular_hit_probability(gap_s: float, ttl_s: float, *, refresh_on_hit: bool = True) -> float:
    """Share of hits when requests come every `gap_s` seconds: an entry must be younger than its life.

    Refreshed: 1 when gap < T, else 0. Fixed expiry: k hits follow each write, k = ⌈T / gap⌉ − 1, so k / (k + 1).

    Equation: docs/model.md, eq. (58). Source: definition.

    >>> regular_hit_probability(100, 300), regular_hit_probability(100, 300, refresh_on_hit=False)
    (1.0, 0.6666666666666666)
    """
    if gap_s >= ttl_s:
        return 0.0
    if refresh_on_hit:
        return 1.0
    hits = math.ceil(ttl_s / gap_s) - 1
    return hits / (hits + 1)


def recorded_hits(
    times_s: Sequence[float], ttl_s: float, *, refresh_on_hit: bool = True, shards: int = 1
) -> list[float]:
    """Probability of a hit for each recorded request, the first one cold; exact for routing at random to n caches.

    Refreshed: a cache holds the prefix when any of the m requests of the last T seconds went to it:
    1 − (1 − 1/n)^m. Fixed expiry: when one of them wrote it there: Σ (1 − hit_j) / n over those m requests, at most
    one of which can be a live write. With one cache these are plain yes or no.

    Equation: docs/model.md, eq. (59). Source: definition.

    >>> recorded_hits([0, 100, 500], 300)
    [0.0, 1.0, 0.0]
    """
    hits: list[float] = []
    writes_before = [0.0]
    for index, now in enumerate(times_s):
        first = bisect_right(times_s, now - ttl_s, 0, index)
        if refresh_on_hit:
            hit = 1 - (1 - 1 / shards) ** (index - first)
        else:
            hit = min((writes_before[index] - writes_before[first]) / shards, 1.0)
        hits.append(hit)
        writes_before.append(writes_before[-1] + 1 - hit)
    return hits


def hit_probability(
    arrivals: Arrivals, ttl_s: float, *, refresh_on_hit: bool = True, shards: int = 1, hit_quality: float = 1.0
) -> float:
    """Long-run share of hits of any kind of arrivals (for recorded ones: over the record, cold start included).

    Equation: docs/model.md, eq. (60). Source: equations (57) to (59).

    >>> round(hit_probability(Arrivals(kind=ArrivalKind.POISSON, requests_per_hour=12), 300), 3)
    0.632
    """
    if arrivals.kind is ArrivalKind.RECORDED:
        hits = recorded_hits(arrivals.times_s, ttl_s, refresh_on_hit=refresh_on_hit, shards=shards)
        return hit_quality * sum(hits) / len(hits)
    if arrivals.kind is ArrivalKind.REGULAR:
        gap = shards / arrivals.rate_per_s
        return hit_quality * regular_hit_probability(gap, ttl_s, refresh_on_hit=refresh_on_hit)
    found = poisson_hit_probability(arrivals.rate_per_s, ttl_s, refresh_on_hit=refresh_on_hit, shards=shards)
    return hit_quality * float(found)
