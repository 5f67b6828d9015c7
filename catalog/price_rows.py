"""A price as a source states it, before it is a row: what it is of, its worth and its period."""

import csv
import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from catalog.models.pricing import STANDARD, ApiPrice, Basis, price_slug, window_key
from estimator.engine.cost.price_list import EVERY_DAY

DATA_DIR = Path(__file__).parent / "data"


class PriceKey(NamedTuple):
    """What a price is of; two prices of one key may not hold on the same day."""

    provider: str
    model: str
    channel: str
    endpoint_class: str
    meter: str
    tier_above_tokens: int
    window_key: str


class Worth(NamedTuple):
    """What a price is."""

    amount: Decimal
    unit: str
    currency: str
    tier_operator: str


class Period(NamedTuple):
    """Half-open days, None for open."""

    start: datetime.date | None
    end: datetime.date | None

    @property
    def empty(self) -> bool:
        """Whether no day belongs to it."""
        return self.start is not None and self.end is not None and self.start >= self.end

    def minus(self, other: "Period") -> list["Period"]:
        """The parts of this period outside the other."""
        left = Period(self.start, _earlier(self.end, other.start)) if other.start is not None else None
        right = Period(_later(self.start, other.end), self.end) if other.end is not None else None
        return [part for part in (left, right) if part is not None and not part.empty]

    def meets(self, other: "Period") -> bool:
        """Whether the two have a day in common."""
        return self.minus(other) != [self]


def _earlier(end: datetime.date | None, other: datetime.date) -> datetime.date:
    return other if end is None or other < end else end


def _later(start: datetime.date | None, other: datetime.date) -> datetime.date:
    return other if start is None or other > start else start


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedPrice:
    """One price of one meter for one period, as a source states it."""

    provider: str
    model: str
    meter: str
    unit: str
    amount: Decimal
    channel: str = STANDARD
    endpoint_class: str = ""
    currency: str = "USD"
    tier_above_tokens: int = 0
    tier_operator: str = "gt"
    daily_start: datetime.time | None = None
    daily_end: datetime.time | None = None
    daily_zone: str = ""
    weekday_mask: int = EVERY_DAY
    effective_from: datetime.date | None = None
    effective_to: datetime.date | None = None
    basis: str = Basis.DOCUMENTED
    source: str = ""
    source_url: str = ""
    date_seen: datetime.date | None = None
    dispute: str = ""

    @property
    def slug(self) -> str:
        """Name of provider and model in requests."""
        return price_slug(self.provider, self.model)

    @property
    def window_key(self) -> str:
        """The window as one string, as the model stores it."""
        return window_key(self.daily_start, self.daily_end, self.daily_zone, self.weekday_mask)

    @property
    def key(self) -> PriceKey:
        """What the price is of."""
        return PriceKey(
            self.provider,
            self.model,
            self.channel,
            self.endpoint_class,
            self.meter,
            self.tier_above_tokens,
            self.window_key,
        )

    @property
    def worth(self) -> Worth:
        """What the price is."""
        return Worth(self.amount, self.unit, self.currency, self.tier_operator)

    @property
    def period(self) -> Period:
        """When it holds."""
        return Period(self.effective_from, self.effective_to)


def key_of(row: ApiPrice, provider: str) -> PriceKey:
    """The key of a stored row; `provider` is the slug, so that no query is made."""
    return PriceKey(
        provider,
        row.model,
        row.channel,
        row.endpoint_class,
        row.meter,
        row.tier_above_tokens,
        row.window_key,
    )


def worth_of(row: ApiPrice) -> Worth:
    """The worth of a stored row."""
    return Worth(row.amount, row.unit, row.currency, row.tier_operator)


def period_of(row: ApiPrice) -> Period:
    """The period of a stored row."""
    return Period(row.effective_from, row.effective_to)


def read_price_csv(path: Path) -> tuple[StatedPrice, ...]:
    """The rows of a price file in our own format (one meter per line; see docs/prices.md).

    Raises:
        ValueError: A line is malformed; it names file and line.
    """
    with path.open(newline="", encoding="utf-8") as lines:
        rows = []
        for number, line in enumerate(csv.DictReader(lines), start=2):
            try:
                rows.append(_stated(line))
            except (KeyError, ValueError, ArithmeticError) as broken:
                raise ValueError(f"{path.name}, line {number}: {broken}") from broken
        return tuple(rows)


def _stated(line: Mapping[str, str]) -> StatedPrice:
    return StatedPrice(
        provider=line["provider"],
        model=line["model"],
        channel=line["channel"],
        endpoint_class=line["endpoint_class"],
        meter=line["meter"],
        unit=line["unit"],
        amount=Decimal(line["amount"]),
        currency=line["currency"],
        tier_above_tokens=int(line["tier_above_tokens"]),
        tier_operator=line["tier_operator"],
        daily_start=datetime.time.fromisoformat(line["daily_start"]) if line["daily_start"] else None,
        daily_end=datetime.time.fromisoformat(line["daily_end"]) if line["daily_end"] else None,
        daily_zone=line["daily_zone"],
        weekday_mask=int(line["weekday_mask"]),
        effective_from=_day(line["effective_from"]),
        effective_to=_day(line["effective_to"]),
        basis=line["basis"],
        source=line["source"],
        source_url=line["source_url"],
        date_seen=_day(line["date_seen"]),
        dispute=line["dispute"],
    )


def _day(text: str) -> datetime.date | None:
    return datetime.date.fromisoformat(text) if text else None
