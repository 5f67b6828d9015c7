"""The bill of a month of usage: exact decimals from sums per model, day, channel and tier."""

import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from estimator.engine.cost import money
from estimator.engine.cost.api import UsageConvention, billing_row
from estimator.engine.cost.meters import inclusion_order, meter, meter_of_usage
from estimator.engine.cost.price_list import STANDARD, InForce, Tier
from estimator.engine.errors import EngineError, InvalidInputError, MissingFigureError
from estimator.estimates.month_bill.read import BadRow, Usage
from estimator.resolvers.facts import Facts, UnknownSlugError
from estimator.resolvers.price_book import PriceChoice
from estimator.resolvers.prices import resolve_price

BATCH = "batch"
_UNCACHED = "input"
Sums = dict[str, Decimal]
Mask = NDArray[np.bool_]


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
    """The bill, by model, day and channel, what other ways would have cost, and the rows that were not billed."""

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
    bad: tuple[BadRow, ...]
    bad_rows: int


@dataclass(slots=True)
class _Priced:
    """A group's requests, sums by tier, prices, and what they come to."""

    model: str
    day: str
    channel: str
    requests: int
    prices: InForce | None
    sums: Mapping[Tier, Sums] = field(default_factory=dict)
    amount: Decimal | None = None
    reason: str = ""


def month_bill(
    usage: Usage,
    facts: Facts,
    *,
    convention: UsageConvention = UsageConvention.DISJOINT,
    alternatives: Sequence[str] = (),
    own: OwnMachines | None = None,
) -> MonthBill:
    """Bill a month of usage.

    The tier of each row is chosen by its own prompt; within a model, day, channel and tier prices are linear, so that
    sums of whole counts are billed exactly. Every amount is Σ quantity · price / unit.

    Args:
        usage: Rows read from a file.
        facts: Prices of the catalog.
        convention: How the counts of a row relate to one another.
        alternatives: Names of prices whose bill for the same usage is wanted too.
        own: One's own machines, for the same usage.

    Raises:
        InvalidInputError: With inclusive counts a whole is less than its parts, or prices in several currencies.
    """
    counts = _disjoint(usage, convention)
    groups = [_group(usage, counts, code, facts) for code in range(len(usage.groups))]
    for group in groups:
        _bill(group)
    currencies = sorted({group.prices.currency for group in groups if group.prices is not None})
    if len(currencies) > 1:
        raise InvalidInputError(f"prices are in {', '.join(currencies)}: bill each currency on its own", field="model")
    priced = money.total([group.amount for group in groups if group.amount is not None])
    whole = all(group.amount is not None for group in groups)
    return MonthBill(
        currency=currencies[0] if currencies else None,
        rows=len(usage.codes),
        requests=int(usage.requests.sum()),
        total=priced if whole else None,
        priced_total=priced,
        by_model=_lines(groups, "model"),
        by_day=_lines(groups, "day"),
        by_channel=_lines(groups, "channel"),
        other_ways=_other_ways(usage, counts, groups, facts, alternatives, own),
        unpriced=tuple(dict.fromkeys(f"{group.model}: {group.reason}" for group in groups if group.reason)),
        bad=usage.bad,
        bad_rows=usage.bad_rows,
    )


def _disjoint(usage: Usage, convention: UsageConvention) -> dict[str, NDArray[np.int64]]:
    counts = {meter_of_usage(key).name: column for key, column in usage.counts.items()}
    if convention is UsageConvention.DISJOINT:
        return counts
    leaves: dict[str, NDArray[np.int64]] = {}
    for name, inside in inclusion_order(counts):
        rest = counts[name] - sum((leaves[other] for other in inside), start=np.zeros(1, dtype=np.int64))
        if np.any(rest < 0):
            row = int(np.argmax(rest < 0)) + 1
            raise InvalidInputError(f"{meter(name).usage_key} of billed row {row} is less than its parts", field=name)
        leaves[name] = rest
    return leaves


def _choose(model: str, day: str, channel: str, place: str, facts: Facts) -> tuple[InForce | None, str]:
    try:
        choice = PriceChoice(
            price=model, moment=datetime.date.fromisoformat(day), channel=channel, endpoint_class=place
        )
        return resolve_price(choice, facts).prices, ""
    except UnknownSlugError:
        return None, f"there is no price {model!r}"
    except (InvalidInputError, MissingFigureError) as missing:
        return None, str(missing)
    except ValueError:
        return None, f"{day!r} is no day"


def _group(usage: Usage, counts: Mapping[str, NDArray[np.int64]], code: int, facts: Facts) -> _Priced:
    model, day, channel, place = usage.groups[code]
    prices, reason = _choose(model, day, channel, place, facts)
    here = usage.codes == code
    group = _Priced(
        model=model, day=day, channel=channel, requests=int(usage.requests[here].sum()), prices=prices, reason=reason
    )
    if prices is not None:
        group.sums = _sums(usage, counts, here, prices)
    return group


def _sums(usage: Usage, counts: Mapping[str, NDArray[np.int64]], here: Mask, prices: InForce) -> dict[Tier, Sums]:
    """Quantities by tier and meter, exact: each row's counts times its requests."""
    times = usage.requests[here]
    rows = {name: column[here] for name, column in counts.items()}
    zero = np.zeros(len(times), dtype=np.int64)
    prompt = sum((column for name, column in rows.items() if meter(name).is_prompt), start=zero)
    left = np.ones(len(times), dtype=bool)
    found: dict[Tier, Sums] = {}
    for tier in sorted(prices.tiers, reverse=True):
        holds = left & np.array(_holds(tier, prompt))
        if not holds.any():
            continue
        left &= ~holds
        found[tier] = {
            name: total for name, column in rows.items() if (total := _exact_dot(column[holds], times[holds]))
        }
        if "request" not in rows and prices.row(tier, "request") is not None:
            found[tier]["request"] = Decimal(int(times[holds].sum()))
    return found


