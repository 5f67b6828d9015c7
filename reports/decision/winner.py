"""Who wins a group, by how much, and at which prices the second would: costs are linear in the price of the hour."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from estimator.engine.cost.money import money_from_physics, to_physics
from estimator.engine.cost.self_hosted import price_for_cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A GPU with its best setting: output tokens/s of one GPU, cost per million with its band, price of its hour."""

    gpu: str
    tokens_per_s_per_gpu: float
    cost: Decimal | None = None
    cost_low: Decimal | None = None
    cost_high: Decimal | None = None
    price: Decimal | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Standings in their order, the best first, and what the first two say of each other."""

    order: tuple[Standing, ...]
    by: str
    margin: float | None
    bands_overlap: bool | None
    runner_up_wins_below: Decimal | None
    winner_loses_above: Decimal | None

    @property
    def first(self) -> Standing:
        """The winner."""
        return self.order[0]

    @property
    def second(self) -> Standing | None:
        """The runner-up; None where nobody else stands, or none that can be compared."""
        return self.order[1] if len(self.order) > 1 else None


def outcome(standings: Sequence[Standing]) -> Outcome | None:
    """The order by cost per token; by speed per GPU where no price is known. None where nobody stands.

    Where some have a cost, those without one are left out of the order: nothing is said of what they cost. Amounts in
    several currencies are not compared: then there is no order either.
    """
    priced = [one for one in standings if one.cost is not None]
    if len({one.currency for one in priced}) > 1 or not standings:
        return None
    if not priced:
        order = tuple(sorted(standings, key=lambda one: -one.tokens_per_s_per_gpu))
        margin = None
        if len(order) > 1 and order[1].tokens_per_s_per_gpu > 0:
            margin = order[0].tokens_per_s_per_gpu / order[1].tokens_per_s_per_gpu - 1
        return Outcome(order=order, by="speed", margin=margin, bands_overlap=None, runner_up_wins_below=None,
                       winner_loses_above=None)  # fmt: skip
    order = tuple(sorted(priced, key=_cost))
    if len(order) == 1:
        return Outcome(order=order, by="cost", margin=None, bands_overlap=None, runner_up_wins_below=None,
                       winner_loses_above=None)  # fmt: skip
    first, second = order[:2]
    return Outcome(
        order=order,
        by="cost",
        margin=over(second, first),
        bands_overlap=_overlap(first, second),
        runner_up_wins_below=wins_below(second, first),
        winner_loses_above=wins_below(first, second),
    )


def over(one: Standing, first: Standing) -> float | None:
    """By how much the cost of one is above that of the first, as a share of the first's: 0.16 is 16 % more."""
    return float(_cost(one) / _cost(first) - 1) if first.cost else None


def wins_below(one: Standing, other: Standing) -> Decimal | None:
    """Price of an hour of `one` at which both cost the same per token, at the price of the other."""
    if one.cost is None or other.cost is None or one.tokens_per_s_per_gpu <= 0:
        return None
    return money_from_physics(price_for_cost(to_physics(other.cost), one.tokens_per_s_per_gpu))


def _cost(one: Standing) -> Decimal:
    return Decimal(0) if one.cost is None else one.cost


def _overlap(first: Standing, second: Standing) -> bool | None:
    """Whether the dear end of the first reaches the cheap end of the second."""
    if first.cost_high is None or second.cost_low is None:
        return None
    return second.cost_low <= first.cost_high
