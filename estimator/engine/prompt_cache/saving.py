"""What prompt caching saves on an API bill: per request in steady state, over a horizon, and where it breaks even.

Prices per token; P cached part of the prefix, S everything else of the prompt, O answer, h share of hits:

    without = (P + S) · p_in + O · p_out
    with    = P · [h · p_read + (1 − h) · p_write] + S · p_in + O · p_out   (+ P · storage / requests per hour)

Amounts are exact decimals up to h, a physical figure; whatever holds h is rounded once to 9 significant digits.
"""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext

from estimator.engine.cost import money
from estimator.engine.cost.meters import write_meter
from estimator.engine.cost.price_list import InForce, PriceRow, Tier
from estimator.engine.errors import MissingFigureError, UnpricedMeterError
from estimator.engine.prompt_cache.policy import SECONDS_PER_HOUR, ArrivalKind, Arrivals, CacheRules, hit_probability


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePrices:
    """Prices per token in the tier of the whole prompt; exact."""

    input: Decimal
    output: Decimal
    read: Decimal
    write: Decimal
    tier: Tier
    write_billed_as: str

    @property
    def read_ratio(self) -> float:
        """ρ = p_read / p_in."""
        return money.to_physics(self.read) / money.to_physics(self.input)

    @property
    def write_ratio(self) -> float:
        """w = p_write / p_in."""
        return money.to_physics(self.write) / money.to_physics(self.input)

    def mixed(self, hit: float) -> Decimal:
        """h · p_read + (1 − h) · p_write per token."""
        share = money.from_physics(hit)
        with localcontext(money.EXACT):
            return share * self.read + (1 - share) * self.write


def _per_token(row: PriceRow) -> Decimal:
    return money.priced(Decimal(1), row.amount, row.unit_size)


def cache_prices(prices: InForce, ttl_s: int, prompt_tokens: int, *, answers: bool = True) -> CachePrices:
    """Prices a cached request is billed at; the tier comes from the total prompt, cached tokens included.

    A missing write meter means writes are billed as input (providers whose writes are free of a surcharge). Where
    nothing is answered (`answers`) the price of answers need not be known.

    Raises:
        UnpricedMeterError: No price for input, output or cache reads: unknown is never zero.
    """
    tier = prices.tier_for(Decimal(prompt_tokens))
    found: dict[str, PriceRow] = {}
    for name in ("input", "cache_read", *(["output"] if answers else [])):
        row = prices.row(tier, name)
        if row is None:
            raise UnpricedMeterError(f"{name} has no price in the tier '{tier.label}'", meter=name)
        found[name] = row
    billed_as = next(
        (name for name in (write_meter(ttl_s), "cache_write") if prices.row(tier, name) is not None), "input"
    )
    write = prices.row(tier, billed_as)
    return CachePrices(
        input=_per_token(found["input"]),
        output=_per_token(found["output"]) if answers else Decimal(0),
        read=_per_token(found["cache_read"]),
        write=_per_token(write or found["input"]),
        tier=tier,
        write_billed_as=billed_as,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Where caching starts to pay; None with a reason where there is no such point. 0 means it always pays.

    `hit_rate` is h* = (w − 1) / (w − ρ); `reads_per_write` is (w − 1) / (1 − ρ), `reads_per_write_whole` its ceiling;
    `requests_per_hour` is the rate of the given kind of arrivals at which h reaches h*.
    """

    requests_per_hour: float | None
    hit_rate: float | None
    reads_per_write: float | None
    reads_per_write_whole: int | None
    reason: str | None = None


SEVERAL_LIVES = BreakEven(
    requests_per_hour=None,
    hit_rate=None,
    reads_per_write=None,
    reads_per_write_whole=None,
    reason="several_lives",
)
"""Parts with lives of their own each have their own point."""

NOTHING_CACHED = BreakEven(
    requests_per_hour=None,
    hit_rate=None,
    reads_per_write=None,
    reads_per_write_whole=None,
    reason="nothing_is_cached",
)
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
        return BreakEven(
            requests_per_hour=None,
            hit_rate=None,
            reads_per_write=None,
            reads_per_write_whole=None,
            reason="reads_cost_as_much_as_input",
        )
    if rules.storage_price_per_mtok_hour is not None:
        hourly = money.priced(Decimal(1), rules.storage_price_per_mtok_hour, 10**6)
        rate = money.to_physics(hourly) / money.to_physics(prices.input - prices.read)
        return BreakEven(
            requests_per_hour=rate,
            hit_rate=None,
            reads_per_write=None,
            reads_per_write_whole=None,
            reason="storage is paid by the hour: only the rate counts",
        )
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
    """Cost per request without and with the cache under one time to live."""

    ttl_s: int | None
    hit_probability: float
    cached_tokens: int
    cost_without: Decimal
    cost_with: Decimal
    saving: Decimal
    saving_fraction: float
    break_even: BreakEven
    prices: CachePrices
    requests: float | None = None
    stored_per_token: Decimal | None = None


def cost_without_cache(prices: CachePrices, prompt: Prompt) -> Decimal:
    """(P + S) · p_in + O · p_out per request, exact."""
    with localcontext(money.EXACT):
        return money.EXACT.normalize(prompt.prompt_tokens * prices.input + prompt.output_tokens * prices.output)


def requests_in(arrivals: Arrivals, horizon_s: float | None) -> float | None:
    """Requests of a finite horizon (r · horizon, at least 1) or of the record; None in steady state."""
    if arrivals.kind is ArrivalKind.RECORDED:
        return float(len(arrivals.times_s))
    return None if horizon_s is None else max(arrivals.rate_per_s * horizon_s, 1.0)


def steady_or_finite_hit(
    rules: CacheRules, arrivals: Arrivals, ttl_s: float, *, shards: int = 1, horizon_s: float | None = None
) -> float:
    """Share of hits of a horizon's requests, the first of which is cold; of all in steady state without one."""
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
) -> Saving:
    """Cost per request with and without the cache for one time to live.

    Steady state; a finite horizon of N requests adds the cold start, h · (p_write − p_read) · P / N. Recorded
    arrivals hold their cold start already. Where storage is paid by the hour the entry is kept alive all the time
    (whenever it pays at all, that is cheaper than letting it lapse): every request reads, storage · P / r is added,
    and a horizon adds the one write.

    Source: design 08; providers' rules as stored in the policy rows.
    """
    price = cache_prices(prices, ttl_s, prompt.prompt_tokens, answers=prompt.output_tokens > 0)
    cached = rules.cacheable_tokens(prompt.prefix_tokens)
    requests = requests_in(arrivals, horizon_s)
    without = cost_without_cache(price, prompt)
    stored = rules.storage_price_per_mtok_hour
    if stored is not None:
        hit, per_token = 1.0, _stored_cost(price, stored, arrivals, requests, horizon_s)
    else:
        hit = steady_or_finite_hit(rules, arrivals, ttl_s, shards=shards, horizon_s=horizon_s)
        per_token = price.mixed(hit)
    with localcontext(money.EXACT):
        rest = (prompt.prompt_tokens - cached) * price.input + prompt.output_tokens * price.output
        exact = cached * per_token + rest
        saving = without - exact
    return Saving(
        ttl_s=ttl_s,
        hit_probability=hit if cached else 0.0,
        cached_tokens=cached,
        cost_without=without,
        cost_with=money.round_physics(exact) if cached else without,
        saving=money.round_physics(saving) if cached else Decimal(0),
        saving_fraction=money.to_physics(saving) / money.to_physics(without) if without and cached else 0.0,
        break_even=break_even(price, rules, ttl_s, kind=arrivals.kind, shards=shards),
        prices=price,
        requests=requests,
        stored_per_token=None if stored is None else per_token,
    )


