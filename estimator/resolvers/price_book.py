"""The price book of one model: its rows and rules as the engine bills them, and the prices in force for a choice."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.cost.meters import meter, write_meter
from estimator.engine.cost.price_list import (
    STANDARD,
    DailyWindow,
    InForce,
    InlineTier,
    PriceRow,
    prices_in_force,
)
from estimator.engine.cost.price_rules import (
    LOW,
    FreeQuantity,
    PriceRule,
    RuleKind,
    known_places,
    multiplied,
    place_rule,
    with_rules,
)
from estimator.engine.errors import InvalidInputError
from estimator.engine.recent import Recent
from estimator.resolvers.facts import FactRow, Facts

_KEPT = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class InlinePrice:
    """Prices a request states: token meters per million, others per piece."""

    currency: str
    meters: Mapping[str, Decimal]
    tiers: tuple[InlineTier, ...] = ()
    # What was made of them, such as the prices in force over a channel.
    kept: Recent = field(default_factory=Recent, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChoice:
    """What a request asks to be billed by: a slug or stated prices, how it is sent, and when."""

    price: str | InlinePrice
    moment: datetime.date | datetime.datetime
    channel: str = STANDARD
    endpoint_class: str = ""
    search_context: str = LOW
    discount: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Prices in force for a choice, and the rule of the place they are for."""

    prices: InForce
    place: PriceRule | None
    # What was made of them, such as their provenance; kept as long as they are.
    kept: Recent = field(default_factory=Recent, repr=False, compare=False)


@dataclass(slots=True, eq=False)
class PriceBook:
    """All prices of one model as the engine bills them; keeps the last choices so that a request finds them made."""

    rows: tuple[PriceRow, ...]
    rules: tuple[PriceRule, ...]
    facts: FactRow
    _kept: dict[tuple[Any, ...], Chosen] = field(default_factory=dict)

    @property
    def has_hours(self) -> bool:
        """Whether some of its prices hold in hours of the day only."""
        return any(row.window is not None for row in self.rows)

    def in_force(self, choice: PriceChoice) -> Chosen:
        """The prices in force for a choice.

        Raises:
            InvalidInputError: A channel or place nobody sells then; names those that are sold.
        """
        # The discount as it was written: 0.1 and 0.10 are one number, but are said in other words.
        discount = str(choice.discount)
        key = (choice.moment, choice.channel, choice.endpoint_class, choice.search_context, discount)
        found = self._kept.get(key)
        if found is None:
            found = self._choose(choice)
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[key] = found
        return found

    def _choose(self, choice: PriceChoice) -> Chosen:
        rules = tuple(rule for rule in self.rules if rule.holds(day_of(choice.moment), choice.channel))
        place = self._place(choice.endpoint_class, rules)
        own = "" if place is not None else choice.endpoint_class
        prices = self._rows_in_force(choice, choice.channel, own)
        standard = prices if choice.channel == STANDARD else self._rows_in_force(choice, STANDARD, own)
        prices = with_rules(prices, standard, rules, search_context=choice.search_context)
        prices = replace(prices, alike=self._free_writes(prices) | dict(prices.alike))
        if place is not None and place.multiplier is not None:
            prices = multiplied(prices, place.multiplier, tokens_only=True)
        return Chosen(multiplied(prices, 1 - choice.discount, tokens_only=False), place)

    def _rows_in_force(self, choice: PriceChoice, channel: str, place: str) -> InForce:
        return prices_in_force(
            self.rows,
            currency=self.facts["currency"],
            moment=choice.moment,
            channel=channel,
            endpoint_class=place,
        )

    def _place(self, name: str, rules: tuple[PriceRule, ...]) -> PriceRule | None:
        """The rule of a place that has no rows of its own; None for the general place and for one with rows."""
        listed = {row.endpoint_class for row in self.rows}
        if not name or name in listed:
            return None
        found = place_rule(rules, name)
        if found is None:
            known = ", ".join((*sorted(listed - {""}), *known_places(rules))) or _("only the general one")
            raise InvalidInputError(
                _("No prices of endpoint_class “%(name)s” are known; known: %(known)s.")
                % {"name": name, "known": known},
                field="endpoint_class",
            )
        return found

    def _free_writes(self, prices: InForce) -> dict[str, str]:
        """Cache writes that a seller counts apart and bills as something else: as input, or at the shortest life."""
        lives = sorted(write_ttls(prices))
        if lives:
            return {"cache_write": write_meter(lives[0])}
        policy = next((policy for policy in self.facts["policies"] if policy["is_default"]), None)
        if policy is None or not policy["writes_free"]:
            return {}
        names = ("cache_write", *(write_meter(ttl) for ttl in policy["ttls_s"]))
        return dict.fromkeys(names, "input")


