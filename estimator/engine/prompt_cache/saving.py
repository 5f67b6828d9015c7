"""What prompt caching saves on an API bill: per request in steady state or over a horizon.

Prices per token; P cached part of the prefix, S everything else of the prompt, O answer, h share of hits:

    without = (P + S) · p_in + O · p_out
    with    = P · [h · p_read + (1 − h) · p_write] + S · p_in + O · p_out

An object whose storage is paid by the hour is kept alive, P · [p_read + (write + s · hours) / N], or left to lapse,
P · [p_read + (1 − h) · (write + s · life)]: every request reads it, whoever wrote it.
Amounts are exact decimals up to h, a physical figure; whatever holds h is rounded once to 9 significant digits.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext

from estimator.engine.cost import money
from estimator.engine.cost.price_list import InForce
from estimator.engine.errors import MissingFigureError
from estimator.engine.prompt_cache.cached_prices import CachePrices, cache_prices
from estimator.engine.prompt_cache.pays_from import BreakEven, break_even
from estimator.engine.prompt_cache.policy import SECONDS_PER_HOUR, ArrivalKind, Arrivals, CacheRules, hit_probability


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Lengths of one request in tokens: the shared prefix, the rest of the prompt, the answer."""

    prefix_tokens: int
    suffix_tokens: int
    output_tokens: int

    @property
    def prompt_tokens(self) -> int:
        """Total prompt."""
        return self.prefix_tokens + self.suffix_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """Cost per request without and with the cache under one time to live; None with a `reason` where not known."""

    ttl_s: int | None
    hit_probability: float
    cached_tokens: int
    cost_without: Decimal
    cost_with: Decimal | None
    saving: Decimal | None
    saving_fraction: float | None
    break_even: BreakEven
    prices: CachePrices
    requests: float | None = None
    stored_per_token: Decimal | None = None
    kept_alive: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCosts:
    """What something costs without and with the cache, where both are known; `saving_fraction` is of the first."""

    cost_without: Decimal
    cost_with: Decimal
    saving: Decimal
    saving_fraction: float


def cost_without_cache(prices: CachePrices, prompt: Prompt) -> Decimal:
    """(P + S) · p_in + O · p_out per request, exact.

    Equation: docs/model.md, eq. (61). Source: definition.

    >>> from types import SimpleNamespace
    >>> prices = SimpleNamespace(input=Decimal("0.000004"), output=Decimal("0.00002"))
    >>> cost_without_cache(prices, Prompt(prefix_tokens=8000, suffix_tokens=300, output_tokens=400))
    Decimal('0.0412')
    """
    with localcontext(money.EXACT):
        return money.EXACT.normalize(prompt.prompt_tokens * prices.input + prompt.output_tokens * prices.output)


def requests_in(arrivals: Arrivals, horizon_s: float | None) -> float | None:
    """Requests of a finite horizon (r · horizon, at least 1) or of the record; None in steady state.

    Unit: requests. Equation: docs/model.md, eq. (62). Source: definition.

    >>> requests_in(Arrivals(kind=ArrivalKind.POISSON, requests_per_hour=12), 3600.0)
    12.0
    """
    if arrivals.kind is ArrivalKind.RECORDED:
        return float(len(arrivals.times_s))
    return None if horizon_s is None else max(arrivals.rate_per_s * horizon_s, 1.0)


def steady_or_finite_hit(
    rules: CacheRules, arrivals: Arrivals, ttl_s: float, *, shards: int = 1, horizon_s: float | None = None
) -> float:
    """Share of hits of a horizon's requests, the first of which is cold; of all in steady state without one.

    Equation: docs/model.md, eq. (63). Source: equations (57) to (60).

    >>> hourly = Arrivals(kind=ArrivalKind.REGULAR, requests_per_hour=12)
    >>> rules = CacheRules(ttls_s=(600,))
    >>> steady_or_finite_hit(rules, hourly, 600), steady_or_finite_hit(rules, hourly, 600, horizon_s=3000.0)
    (1.0, 0.9)
    """
    hit = hit_probability(
        arrivals, ttl_s, refresh_on_hit=rules.refresh_on_hit, shards=shards, hit_quality=rules.hit_quality
    )
    requests = requests_in(arrivals, horizon_s)
    if requests is None or arrivals.kind is ArrivalKind.RECORDED:
        return hit
    return hit * (1 - 1 / requests)


