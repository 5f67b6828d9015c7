"""Prices over time as steps: a line a meter, from the first day that is known to a month from now."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from estimator.figures import written
from pages.drawing.curve import ROOM, Tick, ticks

_BEFORE = datetime.timedelta(days=45)
_AFTER = datetime.timedelta(days=30)
_MOST_TICKS = 6
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A meter's line: its class, its name, the path, and each amount with its place and words."""

    kind: str
    name: str
    line: str
    dots: tuple[tuple[float, float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A drawing of prices over time; places in percent."""

    lines: tuple[Step, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    asked: float
    target: None = None
    full: None = None


def steps(history: Mapping[str, Sequence[Row]], names: Mapping[str, str], today: datetime.date) -> Steps | None:
    """The drawing; None where no change is dated.

    Args:
        history: rows by meter, the earliest first; a row has its amount and the days between which it holds.
        names: the meters in words.
        today: the day that is marked.
    """
    days = [_day(row[end]) for rows in history.values() for row in rows for end in ("effective_from", "effective_to")]
    known = [day for day in days if day is not None]
    if not known:
        return None
    start, end = min(*known, today) - _BEFORE, max(*known, today) + _AFTER
    top = max(float(row["amount"]) for rows in history.values() for row in rows) * ROOM or 1.0

    def x(day: datetime.date) -> float:
        return round((day - start).days / (end - start).days * 100, 2)

    def y(amount: float) -> float:
        return round(100 - amount / top * 100, 2)

    def step(place: int, meter: str, rows: Sequence[Row]) -> Step:
        path, dots = [], []
        for row in rows:
            left, right = _day(row["effective_from"]) or start, _day(row["effective_to"]) or end
            amount = y(float(row["amount"]))
            path.append(f"M{x(left)},{amount}L{x(right)},{amount}")
            since = "" if row["effective_from"] is None else f" ({written.day(row['effective_from'])})"
            dots.append((x(left), amount, f"{names[meter]}: {row['amount']}{since}"))
        return Step(kind=f"c{place}", name=names[meter], line="".join(path), dots=tuple(dots))

    return Steps(
        lines=tuple(step(place, meter, rows) for place, (meter, rows) in enumerate(history.items())),
        x_ticks=tuple(Tick(at=x(day), words=f"{day:%b %Y}") for day in _months(start, end)),
        y_ticks=tuple(Tick(at=y(at), words=f"{at:,g}") for at in ticks(top)),
        asked=x(today),
    )


def _day(text: str | None) -> datetime.date | None:
    return None if text is None else datetime.date.fromisoformat(text)


def _months(start: datetime.date, end: datetime.date) -> list[datetime.date]:
    """First days of months, few enough to be read."""
    first = (start.year * 12 + start.month, end.year * 12 + end.month)
    every = max(1, -(-(first[1] - first[0]) // _MOST_TICKS))
    return [
        datetime.date((month - 1) // 12, (month - 1) % 12 + 1, 1) for month in range(first[0] + 1, first[1] + 1, every)
    ]
