"""Cost of one API request from its disjoint counts: exact decimals, one tier per request, unknown is never zero."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from estimator.engine.cost import money
from estimator.engine.cost.meters import TOKEN, Meter, meter, meter_of_usage, prompt_tokens, to_disjoint
from estimator.engine.cost.price_list import BASE_TIER, STANDARD, InForce, PriceRow, Tier
from estimator.engine.cost.self_hosted import TOKENS_PER_MTOK
from estimator.engine.errors import InvalidInputError, UnpricedMeterError

# Reasoning is part of the answer; explicit reads have a price apart at one seller only.
_BILLED_AS = {"reasoning": "output", "cache_read_explicit": "cache_read"}


class UsageConvention(StrEnum):
    """Whether a usage count holds the narrower counts inside it (`inclusive`) or never (`disjoint`)."""

    DISJOINT = "disjoint"
    INCLUSIVE = "inclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """One meter of the bill; `amount` = (quantity − free) · unit_price / unit_size, None with a reason if unpriced."""

    meter: str
    quantity: Decimal
    unit: str | None
    unit_size: int | None
    unit_price: Decimal | None
    amount: Decimal | None
    tier: str
    channel: str | None
    billed_as: str | None = None
    reason: str | None = None
    reference: str = ""
    free_quantity: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCost:
    """The bill: `total` is None when a used meter has no price; `priced_total` sums the lines that have one."""

    currency: str
    channel: str
    tier: Tier
    prompt_tokens_per_request: Decimal
    requests: Decimal
    lines: tuple[CostLine, ...]
    total: Decimal | None
    priced_total: Decimal
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def cost_per_mtok_blended(self) -> Decimal | None:
        """The whole bill over the tokens of its prompts and answers, per million; None without a total or tokens.

        Equation: docs/model.md, eq. (52). Source: definition.
        """
        tokens = self.tokens
        return None if self.total is None or not tokens else money.priced(self.total, Decimal(TOKENS_PER_MTOK), tokens)

    @property
    def tokens(self) -> Decimal:
        """Tokens of all prompts and answers; the meters are disjoint, so that none counts twice."""
        return money.total([line.quantity for line in self.lines if meter(line.meter).base_unit == TOKEN])

    @property
    def reason(self) -> str | None:
        """Why there is no total."""
        missing = [line.meter for line in self.lines if line.amount is None]
        return f"unpriced-meter: {', '.join(missing)}" if missing else None


def disjoint_usage(
    usage: Mapping[str, Decimal], convention: UsageConvention = UsageConvention.DISJOINT
) -> dict[str, Decimal]:
    """Counts per meter from usage keys (`input_tokens`, `cache_read_tokens`, `web_searches` …).

    Raises:
        InvalidInputError: An unknown key, a negative count, or parts that exceed their whole.
    """
    counts: dict[str, Decimal] = {}
    for key, count in usage.items():
        if not count.is_finite() or count < 0:
            raise InvalidInputError(f"{key} must be 0 or more", field=key)
        counts[meter_of_usage(key).name] = count
    return to_disjoint(counts) if convention is UsageConvention.INCLUSIVE else counts


def api_cost(
    prices: InForce,
    usage: Mapping[str, Decimal],
    *,
    convention: UsageConvention = UsageConvention.DISJOINT,
    requests: Decimal = Decimal(1),
    partial: bool = False,
    whole_month: bool = False,
) -> ApiCost:
    """The bill of `requests` requests that each use `usage`.

    One tier is chosen from the total prompt of one request, cached tokens included, and bills every token meter.
    Amounts are exact: Σ quantity · price / unit, never rounded.

    Args:
        prices: The prices in force.
        usage: Counts of ONE request by usage key, base units (tokens, searches, seconds, token-hours).
        convention: How the counts relate to one another.
        requests: How many such requests, 0 or more.
        partial: Answer with a null amount and its reason instead of refusing an unpriced meter.
        whole_month: The requests are all of a month: quantities that are free each month are taken off.

    Raises:
        UnpricedMeterError: A used meter has no price and `partial` is off.
        InvalidInputError: The counts contradict one another.

    Source: providers' price pages as stored per row; disjoint meters and tier rule, docs/prices.md.
    """
    counts = _reads_by_mode(prices, disjoint_usage(usage, convention))
    prompt = prompt_tokens(counts)
    tier = prices.tier_for(prompt)
    if "request" not in counts and prices.row(tier, "request") is not None:
        counts["request"] = Decimal(1)
    lines = tuple(
        _line(prices, tier, meter(name), count * requests, whole_month) for name, count in counts.items() if count
    )
    for line in lines:
        if line.amount is None and not partial:
            unpriced = UnpricedMeterError(line.reason or line.meter, meter=line.meter)
            unpriced.field = meter(line.meter).usage_key
            raise unpriced
    priced_total = money.total([line.amount for line in lines if line.amount is not None])
    return ApiCost(
        currency=prices.currency,
        channel=prices.channel,
        tier=tier,
        prompt_tokens_per_request=prompt,
        requests=requests,
        lines=lines,
        total=priced_total if all(line.amount is not None for line in lines) else None,
        priced_total=priced_total,
        notes=prices.notes + _notes(lines, prices),
        warnings=(prices.tier_notes[tier],) if tier in prices.tier_notes else (),
    )


def _reads_by_mode(prices: InForce, counts: dict[str, Decimal]) -> dict[str, Decimal]:
    """Reads beside writes are those of explicit marks where a seller prices them apart: modes exclude each other."""
    explicit = "cache_read_explicit"
    wrote = any(count for name, count in counts.items() if name.startswith("cache_write"))
    if not wrote or "cache_read" not in counts or prices.row(BASE_TIER, explicit) is None:
        return counts
    found = {name: count for name, count in counts.items() if name not in ("cache_read", explicit)}
    return found | {explicit: counts["cache_read"] + counts.get(explicit, Decimal(0))}


def billing_row(prices: InForce, tier: Tier, counted: Meter) -> PriceRow | None:
    """The row that bills a meter.

    Reasoning without a price of its own is billed as output: every provider does. A meter that the seller's page
    prices as another one is billed at that one's price.
    """
    row = prices.row(tier, counted.name)
    if row is None and (other := prices.alike.get(counted.name, _BILLED_AS.get(counted.name))) is not None:
        return prices.row(tier, other)
    return row


def _line(prices: InForce, tier: Tier, counted: Meter, quantity: Decimal, whole_month: bool) -> CostLine:
    row = billing_row(prices, tier, counted)
    if row is None:
        where = "" if not tier.above_tokens else f" in the tier '{tier.label}'"
        return CostLine(
            meter=counted.name,
            quantity=quantity,
            unit=None,
            unit_size=None,
            unit_price=None,
            amount=None,
            tier=tier.label,
            channel=None,
            reason=f"{counted.usage_key} are used, but {counted.name} has no price{where}{_over(prices)}",
        )
    free = prices.free.get(counted.name)
    taken_off = min(free.quantity, quantity) if free is not None and whole_month and free.per == "month" else Decimal(0)
    applied = tier if counted.base_unit == TOKEN or row.tier_above_tokens else Tier()
    return CostLine(
        meter=counted.name,
        quantity=quantity,
        unit=row.unit,
        unit_size=row.unit_size,
        unit_price=row.amount,
        amount=money.priced(quantity - taken_off, row.amount, row.unit_size),
        free_quantity=taken_off,
        tier=applied.label,
        channel=row.channel,
        billed_as=row.meter if row.meter != counted.name else None,
        reference=row.reference,
    )


def _over(prices: InForce) -> str:
    return "" if prices.channel == STANDARD else f" over {prices.channel}"


def _notes(lines: tuple[CostLine, ...], prices: InForce) -> tuple[str, ...]:
    notes, channel = [], prices.channel
    for line in lines:
        free = prices.free.get(line.meter)
        if free is not None and not line.free_quantity:
            notes.append(
                f"{free.quantity.normalize():f} {meter(line.meter).usage_key} a {free.per} are free, shared by the "
                "seller's models: none are taken off"
            )
    notes += [
        f"{line.meter} has no price of its own and is billed as {line.billed_as}" for line in lines if line.billed_as
    ]
    if channel != STANDARD:
        standard = [line.meter for line in lines if line.channel == STANDARD and line.reference != "inline"]
        if standard:
            notes.append(f"the {channel} channel has no price of its own for {', '.join(standard)}: billed as standard")
    return tuple(notes)
