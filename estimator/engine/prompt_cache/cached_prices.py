"""Prices per token of a request that is cached: input, output, reads, and writes of one life, where they are known."""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache

from estimator.engine.cost import money
from estimator.engine.cost.meters import meter, write_meter
from estimator.engine.cost.price_list import InForce, PriceRow, Tier
from estimator.engine.errors import UnpricedMeterError
from estimator.engine.prompt_cache.policy import CacheRules

ANY_LIFE = "cache_write"
EXPLICIT_READ = "cache_read_explicit"
NO_RULES = CacheRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePrices:
    """Prices per token in the tier of the whole prompt; exact.

    `write` and `write_billed_as` are None where the price list does not know what a write of this life costs;
    `write_meter` is the meter that would say it.
    """

    input: Decimal
    output: Decimal
    read: Decimal
    write: Decimal | None
    tier: Tier
    write_billed_as: str | None
    write_meter: str

    @property
    def read_ratio(self) -> float:
        """ρ = p_read / p_in."""
        return money.to_physics(self.read) / money.to_physics(self.input)

    @property
    def write_ratio(self) -> float:
        """w = p_write / p_in.

        Raises:
            UnpricedMeterError: The write has no price.
        """
        return money.to_physics(self.priced_write) / money.to_physics(self.input)

    @property
    def reason(self) -> str | None:
        """Why no cost with the cache can be given; None where it can."""
        return None if self.write is not None else f"unpriced-meter: {self.write_meter}"

    @property
    def priced_write(self) -> Decimal:
        """The price of a write.

        Raises:
            UnpricedMeterError: It is not known.
        """
        if self.write is None:
            raise UnpricedMeterError(f"{self.write_meter} has no price: unknown is never zero", meter=self.write_meter)
        return self.write

    def mixed(self, hit: float) -> Decimal:
        """h · p_read + (1 − h) · p_write per token.

        Raises:
            UnpricedMeterError: The write has no price.
        """
        share = money.from_physics(hit)
        with localcontext(money.EXACT):
            return share * self.read + (1 - share) * self.priced_write


def _per_token(row: PriceRow) -> Decimal:
    return _for_one(row.amount, row.unit_size)


@lru_cache(maxsize=4096)
def _for_one(amount: Decimal, unit_size: int) -> Decimal:
    """The price of one base unit; without trailing zeros, so that equal amounts may share it."""
    return money.priced(Decimal(1), amount, unit_size)


def cache_prices(
    prices: InForce, ttl_s: int, prompt_tokens: int, *, rules: CacheRules = NO_RULES, answers: bool = True
) -> CachePrices:
    """Prices a cached request is billed at; the tier comes from the total prompt, cached tokens included.

    Where nothing is answered (`answers`) the price of answers need not be known.

    Raises:
        UnpricedMeterError: No price for input, output or cache reads: unknown is never zero.
    """
    tier = prices.tier_for(Decimal(prompt_tokens))
    found: dict[str, PriceRow] = {}
    for name in ("input", "cache_read", *(["output"] if answers else [])):
        row = prices.row(tier, EXPLICIT_READ) if name == "cache_read" and rules.reads_explicit else None
        row = row or prices.row(tier, name)
        if row is None:
            raise UnpricedMeterError(f"{name} has no price in the tier '{tier.label}'", meter=name)
        found[name] = row
    billed_as = _write_billed_as(prices, tier, ttl_s, rules)
    write = None if billed_as is None else prices.row(tier, billed_as)
    return CachePrices(
        input=_per_token(found["input"]),
        output=_per_token(found["output"]) if answers else Decimal(0),
        read=_per_token(found["cache_read"]),
        write=None if write is None else _per_token(write),
        tier=tier,
        write_billed_as=billed_as,
        write_meter=write_meter(ttl_s),
    )


def _write_billed_as(prices: InForce, tier: Tier, ttl_s: int, rules: CacheRules) -> str | None:
    """The meter whose price bills a write of this life; None where nobody states one.

    A price of writes without a stated life is that of the shortest life on offer: a longer one costs more, and how
    much more is not known. Writes cost what input costs only where the rules say so, or where neither the rules nor
    the price list know of writes at all.
    """
    own = write_meter(ttl_s)
    if prices.row(tier, own) is not None:
        return own
    listed = _write_lives(prices)
    shortest = min(rules.ttls_s, default=ttl_s)
    if prices.row(tier, ANY_LIFE) is not None and listed == {None} and ttl_s <= shortest:
        return ANY_LIFE
    if rules.writes_free or (rules.writes_free is None and not listed):
        return "input"
    return None


def _write_lives(prices: InForce) -> set[int | None]:
    """Lives of the write meters on the list, None for one without a stated life."""
    return {meter(name).ttl_s for meters in prices.tiers.values() for name in meters if name.startswith("cache_write")}