def day_of(moment: datetime.date | datetime.datetime) -> datetime.date:
    """The day whose prices a moment has: days begin at 00:00 UTC."""
    return moment.astimezone(datetime.UTC).date() if isinstance(moment, datetime.datetime) else moment


def price_book(facts: Facts, slug: str) -> PriceBook:
    """The price book of a slug, built once per catalog revision and process."""
    row = facts.row("price", slug)
    return facts.derived(("price_book", row["slug"]), lambda: _book(row))


def _book(facts: FactRow) -> PriceBook:
    rules = tuple(_engine_rule(rule) for rule in facts["rules"])
    return PriceBook(rows=_engine_rows(facts), rules=rules, facts=facts)


def _engine_rule(facts: Mapping[str, Any]) -> PriceRule:
    row = free = None
    if facts["kind"] == RuleKind.FEE:
        row = PriceRow(meter=facts["meter"], unit=facts["unit"], amount=Decimal(facts["amount"]), reference=facts["id"])
    if facts["free_quantity"]:
        free = FreeQuantity(quantity=Decimal(facts["free_quantity"]), per=facts["free_per"])
    return PriceRule(
        slug=facts["slug"],
        kind=RuleKind(facts["kind"]),
        channels=tuple(facts["channels"]),
        places=tuple(facts["places"]),
        multiplier=Decimal(facts["multiplier"]) if facts["multiplier"] else None,
        meter=facts["meter"],
        billed_as=facts["billed_as"],
        row=row,
        search_context=facts["search_context"],
        free=free,
        effective_from=_day(facts["effective_from"]),
        effective_to=_day(facts["effective_to"]),
        note=facts["notes"],
    )


def _engine_rows(facts: FactRow) -> tuple[PriceRow, ...]:
    return tuple(_engine_row(row) for row in facts["rows"])


def _engine_row(row: Mapping[str, Any]) -> PriceRow:
    window = None
    if row["daily_start"]:
        window = DailyWindow(
            start=datetime.time.fromisoformat(row["daily_start"]),
            end=datetime.time.fromisoformat(row["daily_end"]),
            zone=row["daily_zone"] or "UTC",
            weekdays=row["weekday_mask"],
        )
    return PriceRow(
        meter=row["meter"],
        unit=row["unit"],
        amount=Decimal(row["amount"]),
        channel=row["channel"],
        endpoint_class=row["endpoint_class"],
        tier_above_tokens=row["tier_above_tokens"],
        tier_operator=row["tier_operator"],
        window=window,
        effective_from=_day(row["effective_from"]),
        effective_to=_day(row["effective_to"]),
        reference=str(row["id"]),
    )


def _day(text: str | None) -> datetime.date | None:
    return datetime.date.fromisoformat(text) if text else None


def write_ttls(prices: InForce) -> tuple[int, ...]:
    """Times to live of the write meters on a list, seconds, ascending."""
    names = {name for rows in prices.tiers.values() for name in rows if name.startswith("cache_write")}
    return tuple(sorted(ttl for name in names if (ttl := meter(name).ttl_s) is not None))
