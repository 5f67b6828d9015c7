"""A seller's price rows as a page shows them: what is in force, what changed when, and what is disputed."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.price_words import meter_words, place_words, unit_words

Row = Mapping[str, Any]
_SINCE_EVER = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """One price in words: what is counted, when and where it holds, and where it was read."""

    meter: str
    where: str
    amount: str
    unit: str
    since: str | None
    until: str | None
    source: str
    url: str
    seen: str | None
    basis: str
    dispute: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A change of a price on a day; None before the first known and after the last."""

    day: str
    meter: str
    where: str
    before: str | None
    after: str | None
    source: str
    url: str
    to_come: bool


def in_force(rows: Iterable[Row], day: datetime.date) -> list[Price]:
    """Prices of a day, the plain ones first."""
    held = [row for row in rows if _holds(row, day.isoformat())]
    return [_price(row) for row in sorted(held, key=_order)]


def changes(rows: Iterable[Row], today: datetime.date) -> list[Changed]:
    """Every change that is dated, the latest first."""
    found: list[Changed] = []
    for same in _by_thing(rows).values():
        ends = {row["effective_to"]: row for row in same if row["effective_to"]}
        starts = {row["effective_from"]: row for row in same if row["effective_from"]}
        for day in sorted({*ends, *starts}):
            before, after = ends.get(day), starts.get(day)
            if before is not None and after is not None and before["amount"] == after["amount"]:
                continue
            row = after or before
            assert row is not None  # noqa: S101  a day is a start or an end
            found.append(
                Changed(
                    day=day,
                    meter=_meter(row),
                    where=place_words(row),
                    before=None if before is None else before["amount"],
                    after=None if after is None else after["amount"],
                    source=row["source"],
                    url=row["source_url"],
                    to_come=day > today.isoformat(),
                )
            )
    return sorted(found, key=lambda one: (one.day, one.meter, one.where), reverse=True)


def plain_history(rows: Iterable[Row], meters: Sequence[str]) -> dict[str, list[Row]]:
    """Rows of the standard channel without tier, place or hours, by meter, the earliest first."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        plain = row["channel"] == "standard" and not row["endpoint_class"] and not row["tier_above_tokens"]
        if plain and row["daily_start"] is None and row["meter"] in meters and row["unit"] == "mtok":
            found.setdefault(row["meter"], []).append(row)
    return {
        meter: sorted(found[meter], key=lambda row: row["effective_from"] or _SINCE_EVER)
        for meter in meters
        if meter in found
    }


def _holds(row: Row, day: str) -> bool:
    return (row["effective_from"] or day) <= day and (row["effective_to"] is None or row["effective_to"] > day)


def _order(row: Row) -> tuple[Any, ...]:
    meters = ("input", "cache_read", "output")
    place = meters.index(row["meter"]) if row["meter"] in meters else len(meters)
    channel = row["channel"] != "standard"
    return (row["endpoint_class"], channel, row["channel"], row["tier_above_tokens"], place, row["meter"])


def _by_thing(rows: Iterable[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """Rows that price one thing, so that one follows the other."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        window = (row["daily_start"], row["daily_end"], row["daily_zone"], row["weekday_mask"])
        key = (row["channel"], row["endpoint_class"], row["meter"], row["unit"], row["tier_above_tokens"], window)
        found.setdefault(key, []).append(row)
    return found


def _price(row: Row) -> Price:
    return Price(
        meter=_meter(row),
        where=place_words(row),
        amount=row["amount"],
        unit=unit_words(row["unit"]),
        since=row["effective_from"],
        until=row["effective_to"],
        source=row["source"],
        url=row["source_url"],
        seen=row["date_seen"],
        basis=row["basis"],
        dispute=row["dispute"],
    )


def _meter(row: Row) -> str:
    return meter_words(row["meter"])
