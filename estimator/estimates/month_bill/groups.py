"""Rows of a month that are billed alike: their prices, and their counts by tier and meter."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.engine.cost import money
from estimator.engine.cost.api import billing_row
from estimator.engine.cost.meters import meter
from estimator.engine.cost.price_list import BASE_TIER, InForce, Tier
from estimator.engine.errors import InvalidInputError, MissingFigureError
from estimator.estimates.month_bill.free import Counted
from estimator.estimates.month_bill.read import Usage
from estimator.estimates.month_bill.row import Sent
from estimator.resolvers.facts import Facts, UnknownSlugError
from estimator.resolvers.price_book import PriceChoice, price_book
from estimator.resolvers.prices import ResolvedPrice, price_provenance, resolve_price

Sums = dict[str, Decimal]
Columns = Mapping[str, NDArray[np.int64]]


class Chosen(NamedTuple):
    """Prices of a group and their seller; no prices with the reason."""

    prices: InForce | None
    seller: str
    reason: str
    resolved: ResolvedPrice | None = None


@dataclass(slots=True)
class Group:
    """Rows of one model, moment, channel and place: requests, sums by tier, prices, and what they come to."""

    sent: Sent
    requests: int
    chosen: Chosen
    sums: Mapping[Tier, Sums] = field(default_factory=dict)
    amount: Decimal | None = None
    reason: str = ""

    @property
    def model(self) -> str:
        """The model as the file names it."""
        return self.sent.model

    @property
    def day(self) -> str:
        """The day, UTC."""
        return self.sent.day

    @property
    def channel(self) -> str:
        """The channel."""
        return self.sent.channel


def by_day(usage: Usage, facts: Facts) -> Usage:
    """The same month, quarters of an hour kept apart only where prices have hours: fewer groups, the same bill."""
    places: dict[Sent, int] = {}
    hours: dict[str, bool] = {}
    codes = np.array([places.setdefault(plainest(sent, facts, hours), len(places)) for sent in usage.groups] or [0])
    return replace(usage, groups=tuple(places), codes=codes[usage.codes])


def plainest(sent: Sent, facts: Facts, hours: dict[str, bool]) -> Sent:
    """How a row was sent as far as its prices ask; `hours` keeps which models have prices by the hour."""
    if sent.model not in hours:
        try:
            hours[sent.model] = price_book(facts, _slug(sent.model, facts)).has_hours
        except UnknownSlugError:
            hours[sent.model] = False
    return sent if hours[sent.model] else sent._replace(moment=sent.day)


def choose(sent: Sent, facts: Facts) -> Chosen:
    """The prices of rows sent so; a model may be named as its provider's answers name it."""
    try:
        slug = _slug(sent.model, facts)
        book = price_book(facts, slug)
        moment = sent.moment if book.has_hours else sent.day
        choice = PriceChoice(
            price=slug,
            moment=_moment(moment),
            channel=sent.channel,
            endpoint_class=sent.place,
            search_context=sent.search_context,
        )
        resolved = resolve_price(choice, facts)
        return Chosen(resolved.prices, book.facts["provider"], "", resolved)
    except UnknownSlugError:
        return Chosen(None, "", f"there is no price {sent.model!r}{_choices(sent.model, facts)}")
    except (InvalidInputError, MissingFigureError) as missing:
        return Chosen(None, "", str(missing))
    except ValueError:
        return Chosen(None, "", f"{sent.moment!r} is no day")


def _slug(name: str, facts: Facts) -> str:
    """The slug of a price, or the one that another spelling means."""
    found = () if name in facts.slugs("price") else facts.spelled("price", name)
    return found[0] if len(found) == 1 else name


def _choices(name: str, facts: Facts) -> str:
    several = facts.spelled("price", name)
    return f": it may mean {', '.join(several)}" if several else ""


def _moment(text: str) -> datetime.date | datetime.datetime:
    if len(text) == len("2026-11-30"):
        return datetime.date.fromisoformat(text)
    return datetime.datetime.fromisoformat(text)


def groups(usage: Usage, counts: Columns, facts: Facts) -> list[Group]:
    """The rows by how they were sent, with their sums."""
    found = []
    for sent, rows in zip(usage.groups, rows_of_groups(usage), strict=True):
        chosen = choose(sent, facts)
        group = Group(sent, int(usage.requests[rows].sum()), chosen, reason=chosen.reason)
        if chosen.prices is not None:
            group.sums = sums(usage, counts, rows, chosen.prices)
        found.append(group)
    return found


def rows_of_groups(usage: Usage) -> Iterator[NDArray[np.int64]]:
    """The rows of each group, in one pass over the file."""
    order = np.argsort(usage.codes, kind="stable")
    ends = np.searchsorted(usage.codes[order], np.arange(len(usage.groups)), side="right")
    begin = 0
    for end in ends:
        yield order[begin:end]
        begin = int(end)


