"""What changes of prices bring with them, in sentences: days without a price, and what stays beside them."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from catalog.models import ApiPrice
from catalog.price_desk import holds_on, period_words, thing_words
from catalog.price_rows import Period, PriceKey, key_of, period_of
from catalog.price_words import amount_words, price_place


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequence:
    """What becomes of one price: the rows of its meter and place before and after, and what follows."""

    thing: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    change: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def consequences(before: Sequence[ApiPrice], after: Sequence[ApiPrice], day: datetime.date) -> list[Consequence]:
    """What differs between two states of a model's prices, and what it means from a day on."""
    old, new = _by_key(before), _by_key(after)
    touched = [key for key in new if _lines(new[key]) != _lines(old.get(key, []))]
    return [_of_key(key, old, new, touched, day) for key in touched]


def _by_key(rows: Iterable[ApiPrice]) -> dict[PriceKey, list[ApiPrice]]:
    found: dict[PriceKey, list[ApiPrice]] = {}
    for row in rows:
        found.setdefault(key_of(row, row.provider.slug), []).append(row)
    return {key: sorted(same, key=_start) for key, same in found.items()}


def _start(row: ApiPrice) -> tuple[datetime.date, int]:
    return (row.effective_from or datetime.date.min, row.pk)


def _lines(rows: Iterable[ApiPrice]) -> tuple[str, ...]:
    return tuple(
        f"{amount_words(row)}, {period_words(row.effective_from, row.effective_to)}"
        for row in rows
        if not row.voided_at
    )


def _of_key(
    key: PriceKey,
    old: dict[PriceKey, list[ApiPrice]],
    new: dict[PriceKey, list[ApiPrice]],
    touched: Sequence[PriceKey],
    day: datetime.date,
) -> Consequence:
    was, now = old.get(key, []), new[key]
    first, then = _on(was, day), _on(now, day)
    return Consequence(
        thing=thing_words(now[0]),
        before=_lines(was),
        after=_lines(now),
        change=_percent(first.amount, then.amount) if first and then else "",
        notes=tuple(_beside(key, old, new, touched, day)),
        warnings=tuple(_without(was, now)),
    )


def _on(rows: Iterable[ApiPrice], day: datetime.date) -> ApiPrice | None:
    return next((row for row in rows if holds_on(row, day)), None)


def _percent(old: Decimal, new: Decimal) -> str:
    if old == new or not old:
        return _("the same amount") if old == new else ""
    return f"{(new - old) / old * 100:+.1f} %".replace(".0 %", " %")


def _without(was: Sequence[ApiPrice], now: Sequence[ApiPrice]) -> list[str]:
    """Days that had a price and have none any more."""
    lost: list[str] = []
    for row in was:
        if row.voided_at:
            continue
        for start, end in _uncovered(row, [other for other in now if not other.voided_at]):
            words = period_words(start, end)
            lost.append(_("No price holds %(days)s: cost requests of these days are refused.") % {"days": words})
    return list(dict.fromkeys(lost))


def _uncovered(row: ApiPrice, rows: Iterable[ApiPrice]) -> list[tuple[datetime.date | None, datetime.date | None]]:
    left: list[Period] = [period_of(row)]
    for other in rows:
        left = [part for piece in left for part in piece.minus(period_of(other))]
    return [(part.start, part.end) for part in left]


def _beside(
    key: PriceKey,
    old: dict[PriceKey, list[ApiPrice]],
    new: dict[PriceKey, list[ApiPrice]],
    touched: Sequence[PriceKey],
    day: datetime.date,
) -> list[str]:
    """Tiers, windows and channels of the same meter that stay as they are."""
    first, then = _on(old.get(key, []), day), _on(new[key], day)
    notes = []
    for other, rows in new.items():
        held = _on(rows, day)
        if other in touched or other.meter != key.meter or held is None:
            continue
        text = _("%(place)s stays at %(amount)s") % {"place": price_place(held), "amount": amount_words(held)}
        if first and then and first.amount and then.amount and first.unit == held.unit:
            shares = {"old": _share(held.amount / first.amount), "new": _share(held.amount / then.amount)}
            text += _(": %(old)s of this price before, %(new)s after") % shares
        notes.append(f"{text}.")
    return notes


def _share(ratio: Decimal) -> str:
    return f"{ratio * 100:.0f} %"
