"""The bill of a month of usage: exact decimals from sums per model, moment, channel and tier."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from estimator.engine.cost import money
from estimator.engine.cost.api import UsageConvention
from estimator.engine.cost.meters import inclusion_order, meter, meter_of_usage
from estimator.engine.cost.price_list import STANDARD, Tier
from estimator.engine.errors import InvalidInputError
from estimator.estimates.month_bill.blocks import BadRow
from estimator.estimates.month_bill.free import Counted, give_free, total_free
from estimator.estimates.month_bill.groups import (
    Chosen,
    Columns,
    Group,
    Sums,
    amount_of,
    by_day,
    choose,
    counted,
    groups,
    rows_of_groups,
    sums,
    warnings_of,
)
from estimator.estimates.month_bill.read import Usage
from estimator.resolvers.facts import Facts

BATCH = "batch"
_UNCACHED = "input"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Requests and amount of one model, day or channel; the amount is None where a used meter has no price."""

    key: str
    requests: int
    amount: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherWay:
    """What the same usage would have cost another way; None with a reason where that cannot be said."""

    way: str
    amount: Decimal | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMachines:
    """One's own GPUs: what a replica costs in the period of the file and the output tokens it makes in it."""

    cost_of_replica: Decimal
    output_tokens_of_replica: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthBill:
    """The bill, by model, day and channel, what other ways would have cost, and the rows that were not billed.

    `warnings` name lives of models and disputed amounts; `ignored` counts of providers' objects that no meter counts,
    each with its rows.
    """

    currency: str | None
    rows: int
    requests: int
    total: Decimal | None
    priced_total: Decimal
    by_model: tuple[Line, ...]
    by_day: tuple[Line, ...]
    by_channel: tuple[Line, ...]
    other_ways: tuple[OtherWay, ...]
    unpriced: tuple[str, ...]
    free: Mapping[str, Decimal]
    bad: tuple[BadRow, ...]
    bad_rows: int
    warnings: tuple[str, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)