def _holds(tier: Tier, prompt: NDArray[np.int64]) -> Mask:
    if tier.above_tokens == 0:
        return np.ones(len(prompt), dtype=bool)
    return prompt >= tier.above_tokens if tier.operator == "ge" else prompt > tier.above_tokens


def _exact_dot(counts: NDArray[np.int64], times: NDArray[np.int64]) -> Decimal:
    """Σ counts · times without overflow: in 64 bits where the largest sum fits, else number by number."""
    if not len(counts):
        return Decimal(0)
    if int(counts.max()) * int(times.max()) * len(counts) < 2**63:
        return Decimal(int((counts * times).sum()))
    return Decimal(sum(int(count) * int(time) for count, time in zip(counts, times, strict=True)))


def _bill(group: _Priced) -> None:
    if group.prices is None:
        return
    group.amount, missing = amount_of(group.prices, group.sums)
    if missing:
        group.reason = f"{', '.join(missing)} without a price"


def amount_of(prices: InForce, sums: Mapping[Tier, Sums]) -> tuple[Decimal | None, tuple[str, ...]]:
    """The bill of quantities by tier and meter, and the meters without a price (the amount is None then)."""
    amounts, missing = [], []
    for tier, quantities in sums.items():
        for name, quantity in quantities.items():
            row = billing_row(prices, tier, meter(name))
            if row is None:
                missing.append(name)
            else:
                amounts.append(money.priced(quantity, row.amount, row.unit_size))
    return (None if missing else money.total(amounts)), tuple(dict.fromkeys(missing))


def _lines(groups: Sequence[_Priced], name: str) -> tuple[Line, ...]:
    requests: dict[str, int] = defaultdict(int)
    amounts: dict[str, list[Decimal | None]] = defaultdict(list)
    for group in groups:
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


def _other_ways(
    usage: Usage,
    counts: Mapping[str, NDArray[np.int64]],
    groups: Sequence[_Priced],
    facts: Facts,
    alternatives: Sequence[str],
    own: OwnMachines | None,
) -> tuple[OtherWay, ...]:
    ways = [_without_cache(groups), _another(usage, counts, groups, facts, channel=BATCH)]
    ways += [_another(usage, counts, groups, facts, price=price) for price in alternatives]
    if own is not None:
        made = sum(
            (quantity for group in groups for sums in group.sums.values() for name, quantity in sums.items()
             if name in ("output", "reasoning")),
            start=Decimal(0),
        )  # fmt: skip
        replicas = max(-(-money.to_physics(made) // own.output_tokens_of_replica), 1.0)
        ways.append(OtherWay(way="own_gpus", amount=money.EXACT.multiply(own.cost_of_replica, Decimal(int(replicas)))))
    return tuple(ways)


def _without_cache(groups: Sequence[_Priced]) -> OtherWay:
    """Everything read from a cache or written to one billed as plain input."""
    amounts: list[Decimal] = []
    for group in groups:
        if group.prices is None:
            return OtherWay(way="without_cache", amount=None, reason=group.reason)
        plain: dict[Tier, Sums] = {}
        for tier, sums in group.sums.items():
            merged: Sums = defaultdict(Decimal)
            for name, quantity in sums.items():
                merged[_UNCACHED if name.startswith(("cache_read", "cache_write")) else name] += quantity
            plain[tier] = merged
        amount, missing = amount_of(group.prices, plain)
        if amount is None:
            return OtherWay(way="without_cache", amount=None, reason=f"{group.model}: {', '.join(missing)} unpriced")
        amounts.append(amount)
    return OtherWay(way="without_cache", amount=money.total(amounts))


def _another(
    usage: Usage,
    counts: Mapping[str, NDArray[np.int64]],
    groups: Sequence[_Priced],
    facts: Facts,
    *,
    channel: str | None = None,
    price: str | None = None,
) -> OtherWay:
    """The same usage over another channel, or at the prices of another model; a seller without it keeps its own."""
    way = channel or str(price)
    amounts: list[Decimal] = []
    kept: list[str] = []
    for code, (model, day, sent, place) in enumerate(usage.groups):
        try:
            prices, reason = _choose(price or model, day, channel or STANDARD, "" if price else place, facts)
        except EngineError as wrong:
            prices, reason = None, str(wrong)
        if prices is None and channel is not None and groups[code].amount is not None:
            kept.append(model)
            amounts.append(groups[code].amount or Decimal(0))
            continue
        if prices is None:
            return OtherWay(way=way, amount=None, reason=reason)
        amount, missing = amount_of(prices, _sums(usage, counts, usage.codes == code, prices))
        if amount is None:
            return OtherWay(way=way, amount=None, reason=f"{model}: {', '.join(missing)} without a price ({sent})")
        amounts.append(amount)
    as_it_was = f"as it was, no {channel} there: {', '.join(dict.fromkeys(kept))}" if kept else None
    return OtherWay(way=way, amount=money.total(amounts), reason=as_it_was)
