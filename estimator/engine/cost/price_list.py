"""A price list as data: dated rows per meter, and the prices in force for one channel, place and moment.

Choosing happens in two steps. `prices_in_force` picks, meter by meter, the rows of the asked channel (else of the
standard one), endpoint class and time. `InForce.tier_for` then picks one tier for the whole request from its total
prompt; every meter is billed in that tier.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from estimator.engine.cost.meters import DEFAULT_UNIT, TOKEN, UNITS, meter
from estimator.engine.errors import InvalidInputError
from estimator.engine.recent import Recent

STANDARD = "standard"
EVERY_DAY = 0b1111111
DAY_S = 86_400
WEEK_S = 7 * DAY_S
OPERATORS = {"gt": ">", "ge": "≥"}


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InvalidInputError(f"there is no time zone {name!r}", field="zone") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyWindow:
    """Hours of the day a price holds in, half open, in the provider's zone; `weekdays` has bit 0 for Monday.

    A window that ends before it starts runs past midnight and belongs to the day it starts on.
    """

    start: time
    end: time
    zone: str = "UTC"
    weekdays: int = EVERY_DAY

    def __post_init__(self) -> None:
        _zone(self.zone)
        if self.start == self.end:
            raise InvalidInputError("a daily window needs two different times", field="daily_end")
        if not 1 <= self.weekdays <= EVERY_DAY:
            raise InvalidInputError("weekdays is a mask of 7 bits, Monday first", field="weekdays")

    def holds(self, moment: datetime) -> bool:
        """Whether the moment (with a zone) falls into the window."""
        local = moment.astimezone(_zone(self.zone))
        clock = local.time()
        day = local.weekday()
        if self.start < self.end:
            inside = self.start <= clock < self.end
        else:
            inside = clock >= self.start or clock < self.end
            if clock < self.end:
                day = (day - 1) % 7
        return inside and bool(self.weekdays >> day & 1)

    def meets(self, other: "DailyWindow") -> bool:
        """Whether two windows have a moment in common; windows of different zones are taken to meet.

        Left out: two zones whose clocks never coincide (rare, and refusing them is the safe side).
        """
        if self.zone != other.zone:
            return True
        return any(a < d and c < b for a, b in self._week() for c, d in other._week())

    def _week(self) -> list[tuple[int, int]]:
        """Spans in seconds of a week, Monday 00:00 first; one past Sunday midnight is cut in two."""
        begin, end = (t.hour * 3600 + t.minute * 60 + t.second for t in (self.start, self.end))
        spans = []
        for day in range(7):
            if not self.weekdays >> day & 1:
                continue
            first, last = day * DAY_S + begin, day * DAY_S + (end if end > begin else end + DAY_S)
            spans.append((first, min(last, WEEK_S)))
            if last > WEEK_S:
                spans.append((0, last - WEEK_S))
        return spans


class Tier(NamedTuple):
    """A price tier of whole requests by total prompt tokens: the highest one whose condition holds is billed.

    A tuple, since tiers are looked up for every meter of every bill.
    """

    above_tokens: int = 0
    operator: str = "gt"

    def holds(self, prompt_tokens: Decimal) -> bool:
        """Whether a request with this total prompt belongs to the tier or a higher one."""
        if self.above_tokens == 0:
            return True
        return prompt_tokens >= self.above_tokens if self.operator == "ge" else prompt_tokens > self.above_tokens

    @property
    def label(self) -> str:
        """The tier in words."""
        if self.above_tokens == 0:
            return "base"
        return f"prompt {OPERATORS[self.operator]} {self.above_tokens} tokens"


BASE_TIER = Tier()


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow:
    """One dated price of one meter: `amount` of the currency for one `unit`.

    In force for effective_from ≤ day < effective_to, days beginning at 00:00 UTC; None is open on that side.
    The row belongs to the tier of requests whose total prompt is above (`gt`) or at least (`ge`) the threshold.
    """

    meter: str
    unit: str
    amount: Decimal
    channel: str = STANDARD
    endpoint_class: str = ""
    tier_above_tokens: int = 0
    tier_operator: str = "gt"
    window: DailyWindow | None = None
    effective_from: date | None = None
    effective_to: date | None = None
    reference: str = ""

    def __post_init__(self) -> None:
        found = meter(self.meter)
        if UNITS.get(self.unit, ("", 0))[0] != found.base_unit:
            raise InvalidInputError(f"{self.meter} cannot be priced per {self.unit}", field="unit")
        if not self.amount.is_finite() or self.amount < 0:
            raise InvalidInputError("a price is 0 or more; 0 is a price, unknown is no row", field="amount")
        if self.tier_operator not in OPERATORS:
            raise InvalidInputError("tier_operator is gt or ge", field="tier_operator")

    @property
    def unit_size(self) -> int:
        """Base units that one `amount` pays for."""
        return UNITS[self.unit][1]

    @property
    def tier(self) -> Tier:
        """The tier of requests the row bills."""
        if not self.tier_above_tokens:
            return BASE_TIER
        return Tier(above_tokens=self.tier_above_tokens, operator=self.tier_operator)

    def in_force_on(self, day: date) -> bool:
        """Whether the day lies in the half-open period of the row."""
        return (self.effective_from is None or self.effective_from <= day) and (
            self.effective_to is None or day < self.effective_to
        )


@dataclass(frozen=True, kw_only=True)
class InForce:
    """The prices of one model in force for one channel, endpoint class and moment: tier → meter → row.

    `alike` names the meter whose price bills one without a price of its own, `free` the quantities of a meter that
    cost nothing in a period, `tier_notes` what is to be known of requests of a tier.
    """

    currency: str
    channel: str
    tiers: Mapping[Tier, Mapping[str, PriceRow]]
    notes: tuple[str, ...] = ()
    tier_notes: Mapping[Tier, str] = field(default_factory=dict)
    alike: Mapping[str, str] = field(default_factory=dict)
    free: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def kept(self) -> Recent:
        """What was made of these prices, such as those of a cache of one life."""
        return Recent()

    @cached_property
    def _ordered(self) -> tuple[Tier, ...]:
        return tuple(sorted(self.tiers, reverse=True))

    def tier_for(self, prompt_tokens: Decimal) -> Tier:
        """The one tier of a request with this total prompt (cached tokens included)."""
        for tier in self._ordered:
            if tier.holds(prompt_tokens):
                return tier
        return BASE_TIER

    def row(self, tier: Tier, name: str) -> PriceRow | None:
        """The row that bills a meter in a tier, None when there is no price.

        A token meter without a price in the tier is not billed at another tier's price: that mixing is a known
        error of cost tools. Meters that do not count prompt or answer tokens (searches, storage) know no tiers.
        """
        found = self.tiers.get(tier, {}).get(name)
        if found is None and tier != BASE_TIER and meter(name).base_unit != TOKEN:
            return self.tiers.get(BASE_TIER, {}).get(name)
        return found


def prices_in_force(
    rows: Iterable[PriceRow],
    *,
    currency: str,
    moment: date | datetime,
    channel: str = STANDARD,
    endpoint_class: str = "",
) -> InForce:
    """The rows that bill a request sent at `moment` over `channel`.

    Batch, flex and priority prices override meter by meter; a meter the channel does not name is billed as standard.
    A row of a daily window comes before the all-day row, when the moment has a time of day and falls into it; a bare
    date uses the all-day rows and says so.

    Raises:
        InvalidInputError: The list has no row of this channel or endpoint class at that moment.
    """
    day, instant = _day_and_instant(moment)
    candidates = [row for row in rows if row.in_force_on(day)]
    for value, field_name in ((channel, "channel"), (endpoint_class, "endpoint_class")):
        known = {getattr(row, field_name) for row in candidates}
        if candidates and value not in known | {STANDARD, ""}:
            named = ", ".join(sorted(known - {""})) or "only the general one"
            raise InvalidInputError(
                f"no prices of {field_name} {value!r} at that date; known: {named}", field=field_name
            )
    wanted = [
        row for row in candidates if row.channel in (channel, STANDARD) and row.endpoint_class in (endpoint_class, "")
    ]
    # A tier of the standard list is a tier of every channel: a channel price without it is unknown there, not flat.
    tiers: dict[Tier, dict[str, PriceRow]] = {BASE_TIER: {}}
    tiers.update((row.tier, {}) for row in wanted)
    for name in dict.fromkeys(row.meter for row in wanted):
        for row in _best([row for row in wanted if row.meter == name], channel, endpoint_class, instant):
            tiers[row.tier][meter(name).name] = row
    return InForce(currency=currency, channel=channel, tiers=tiers, notes=_notes(wanted, instant))


def _day_and_instant(moment: date | datetime) -> tuple[date, datetime | None]:
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise InvalidInputError("a moment needs its time zone", field="on")
        return moment.astimezone(UTC).date(), moment
    return moment, None


def _best(rows: list[PriceRow], channel: str, endpoint_class: str, instant: datetime | None) -> list[PriceRow]:
    """All tiers of one meter from its most specific group: class, then channel, then daily window."""
    live = [row for row in rows if row.window is None or (instant is not None and row.window.holds(instant))]
    if not live:
        return []

    def specificity(row: PriceRow) -> tuple[bool, bool, bool]:
        return (
            bool(endpoint_class) and row.endpoint_class == endpoint_class,
            channel != STANDARD and row.channel == channel,
            row.window is not None,
        )

    top = max(specificity(row) for row in live)
    return [row for row in live if specificity(row) == top]


def _notes(rows: list[PriceRow], instant: datetime | None) -> tuple[str, ...]:
    if instant is None and any(row.window for row in rows):
        return ("Some hours of the day have other prices; a bare date uses the all-day ones. Give a time to choose.",)
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineTier:
    """A tier of an inline price: threshold, operator and the meters' amounts."""

    above_tokens: int
    operator: str = "gt"
    meters: Mapping[str, Decimal] = field(default_factory=dict)


def inline_prices(
    *, currency: str, meters: Mapping[str, Decimal], tiers: Iterable[InlineTier] = (), channel: str = STANDARD
) -> InForce:
    """Prices a user states: token meters per million tokens, the others per piece (`DEFAULT_UNIT`)."""
    levels: dict[Tier, dict[str, PriceRow]] = {BASE_TIER: _inline_rows(meters, BASE_TIER)}
    for tier in tiers:
        key = Tier(above_tokens=tier.above_tokens, operator=tier.operator)
        if any(known.above_tokens == tier.above_tokens for known in levels):
            raise InvalidInputError(f"two tiers begin at {tier.above_tokens} tokens", field="tiers")
        levels[key] = _inline_rows(tier.meters, key)
    return InForce(currency=currency, channel=channel, tiers=levels)


def _inline_rows(meters: Mapping[str, Decimal], tier: Tier) -> dict[str, PriceRow]:
    return {
        meter(name).name: PriceRow(
            meter=meter(name).name,
            unit=DEFAULT_UNIT[meter(name).base_unit],
            amount=amount,
            tier_above_tokens=tier.above_tokens,
            tier_operator=tier.operator,
            reference="inline",
        )
        for name, amount in meters.items()
    }