def _stored_cost(
    price: CachePrices, storage: Decimal, arrivals: Arrivals, requests: float | None, horizon_s: float | None
) -> Decimal:
    """p_read + s / (requests per hour), plus the one write over the requests of a horizon; per token."""
    if arrivals.kind is ArrivalKind.RECORDED and horizon_s is not None and requests:
        hours_per_request = horizon_s / SECONDS_PER_HOUR / requests
    elif arrivals.rate_per_s > 0:
        hours_per_request = 1 / (arrivals.rate_per_s * SECONDS_PER_HOUR)
    else:
        raise MissingFigureError("storage is paid by the hour: one recorded request needs horizon_s", field="horizon_s")
    with localcontext(money.EXACT):
        per_token = price.read + storage / 10**6 * money.from_physics(hours_per_request)
        if requests is not None:
            per_token += price.write * money.from_physics(1 / requests)
        return per_token


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEstimate:
    """The answer: every time to live offered, the best one, why there may be no saving, and the worth of reordering."""

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

    With the variable part first no two prompts begin alike: the cached prefix is 0 and everything is billed as input;
    `reordering_worth` says what the other order would save per request.

    Raises:
        MissingFigureError: No time to live is known; it must be given.
    """
    ttls = (ttl_s,) if ttl_s is not None else rules.ttls_s
    if not ttls:
        raise MissingFigureError("no time to live is known for this cache: give ttl_s", field="ttl_s")
    savings = [
        saving_with_ttl(prices, rules, prompt, arrivals, ttl_s=ttl, shards=shards, horizon_s=horizon_s) for ttl in ttls
    ]
    best = min(savings, key=lambda item: (item.cost_with, item.ttl_s or 0))
    reasons = _reasons(rules, prompt, best)
    warnings = tuple(
        f"no price for {write_meter(ttl)}: its writes are billed as input"
        for ttl, item in zip(ttls, savings, strict=True)
        if item.prices.write_billed_as == "input" and _has_write_meter(prices)
    )
    if not variable_part_first:
        return CacheEstimate(by_ttl=tuple(savings), best=best, reasons=reasons, warnings=warnings)
    flat = tuple(_uncached(item) for item in savings)
    return CacheEstimate(
        by_ttl=flat,
        best=_uncached(best),
        reasons=("variable_part_first", *(reason for reason in reasons if reason != "costs_more_than_it_saves")),
        warnings=warnings,
        reordering_worth=max(best.saving, Decimal(0)),
    )


def _has_write_meter(prices: InForce) -> bool:
    return any(name.startswith("cache_write") for meters in prices.tiers.values() for name in meters)


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
    )


def _reasons(rules: CacheRules, prompt: Prompt, best: Saving) -> tuple[str, ...]:
    if prompt.prefix_tokens == 0:
        return ("no_shared_prefix",)
    if best.cached_tokens == 0:
        return ("below_minimum",) if prompt.prefix_tokens < rules.min_tokens else ("below_granularity",)
    if best.saving < 0:
        return ("costs_more_than_it_saves",)
    return ()
