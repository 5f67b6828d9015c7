"""The price desk of a seller's model: its prices of today, of later and of before, by where they hold."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from catalog.models import ApiPrice
from catalog.price_rows import PriceKey, key_of
from catalog.price_words import meter_words, price_place, unit_words

# A price that nobody read for longer is to be looked at.
STALE_DAYS = 90
_METERS = ("input", "output", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One row as the desk shows it: `id` names it in the form."""

    id: int
    amount: str
    period: str
    source: str
    url: str
    seen: str
    is_stale: bool
    note: str
    disputes: tuple[str, ...]
    is_voided: bool
    is_over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One meter at one place: the row in force, those to come, and those that were."""

    meter: str
    unit: str
    currency: str
    now: Said | None
    coming: tuple[Said, ...]
    past: tuple[Said, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A channel, class, tier and window with its meters."""

    name: str
    lines: tuple[Line, ...]


def desk(rows: Iterable[ApiPrice], today: datetime.date) -> list[Place]:
    """The desk of a model's rows, the standard place first; meters in the order in which people name them."""
    found: dict[str, dict[PriceKey, list[ApiPrice]]] = {}
    for row in sorted(rows, key=_place_order):
        found.setdefault(price_place(row), {}).setdefault(key_of(row, row.provider.slug), []).append(row)
    return [
        Place(name=name, lines=tuple(_line(same, today) for same in sorted(keys.values(), key=_meter_order)))
        for name, keys in found.items()
    ]


def holds_on(row: ApiPrice, day: datetime.date) -> bool:
    """Whether a price bills requests of a day."""
    begun = row.effective_from is None or row.effective_from <= day
    return row.voided_at is None and begun and (row.effective_to is None or row.effective_to > day)


def _place_order(row: ApiPrice) -> tuple[object, ...]:
    return (
        row.endpoint_class, row.channel != "standard", row.channel, row.window_key, row.tier_above_tokens,
        row.effective_from or datetime.date.min, row.pk,
    )  # fmt: skip


def _meter_order(same: Sequence[ApiPrice]) -> tuple[int, str]:
    meter = same[0].meter
    return (_METERS.index(meter) if meter in _METERS else len(_METERS), meter)


def _line(same: Sequence[ApiPrice], today: datetime.date) -> Line:
    said = [(row, _said(row, today)) for row in same]
    last = same[-1]
    coming = [
        shown
        for row, shown in said
        if row.voided_at is None and row.effective_from is not None and row.effective_from > today
    ]
    return Line(
        meter=meter_words(last.meter),
        unit=unit_words(last.unit),
        currency=last.currency,
        now=next((shown for row, shown in said if holds_on(row, today)), None),
        coming=tuple(coming),
        past=tuple(shown for row, shown in said if shown.is_over or shown.is_voided),
    )


def _said(row: ApiPrice, today: datetime.date) -> Said:
    age = None if row.date_seen is None else (today - row.date_seen).days
    return Said(
        id=row.pk,
        amount=f"{row.amount.normalize():f}",
        period=period_words(row.effective_from, row.effective_to),
        source=row.source,
        url=row.source_url,
        seen=row.date_seen.isoformat() if row.date_seen else "",
        is_stale=age is not None and age > STALE_DAYS,
        note=_("voided: %(why)s") % {"why": row.void_reason} if row.voided_at else "",
        disputes=tuple(
            _("%(list)s has %(amount)s per %(unit)s, read on %(day)s")
            % {
                "list": each["list"], "amount": each["amount"], "unit": unit_words(each["unit"]),
                "day": each["read_on"],
            }
            for each in row.disputes
        )
        + ((row.dispute,) if row.dispute else ()),
        is_voided=row.voided_at is not None,
        is_over=row.voided_at is None and row.effective_to is not None and row.effective_to <= today,
    )  # fmt: skip


def period_words(start: datetime.date | None, end: datetime.date | None) -> str:
    """Days of a price in words."""
    if start and end:
        return _("from %(start)s to %(end)s") % {"start": start, "end": end}
    if start:
        return _("since %(start)s") % {"start": start}
    return _("until %(end)s, start not known") % {"end": end} if end else _("start not known")


def thing_words(row: ApiPrice) -> str:
    """What a price is of: Input, Batch."""
    return f"{meter_words(row.meter)}, {price_place(row)}"