def saving_with_ttl(
    prices: InForce,
    rules: CacheRules,
    prompt: Prompt,
    arrivals: Arrivals,
    *,
    ttl_s: int,
    shards: int = 1,
    horizon_s: float | None = None,
    kept_alive: bool = True,
) -> Saving:
    """Cost per request with and without the cache for one time to live.

    Steady state; a finite horizon of N requests adds the cold start, h · (p_write − p_read) · P / N. Recorded
    arrivals hold their cold start already. Where storage is paid by the hour the object is `kept_alive` for the whole
    horizon (without one for ever), or left to lapse after `ttl_s` and written anew by the next request. Where a write
    of this life has no price, neither the cost with the cache nor the saving is known.

    Source: docs/prompt-caching.md; providers' rules as stored in the policy rows.
    """
    answers, kind = prompt.output_tokens > 0, arrivals.kind
    tier = prices.tier_for(Decimal(prompt.prompt_tokens))

    def of_any_load() -> tuple[CachePrices, BreakEven]:
        found = cache_prices(prices, ttl_s, prompt.prompt_tokens, rules=rules, answers=answers)
        return found, break_even(found, rules, ttl_s, kind=kind, shards=shards)

    price, pays_from = prices.kept.of(("cache", ttl_s, tier, rules, answers, kind, shards), of_any_load)
    cached = rules.cacheable_tokens(prompt.prefix_tokens)
    requests = requests_in(arrivals, horizon_s)
    without = cost_without_cache(price, prompt)
    stored = rules.storage_price_per_mtok_hour
    hit = steady_or_finite_hit(rules, arrivals, ttl_s, shards=shards, horizon_s=horizon_s)
    per_token: Decimal | None = None
    if stored is not None and kept_alive:
        hit = 1.0
    if price.write is not None:
        if stored is None:
            per_token = price.mixed(hit)
        elif kept_alive:
            per_token = _kept_alive(price, stored, arrivals, requests, horizon_s)
        else:
            per_token = _lapsing(price, stored, hit, min(ttl_s, horizon_s or ttl_s))
    costs = _costs(price, prompt, cached, without, per_token)
    return Saving(
        ttl_s=ttl_s,
        hit_probability=hit if cached else 0.0,
        cached_tokens=cached,
        cost_without=without,
        cost_with=costs[0],
        saving=costs[1],
        saving_fraction=costs[2],
        break_even=pays_from,
        prices=price,
        requests=requests,
        stored_per_token=None if stored is None else per_token,
        kept_alive=stored is not None and kept_alive,
        reason=price.reason if cached and per_token is None else None,
    )


def _costs(
    price: CachePrices, prompt: Prompt, cached: int, without: Decimal, per_token: Decimal | None
) -> tuple[Decimal | None, Decimal | None, float | None]:
    """Cost with the cache, saving and its share; all None where a cached token's cost is not known."""
    if not cached:
        return without, Decimal(0), 0.0
    if per_token is None:
        return None, None, None
    with localcontext(money.EXACT):
        rest = (prompt.prompt_tokens - cached) * price.input + prompt.output_tokens * price.output
        exact = cached * per_token + rest
        saving = without - exact
    share = money.to_physics(saving) / money.to_physics(without) if without else 0.0
    return money.round_physics(exact), money.round_physics(saving), share


def _kept_alive(
    price: CachePrices, storage: Decimal, arrivals: Arrivals, requests: float | None, horizon_s: float | None
) -> Decimal:
    """p_read + s · hours / N + p_write / N for N requests of a horizon; for ever p_read + s / (requests per hour)."""
    if horizon_s is not None and requests:
        hours_per_request = horizon_s / SECONDS_PER_HOUR / requests
    elif arrivals.rate_per_s > 0:
        hours_per_request = 1 / (arrivals.rate_per_s * SECONDS_PER_HOUR)
    else:
        raise MissingFigureError("storage is paid by the hour: one recorded request needs horizon_s", field="horizon_s")
    with localcontext(money.EXACT):
        per_token = price.read + storage / 10**6 * money.from_physics(hours_per_request)
        if requests is not None:
            per_token += price.priced_write * money.from_physics(1 / requests)
        return per_token


