"""Quantities that a seller gives away each month or day, shared by its models: what of a bill's counts is free."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from estimator.engine.cost.price_list import InForce

DAY, MONTH = "day", "month"
_LENGTH = {DAY: len("2026-11-30"), MONTH: len("2026-11")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Counts by meter of one seller's model on one day, and its prices."""

    seller: str
    day: str
    prices: InForce
    counts: Mapping[str, Decimal]
    free: dict[str, Decimal] = field(default_factory=dict)


def give_free(counted: Sequence[Counted]) -> None:
    """Fill `free` of each: the earliest days first, as far as the seller's quantity of that month or day goes.

    Models share what the rule of their price list gives them; two rules of a seller give each their own quantity.
    """
    left: dict[tuple[str, str, Decimal, str], Decimal] = {}
    for one in sorted(counted, key=lambda each: each.day):
        for name, count in one.counts.items():
            given = one.prices.free.get(name)
            if given is None or given.per not in _LENGTH:
                continue
            key = (one.seller, name, given.quantity, one.day[: _LENGTH[given.per]])
            rest = left.setdefault(key, given.quantity)
            taken = min(rest, count)
            left[key] = rest - taken
            if taken:
                one.free[name] = taken


def total_free(counted: Sequence[Counted]) -> dict[str, Decimal]:
    """What was free of each meter in all."""
    found: dict[str, Decimal] = defaultdict(Decimal)
    for one in counted:
        for name, count in one.free.items():
            found[name] += count
    return dict(found)