def month_bill(
    usage: Usage,
    facts: Facts,
    *,
    convention: UsageConvention = UsageConvention.DISJOINT,
    alternatives: Sequence[str] = (),
    own: OwnMachines | None = None,
    free_quantities: bool = True,
) -> MonthBill:
    """Bill a month of usage.

    The tier of each row is chosen by its own prompt; within a model, moment, channel and tier prices are linear, so
    that sums of whole counts are billed exactly. Every amount is Σ (quantity − free) · price / unit. A row with a time
    (`at`) is billed at the prices of its quarter of an hour, a row with a day at those of the day.

    Args:
        usage: Rows read from a file.
        facts: Prices of the catalog.
        convention: How the counts of a row relate to one another.
        alternatives: Names of prices whose bill for the same usage is wanted too.
        own: One's own machines, for the same usage.
        free_quantities: Take off what sellers give away each day and calendar month, the earliest days first. The file
            is then all that the account used.

    Raises:
        InvalidInputError: With inclusive counts a whole is less than its parts, or prices in several currencies.
    """
    usage = by_day(usage, facts)
    counts = _disjoint(usage, convention)
    found = groups(usage, counts, facts)
    given = _bill(found, free_quantities=free_quantities)
    currencies = sorted({group.chosen.prices.currency for group in found if group.chosen.prices is not None})
    if len(currencies) > 1:
        raise InvalidInputError(f"prices are in {', '.join(currencies)}: bill each currency on its own", field="model")
    priced = money.total([group.amount for group in found if group.amount is not None])
    whole = all(group.amount is not None for group in found)
    currency = currencies[0] if currencies else None
    ask = _Asked(
        usage=usage, counts=counts, groups=found, given=given, facts=facts, free_quantities=free_quantities,
        currency=currency,
    )  # fmt: skip
    return MonthBill(
        currency=currency,
        rows=len(usage.codes),
        requests=int(usage.requests.sum()),
        total=priced if whole else None,
        priced_total=priced,
        by_model=_lines(found, "model"),
        by_day=_lines(found, "day"),
        by_channel=_lines(found, "channel"),
        other_ways=_other_ways(ask, alternatives, own),
        unpriced=tuple(dict.fromkeys(f"{group.model}: {group.reason}" for group in found if group.reason)),
        free=total_free(given),
        bad=usage.bad,
        bad_rows=usage.bad_rows,
        warnings=warnings_of(found, facts),
        ignored=usage.ignored,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A month that is billed, for what other ways would have cost; `given` are the groups with prices, in order."""

    usage: Usage
    counts: Columns
    groups: Sequence[Group]
    given: Sequence[Counted]
    facts: Facts
    free_quantities: bool
    currency: str | None


def _bill(found: Sequence[Group], *, free_quantities: bool) -> list[Counted]:
    """Fill the amounts of groups; what was free of each group with prices, in order."""
    given = counted([(group.sent, group.chosen, group.sums) for group in found])
    if free_quantities:
        give_free(given)
    priced = [group for group in found if group.chosen.prices is not None]
    for group, one in zip(priced, given, strict=True):
        group.amount, missing = amount_of(one.prices, group.sums, one.free)
        if missing:
            group.reason = f"{', '.join(missing)} without a price"
    return given


def _disjoint(usage: Usage, convention: UsageConvention) -> dict[str, NDArray[np.int64]]:
    counts = {meter_of_usage(key).name: column for key, column in usage.counts.items()}
    if convention is UsageConvention.DISJOINT:
        return counts
    leaves: dict[str, NDArray[np.int64]] = {}
    for name, inside in inclusion_order(counts):
        held = sum((leaves[other] for other in inside), start=np.zeros(1, dtype=np.int64))
        rest = counts[name] - np.where(usage.apart, 0, held)
        if np.any(rest < 0):
            row = int(np.argmax(rest < 0)) + 1
            raise InvalidInputError(f"{meter(name).usage_key} of billed row {row} is less than its parts", field=name)
        leaves[name] = rest
    return leaves


def _lines(found: Sequence[Group], name: str) -> tuple[Line, ...]:
    requests: dict[str, int] = defaultdict(int)
    amounts: dict[str, list[Decimal | None]] = defaultdict(list)
    for group in found:
        key = getattr(group, name)
        requests[key] += group.requests
        amounts[key].append(group.amount)
    return tuple(
        Line(
            key=key,
            requests=requests[key],
            amount=None if None in amounts[key] else money.total([one for one in amounts[key] if one is not None]),
        )
        for key in sorted(amounts)
    )


def _other_ways(ask: _Asked, alternatives: Sequence[str], own: OwnMachines | None) -> tuple[OtherWay, ...]:
    ways = [_without_cache(ask), _another(ask, channel=BATCH)]
    ways += [_another(ask, price=price) for price in alternatives]
    if own is not None:
        made = sum(
            (quantity for group in ask.groups for sums_of in group.sums.values() for name, quantity in sums_of.items()
             if name in ("output", "reasoning")),
            start=Decimal(0),
        )  # fmt: skip
        replicas = max(-(-money.to_physics(made) // own.output_tokens_of_replica), 1.0)
        ways.append(OtherWay(way="own_gpus", amount=money.EXACT.multiply(own.cost_of_replica, Decimal(int(replicas)))))
    return tuple(ways)


def _without_cache(ask: _Asked) -> OtherWay:
    """Everything read from a cache or written to one billed as plain input."""
    unpriced = next((group for group in ask.groups if group.chosen.prices is None), None)
    if unpriced is not None:
        return OtherWay(way="without_cache", amount=None, reason=unpriced.reason)
    amounts: list[Decimal] = []
    for group, one in zip(ask.groups, ask.given, strict=True):
        plain: dict[Tier, Sums] = {}
        for tier, sums_of in group.sums.items():
            merged: Sums = defaultdict(Decimal)
            for name, quantity in sums_of.items():
                merged[_UNCACHED if name.startswith(("cache_read", "cache_write")) else name] += quantity
            plain[tier] = merged
        amount, missing = amount_of(one.prices, plain, one.free)
        if amount is None:
            return OtherWay(way="without_cache", amount=None, reason=f"{group.model}: {', '.join(missing)} unpriced")
        amounts.append(amount)
    return OtherWay(way="without_cache", amount=money.total(amounts))


def _another(ask: _Asked, *, channel: str | None = None, price: str | None = None) -> OtherWay:
    """The same usage over another channel, or at the prices of another model; a seller without it keeps its own."""
    way = channel or str(price)
    kept: dict[str, Decimal] = defaultdict(Decimal)
    found: list[tuple[Group, Chosen, Mapping[Tier, Sums]]] = []
    for group, rows in zip(ask.groups, rows_of_groups(ask.usage), strict=True):
        sent = group.sent._replace(model=price or group.model, channel=channel or STANDARD)
        chosen = choose(sent._replace(place="") if price else sent, ask.facts)
        if chosen.prices is not None and ask.currency not in (None, chosen.prices.currency):
            return OtherWay(way=way, amount=None, reason=f"its prices are in {chosen.prices.currency}")
        if chosen.prices is not None:
            found.append((group, chosen, sums(ask.usage, ask.counts, rows, chosen.prices)))
        elif channel is not None and group.amount is not None:
            kept[group.model] += group.amount
        else:
            return OtherWay(way=way, amount=None, reason=chosen.reason)
    given = counted([(group.sent, chosen, by_tier) for group, chosen, by_tier in found])
    if ask.free_quantities:
        give_free(given)
    amounts = list(kept.values())
    for (group, _chosen, by_tier), one in zip(found, given, strict=True):
        amount, missing = amount_of(one.prices, by_tier, one.free)
        if amount is None:
            reason = f"{group.model}: {', '.join(missing)} without a price ({group.channel})"
            return OtherWay(way=way, amount=None, reason=reason)
        amounts.append(amount)
    as_it_was = f"as it was, no {channel} there: {', '.join(kept)}" if kept else None
    return OtherWay(way=way, amount=money.total(amounts), reason=as_it_was)