def _lapsing(price: CachePrices, storage: Decimal, hit: float, life_s: float) -> Decimal:
    """p_read + (1 − h) · (p_write + s · life): each object is paid for its whole life."""
    hours = money.from_physics(life_s / SECONDS_PER_HOUR)
    with localcontext(money.EXACT):
        per_object = price.priced_write + storage / 10**6 * hours
        return price.read + (1 - money.from_physics(hit)) * per_object


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEstimate:
    """The answer: every time to live offered, the best one, why there may be no saving, and the worth of reordering.

    `best` is the cheapest whose cost is known; where none is, the first one, with its reason.
    """

    by_ttl: tuple[Saving, ...]
    best: Saving
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    reordering_worth: Decimal | None = None


def estimate(
    prices: InForce,
    rules: CacheRules,
    prompt: Prompt,
    arrivals: Arrivals,
    *,
    ttl_s: int | None = None,
    variable_part_first: bool = False,
    shards: int = 1,
    horizon_s: float | None = None,
) -> CacheEstimate:
    """Evaluate every time to live on offer (or the one asked) and name the cheapest.

    An object paid by the hour is tried both kept alive and lapsing. With the variable part first no two prompts begin
    alike: the cached prefix is 0 and everything is billed as input; `reordering_worth` says what the other order would
    save per request.

    Raises:
        MissingFigureError: No time to live is known; it must be given.
    """
    ttls = (ttl_s,) if ttl_s is not None else rules.ttls_s
    if not ttls:
        raise MissingFigureError("no time to live is known for this cache: give ttl_s", field="ttl_s")
    ways = (True, False) if rules.storage_price_per_mtok_hour is not None else (False,)
    savings = [
        saving_with_ttl(
            prices, rules, prompt, arrivals, ttl_s=ttl, shards=shards, horizon_s=horizon_s, kept_alive=kept_alive
        )
        for ttl in ttls
        for kept_alive in ways
    ]
    best = min(savings, key=_by_cost)
    reasons = _reasons(rules, prompt, best)
    warnings = _warnings(rules, prompt, savings)
    if not variable_part_first:
        return CacheEstimate(by_ttl=tuple(savings), best=best, reasons=reasons, warnings=warnings)
    flat = tuple(_uncached(item) for item in savings)
    kept = ("costs_more_than_it_saves", "unknown_write_price")
    return CacheEstimate(
        by_ttl=flat,
        best=_uncached(best),
        reasons=("variable_part_first", *(reason for reason in reasons if reason not in kept)),
        warnings=warnings,
        reordering_worth=None if best.saving is None else max(best.saving, Decimal(0)),
    )


def _by_cost(item: Saving) -> tuple[bool, Decimal, int]:
    """The cheapest first; what is not known comes after everything that is."""
    return item.cost_with is None, item.cost_with or Decimal(0), item.ttl_s or 0


def _warnings(rules: CacheRules, prompt: Prompt, savings: list[Saving]) -> tuple[str, ...]:
    unknown = dict.fromkeys(item.ttl_s for item in savings if item.reason is not None)
    found = [
        f"The price list has no price of writes that live {ttl} s: what that life costs is not known."
        for ttl in unknown
    ]
    if rules.max_tokens is not None and prompt.prefix_tokens > rules.max_tokens:
        found.append(
            f"The provider states that it caches at most {rules.max_tokens} tokens; what happens beyond is not "
            "documented, and the rest is counted as plain input."
        )
    return tuple(found)


def _uncached(item: Saving) -> Saving:
    return Saving(
        ttl_s=item.ttl_s,
        hit_probability=0.0,
        cached_tokens=0,
        cost_without=item.cost_without,
        cost_with=item.cost_without,
        saving=Decimal(0),
        saving_fraction=0.0,
        break_even=item.break_even,
        prices=item.prices,
        requests=item.requests,
        kept_alive=item.kept_alive,
    )


def _reasons(rules: CacheRules, prompt: Prompt, best: Saving) -> tuple[str, ...]:
    if prompt.prefix_tokens == 0:
        return ("no_shared_prefix",)
    if best.cached_tokens == 0:
        return ("below_minimum",) if prompt.prefix_tokens < rules.min_tokens else ("below_granularity",)
    if best.saving is None:
        return ("unknown_write_price",)
    if best.saving < 0:
        return ("costs_more_than_it_saves",)
    return ()
