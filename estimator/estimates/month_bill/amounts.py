"""What each row of a month costs: exact decimals, those of the cost endpoint for the same usage."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from estimator.engine.cost import money
from estimator.engine.cost.api import billing_row
from estimator.engine.cost.meters import meter
from estimator.engine.cost.price_list import InForce, Tier
from estimator.estimates.month_bill.groups import Chosen, Columns, choose, holds, plainest, reads_by_mode, with_fee
from estimator.estimates.month_bill.row import Sent
from estimator.estimates.month_bill.shapes import Numbers
from estimator.resolvers.facts import Facts

_MOST = 2**63


class Amount(NamedTuple):
    """The cost of a row as an exact decimal in text; None with the reason."""

    total: str | None
    reason: str = ""


class Tariff(NamedTuple):
    """Prices that rows share, and where they are from."""

    chosen: Chosen
    slug: str
    currency: str


class Amounts:
    """The cost of rows, block by block; keeps the prices of how they were sent."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._hours: dict[str, bool] = {}
        self._by_sent: dict[Sent, int] = {}
        self._by_prices: dict[object, int] = {}
        self.tariffs: list[Tariff] = []

    def codes(self, sent: Sequence[Sent]) -> Numbers:
        """The places in `tariffs` of the prices of ways in which rows were sent."""
        return np.array([self._code(one) for one in sent] or [0], dtype=np.int64)

    def _code(self, sent: Sent) -> int:
        sent = plainest(sent, self._facts, self._hours)
        code = self._by_sent.get(sent)
        if code is None:
            chosen = choose(sent, self._facts)
            key = _content(chosen)
            code = self._by_prices.setdefault(key, len(self.tariffs))
            if code == len(self.tariffs):
                self.tariffs.append(_tariff(chosen))
            self._by_sent[sent] = code
        return code

    def of(self, tariffs: Numbers, requests: Numbers, counts: Columns) -> list[Amount]:
        """The cost of each row.

        Args:
            tariffs: the place of each row's prices in `tariffs`.
            requests: how many requests it stands for.
            counts: its disjoint counts by meter.
        """
        found: list[Amount] = [Amount(None)] * len(tariffs)
        for code in np.unique(tariffs).tolist():
            here = np.flatnonzero(tariffs == code)
            chosen = self.tariffs[code].chosen
            if chosen.prices is None:
                amounts = [Amount(None, chosen.reason)] * len(here)
            else:
                rows = {name: column[here] for name, column in counts.items() if column[here].any()}
                amounts = _amounts(chosen.prices, rows, requests[here])
            for place, amount in zip(here.tolist(), amounts, strict=True):
                found[place] = amount
        return found


def _content(chosen: Chosen) -> object:
    """What makes two choices bill alike, whatever their days."""
    prices = chosen.prices
    if prices is None:
        return chosen.reason
    rows = ((tier, name, row.amount, row.unit) for tier, table in prices.tiers.items() for name, row in table.items())
    slug = chosen.resolved.slug if chosen.resolved else ""
    return (slug, prices.currency, prices.channel, frozenset(rows), frozenset(prices.alike.items()))


def _tariff(chosen: Chosen) -> Tariff:
    slug = (chosen.resolved.slug if chosen.resolved else None) or ""
    return Tariff(chosen, slug, "" if chosen.prices is None else chosen.prices.currency)


def _amounts(prices: InForce, counts: dict[str, Numbers], requests: Numbers) -> list[Amount]:
    rows = with_fee(prices, reads_by_mode(prices, counts), len(requests))
    zero = np.zeros(len(requests), dtype=np.int64)
    prompt = sum((column for name, column in rows.items() if meter(name).is_prompt), start=zero)
    left = np.ones(len(requests), dtype=np.bool_)
    found: list[Amount] = [Amount("0")] * len(requests)
    for tier in sorted(prices.tiers, reverse=True):
        here = np.flatnonzero(left & holds(tier, prompt))
        left[here] = False
        if not len(here):
            continue
        used = {name: column[here] for name, column in rows.items() if column[here].any()}
        for place, amount in zip(here.tolist(), _in_tier(prices, tier, used, requests[here]), strict=True):
            found[place] = amount
    return found


def _in_tier(prices: InForce, tier: Tier, used: Mapping[str, Numbers], requests: Numbers) -> list[Amount]:
    unit_prices: dict[str, Fraction] = {}
    missing: dict[str, Numbers] = {}
    for name, column in used.items():
        row = billing_row(prices, tier, meter(name))
        if row is None:
            missing[name] = column
        else:
            unit_prices[name] = Fraction(row.amount) / row.unit_size
    texts = _texts({name: used[name] for name in unit_prices}, unit_prices, requests)
    if not missing:
        return [Amount(text) for text in texts]
    return [
        Amount(None, f"{', '.join(lacking)} without a price")
        if (lacking := [name for name, column in missing.items() if column[place] and requests[place]])
        else Amount(text)
        for place, text in enumerate(texts)
    ]


def _texts(used: Mapping[str, Numbers], unit_prices: Mapping[str, Fraction], requests: Numbers) -> list[str]:
    """Σ count · price · requests of each row, exact."""
    decimals = [_digits(price) for price in unit_prices.values()]
    ending = [one for one in decimals if one is not None]
    if len(ending) < len(decimals):
        return [_by_decimals(used, unit_prices, requests, place) for place in range(len(requests))]
    digits = max(ending, default=0)
    scale = 10**digits
    whole = {name: int(price * scale) for name, price in unit_prices.items()}
    most = sum(int(used[name].max()) * price for name, price in whole.items()) * int(requests.max(initial=1))
    if most < _MOST:
        sums = np.zeros(len(requests), dtype=np.int64)
        for name, price in whole.items():
            sums += used[name] * price
        amounts = (sums * requests).tolist()
    else:
        columns = [(used[name].tolist(), price) for name, price in whole.items()]
        times = requests.tolist()
        amounts = [sum(column[at] * price for column, price in columns) * times[at] for at in range(len(times))]
    return [_text(amount, digits, scale) for amount in amounts]


def _digits(price: Fraction) -> int | None:
    """Decimals of a price; None where they do not end, as of a price by the hour for a second."""
    rest, twos, fives = price.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def _text(amount: int, digits: int, scale: int) -> str:
    whole, rest = divmod(amount, scale)
    return f"{whole}.{rest:0{digits}d}".rstrip("0") if rest else str(whole)


def _by_decimals(
    used: Mapping[str, Numbers], unit_prices: Mapping[str, Fraction], requests: Numbers, place: int
) -> str:
    amounts = []
    for name, price in unit_prices.items():
        quantity = Decimal(int(used[name][place]) * int(requests[place]))
        amounts.append(money.priced(quantity, Decimal(price.numerator), price.denominator))
    return money.money_text(money.total(amounts))
