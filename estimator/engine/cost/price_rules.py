"""Rules of a price page: places that multiply, fees of tools, meters billed alike, channels without long prompts.

Rules change the prices in force for one request; rows of a price list come first wherever both speak of a meter.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fnmatch import fnmatchcase

from estimator.engine.cost import money
from estimator.engine.cost.meters import TOKEN, meter
from estimator.engine.cost.price_list import BASE_TIER, STANDARD, InForce, PriceRow, Tier
from estimator.engine.errors import InvalidInputError

LOW = "low"
SEARCH_CONTEXTS = (LOW, "medium", "high")


class RuleKind(StrEnum):
    """What a rule does."""

    PLACE = "place"
    FEE = "fee"
    ALIKE = "alike"
    LONG_CONTEXT = "long_context"


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeQuantity:
    """Base units of a meter that cost nothing in each month or day, shared by a seller's models."""

    quantity: Decimal
    per: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRule:
    """One rule, in force for effective_from ≤ day < effective_to; None is open on that side.

    `row` is the price of a fee; `multiplier` that of a place, for every token meter.
    """

    slug: str
    kind: RuleKind
    channels: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    multiplier: Decimal | None = None
    meter: str = ""
    billed_as: str = ""
    row: PriceRow | None = None
    search_context: str = ""
    free: FreeQuantity | None = None
    effective_from: date | None = None
    effective_to: date | None = None
    note: str = ""

    def holds(self, day: date, channel: str) -> bool:
        """Whether it is in force on that day for requests over that channel."""
        return (
            (self.effective_from is None or self.effective_from <= day)
            and (self.effective_to is None or day < self.effective_to)
            and (not self.channels or channel in self.channels)
        )

    def is_of(self, place: str) -> bool:
        """Whether a place's name is one of the rule's."""
        return any(fnmatchcase(place.lower(), pattern) for pattern in self.places)


def place_rule(rules: Iterable[PriceRule], place: str) -> PriceRule | None:
    """The rule of a place, None where none names it."""
    return next((rule for rule in rules if rule.kind is RuleKind.PLACE and rule.is_of(place)), None)


def with_rules(prices: InForce, standard: InForce, rules: Iterable[PriceRule], *, search_context: str = LOW) -> InForce:
    """The prices with fees, alike meters and long prompts of channels; places are `multiplied`.

    Args:
        prices: Those of the channel asked for.
        standard: Those of the standard channel, for the prompts that a channel leaves out.
        rules: In force, and of the channel.
        search_context: Size whose fee is meant, where fees differ by it.
    """
    found = prices
    tiers = {tier: dict(rows) for tier, rows in prices.tiers.items()}
    tier_notes: dict[Tier, str] = {}
    alike: dict[str, str] = {}
    free: dict[str, FreeQuantity] = {}
    for rule in rules:
        if rule.kind is RuleKind.ALIKE:
            alike[meter(rule.meter).name] = meter(rule.billed_as).name
        elif rule.kind is RuleKind.FEE and rule.row is not None:
            _add_fee(tiers[BASE_TIER], rule, rule.row, search_context)
            if rule.free is not None:
                free[meter(rule.meter).name] = rule.free
        elif rule.kind is RuleKind.LONG_CONTEXT and prices.channel != STANDARD:
            for tier in tiers:
                if tier != BASE_TIER:
                    tiers[tier] = dict(standard.tiers.get(tier, {}))
                    tier_notes[tier] = (
                        f"The {prices.channel} channel does not take a {tier.label}: it is billed as standard."
                    )
    return replace(found, tiers=tiers, tier_notes=tier_notes, alike=alike, free=free)


def _add_fee(base: dict[str, PriceRow], rule: PriceRule, row: PriceRow, search_context: str) -> None:
    """A fee by search context is the seller's own table and goes before a flat row; others fill what has no price."""
    name = meter(rule.meter).name
    if rule.search_context:
        if rule.search_context == search_context:
            base[name] = row
    else:
        base.setdefault(name, row)


def multiplied(prices: InForce, factor: Decimal, *, tokens_only: bool) -> InForce:
    """Every price times a factor, exact; those of tokens only, or all of them."""
    if factor == 1:
        return prices
    if not factor.is_finite() or factor < 0:
        raise InvalidInputError("a factor of prices is 0 or more", field="multiplier")
    return replace(
        prices,
        tiers={
            tier: {name: _times(row, factor) if _counts(name, tokens_only) else row for name, row in rows.items()}
            for tier, rows in prices.tiers.items()
        },
    )


def _counts(name: str, tokens_only: bool) -> bool:
    return not tokens_only or meter(name).base_unit == TOKEN


def _times(row: PriceRow, factor: Decimal) -> PriceRow:
    return replace(row, amount=money.EXACT.normalize(money.EXACT.multiply(row.amount, factor)))


def known_places(rules: Iterable[PriceRule]) -> tuple[str, ...]:
    """Names of places as a message lists them."""
    places: Mapping[str, None] = dict.fromkeys(
        place for rule in rules if rule.kind is RuleKind.PLACE for place in rule.places
    )
    return tuple(places)