def sums(usage: Usage, counts: Columns, here: NDArray[np.int64], prices: InForce) -> dict[Tier, Sums]:
    """Quantities by tier and meter, exact: each row's counts times its requests."""
    times = usage.requests[here]
    rows = reads_by_mode(prices, {name: column[here] for name, column in counts.items()})
    rows = with_fee(prices, rows, len(times))
    zero = np.zeros(len(times), dtype=np.int64)
    prompt = sum((column for name, column in rows.items() if meter(name).is_prompt), start=zero)
    left = np.ones(len(times), dtype=bool)
    found: dict[Tier, Sums] = {}
    for tier in sorted(prices.tiers, reverse=True):
        here_too = left & holds(tier, prompt)
        if not here_too.any():
            continue
        left &= ~here_too
        found[tier] = {
            name: total for name, column in rows.items() if (total := _exact_dot(column[here_too], times[here_too]))
        }
    return found


def reads_by_mode(prices: InForce, rows: dict[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
    """Reads of a row that also wrote are those of explicit marks, where the seller prices them apart (`api_cost`)."""
    read, explicit = "cache_read", "cache_read_explicit"
    writes = [column for name, column in rows.items() if name.startswith("cache_write")]
    if not writes or read not in rows or prices.row(BASE_TIER, explicit) is None:
        return rows
    moved = np.where(np.any(np.stack(writes) > 0, axis=0), rows[read], 0)
    return rows | {read: rows[read] - moved, explicit: rows.get(explicit, np.zeros_like(moved)) + moved}


def with_fee(prices: InForce, rows: dict[str, NDArray[np.int64]], size: int) -> dict[str, NDArray[np.int64]]:
    """The counts with one request for each row that does not count its own, where requests have a price."""
    if not any("request" in table for table in prices.tiers.values()):
        return rows
    given = rows.get("request", np.zeros(size, dtype=np.int64))
    return rows | {"request": np.where(given > 0, given, 1)}


def holds(tier: Tier, prompt: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows belong to a tier or a higher one, by their prompts (tokens)."""
    if tier == BASE_TIER:
        return np.ones(len(prompt), dtype=bool)
    return np.asarray(prompt >= tier.above_tokens if tier.operator == "ge" else prompt > tier.above_tokens)


def _exact_dot(counts: NDArray[np.int64], times: NDArray[np.int64]) -> Decimal:
    """Σ counts · times without overflow: in 64 bits where the largest sum fits, else number by number."""
    if not len(counts):
        return Decimal(0)
    if int(counts.max()) * int(times.max()) * len(counts) < 2**63:
        return Decimal(int((counts * times).sum()))
    return Decimal(sum(int(count) * int(time) for count, time in zip(counts, times, strict=True)))


def counted(found: Sequence[tuple[Sent, Chosen, Mapping[Tier, Sums]]]) -> list[Counted]:
    """The counts of groups with prices, by meter over all tiers, for what is free of them."""
    listed = []
    for sent, chosen, by_tier in found:
        if chosen.prices is not None:
            whole: Sums = {}
            for quantities in by_tier.values():
                for name, quantity in quantities.items():
                    whole[name] = whole.get(name, Decimal(0)) + quantity
            listed.append(Counted(seller=chosen.seller, day=sent.day, prices=chosen.prices, counts=whole))
    return listed


def amount_of(
    prices: InForce, by_tier: Mapping[Tier, Sums], free: Mapping[str, Decimal] | None = None
) -> tuple[Decimal | None, tuple[str, ...]]:
    """The bill of quantities by tier and meter, and the meters without a price (the amount is None then).

    Args:
        prices: Prices in force.
        by_tier: Quantities.
        free: Of each meter, what is not billed.
    """
    amounts, missing, left = [], [], dict(free or {})
    for tier, quantities in by_tier.items():
        for name, quantity in quantities.items():
            taken = min(left.get(name, Decimal(0)), quantity)
            left[name] = left.get(name, Decimal(0)) - taken
            row = billing_row(prices, tier, meter(name))
            if row is None:
                missing.append(name)
            else:
                amounts.append(money.priced(quantity - taken, row.amount, row.unit_size))
    return (None if missing else money.total(amounts)), tuple(dict.fromkeys(missing))


def warnings_of(found: Sequence[Group], facts: Facts) -> tuple[str, ...]:
    """What is to be known of the prices, once for each model: its life, and amounts that other lists dispute."""
    said: dict[str, None] = {}
    seen: set[tuple[int, str]] = set()
    for group in found:
        resolved, prices = group.chosen.resolved, group.chosen.prices
        if resolved is None or prices is None or (key := (id(resolved), group.model)) in seen:
            continue
        seen.add(key)
        used = {
            row.reference: name
            for tier, quantities in group.sums.items()
            for name in quantities
            if (row := billing_row(prices, tier, meter(name))) is not None and row.reference
        }
        lines = (*resolved.warnings, *price_provenance(resolved, facts, used).warnings)
        said |= dict.fromkeys(f"{group.model}: {line}" for line in lines)
    return tuple(said)
