"""Peak hours on every dated price of a model that has them, from `data/peak_hours.yaml`.

A price list states the hours and what they cost today. This module adds the peak prices of earlier periods, takes out
weekends and holidays, and puts a change at its hour where the list has only its day.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

import yaml

from catalog.price_rows import DATA_DIR, Period, StatedPrice
from estimator.engine.cost.price_list import EVERY_DAY

FILE = "peak_hours.yaml"
MONDAY_TO_FRIDAY = 0b0011111
SATURDAY = 5
MIDNIGHT = datetime.time(0)
DAY = datetime.timedelta(days=1)


class _Hours(NamedTuple):
    start: datetime.time
    end: datetime.time


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakHours:
    """When a seller bills peak hours for some models: days in UTC, `peak_multiple` over the off-peak price."""

    provider: str
    models: tuple[str, ...]
    peak_multiple: Decimal
    first_day: datetime.date
    without_weekends_from: datetime.date
    off_peak_days: tuple[Period, ...]
    change_moments: Mapping[datetime.date, datetime.datetime]
    source: str
    source_url: str
    source_date: datetime.date

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the prices come from that no list states."""
        return {"source": self.source, "source_url": self.source_url, "date_seen": self.source_date}


@cache
def peak_hours() -> tuple[PeakHours, ...]:
    """All peak hours of the data file."""
    entries = yaml.safe_load((DATA_DIR / FILE).read_text(encoding="utf-8"))
    return tuple(
        PeakHours(
            **entry
            | {
                "models": tuple(entry["models"]),
                "peak_multiple": Decimal(entry["peak_multiple"]),
                "off_peak_days": tuple(Period(first, last + DAY) for first, last in entry["off_peak_days"]),
            }
        )
        for entry in entries
    )


def with_peak_hours(stated: Sequence[StatedPrice]) -> list[StatedPrice]:
    """The prices of a list, those of models with peak hours on the days and hours that the seller bills them.

    Args:
        stated: prices as the list states them, of any models.
    """
    rows = list(stated)
    for rule in peak_hours():
        for model in rule.models:
            own = [row for row in rows if (row.provider, row.model) == (rule.provider, model)]
            if any(row.daily_start for row in own):
                rows = [row for row in rows if row not in own] + _of_model(own, rule)
    return rows


def _of_model(rows: list[StatedPrice], rule: PeakHours) -> list[StatedPrice]:
    all_day = [row for row in rows if row.daily_start is None]
    listed = [row for row in rows if row.daily_start is not None]
    hours = sorted({_Hours(row.daily_start, row.daily_end) for row in listed if row.daily_start and row.daily_end})
    peak = [*listed, *_not_listed(all_day, listed, hours, rule)]
    return [
        *all_day,
        *(each for row in all_day for each in _hours_of_change(row, hours, rule)),
        *(each for row in peak for each in _on_days(_changed_after_hours(row, rule), rule)),
    ]


def _not_listed(
    all_day: list[StatedPrice], listed: list[StatedPrice], hours: list[_Hours], rule: PeakHours
) -> Iterator[StatedPrice]:
    """Peak prices of the days for which the list has an all-day price and no peak price."""
    before = Period(None, rule.first_day)
    for row in all_day:
        for window in hours:
            peak = replace(
                row,
                amount=row.amount * rule.peak_multiple,
                daily_start=window.start,
                daily_end=window.end,
                daily_zone="UTC",
                weekday_mask=MONDAY_TO_FRIDAY,
                **rule.provenance,
            )
            held = [other.period for other in listed if replace(other, weekday_mask=MONDAY_TO_FRIDAY).key == peak.key]
            for days in _without([row.period], [before, *held]):
                yield replace(peak, effective_from=days.start, effective_to=days.end)


def _on_days(row: StatedPrice, rule: PeakHours) -> Iterator[StatedPrice]:
    """A peak price on Mondays to Fridays without holidays, and on the weekends that had peak hours."""
    for days in _without([row.period], rule.off_peak_days):
        yield replace(row, weekday_mask=MONDAY_TO_FRIDAY, effective_from=days.start, effective_to=days.end)
    if row.effective_from is None:
        return  # since when it holds is not known: nothing is said of a weekend long ago
    day = rule.first_day
    while day < rule.without_weekends_from:
        if day.weekday() >= SATURDAY and row.period.meets(Period(day, day + DAY)):
            yield replace(row, weekday_mask=1 << day.weekday(), effective_from=day, effective_to=day + DAY)
        day += DAY


def _changed_after_hours(row: StatedPrice, rule: PeakHours) -> StatedPrice:
    """A peak price whose hours were over before the moment of a change changes a day later."""
    for day, moment in rule.change_moments.items():
        if moment.date() == day and row.daily_end is not None and row.daily_end <= moment.time():
            if row.effective_from == day:
                row = replace(row, effective_from=day + DAY)
            if row.effective_to == day:
                row = replace(row, effective_to=day + DAY)
    return row


def _hours_of_change(row: StatedPrice, peak: list[_Hours], rule: PeakHours) -> Iterator[StatedPrice]:
    """An off-peak price in the hours that the list leaves to its neighbour, on the day of a change."""
    for day, moment in rule.change_moments.items():
        if moment.date() < day and row.effective_from == day:
            yield _one_day(row, moment.date(), _Hours(moment.time(), MIDNIGHT), rule)
        if moment.date() == day and row.effective_to == day:
            begin = MIDNIGHT
            for hours in (*peak, _Hours(moment.time(), moment.time())):
                if begin < min(hours.start, moment.time()):
                    yield _one_day(row, day, _Hours(begin, min(hours.start, moment.time())), rule)
                begin = max(begin, hours.end)


def _one_day(row: StatedPrice, day: datetime.date, hours: _Hours, rule: PeakHours) -> StatedPrice:
    return replace(
        row,
        daily_start=hours.start,
        daily_end=hours.end,
        daily_zone="UTC",
        weekday_mask=EVERY_DAY,
        effective_from=day,
        effective_to=day + DAY,
        **rule.provenance,
    )


def _without(parts: list[Period], taken: Sequence[Period]) -> list[Period]:
    for other in taken:
        parts = [rest for part in parts for rest in part.minus(other)]
    return parts
