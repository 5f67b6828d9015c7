"""Remembers what people took out of the catalog, and tells loaders to leave it out."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.utils.translation import gettext as _

from catalog.models import ApiPrice, CatalogRecord, CatalogRow, Checkpoint, PriceList, Provider, Withdrawal
from catalog.models.withdrawal import Taken
from catalog.price_rows import Period, PriceKey, key_of, period_of


def row_key(row: CatalogRecord) -> str:
    """The name under which a loader would bring a row again."""
    if isinstance(row, ApiPrice):
        return price_key(key_of(row, row.provider.slug))
    if isinstance(row, Checkpoint):
        return checkpoint_key(row.model.slug, row.precision, row.source)
    if isinstance(row, CatalogRow):
        return row.slug
    raise TypeError(f"{type(row).__name__} has no key for loaders")


def price_key(key: PriceKey) -> str:
    """A price's key as one text."""
    return json.dumps(list(key), ensure_ascii=False)


def checkpoint_key(model: str, precision: str, source: str) -> str:
    """A checkpoint's key as one text."""
    return json.dumps([model, precision, source], ensure_ascii=False)


def withdraw(
    row: CatalogRecord,
    taken: Taken,
    *,
    user: Any = None,
    reason: str = "",
    key: str | None = None,
    period: Period | None = None,
) -> Withdrawal:
    """Record that a person took `row` out; call it in the transaction of the change.

    Args:
        row: the row, still in the database.
        taken: what the person did.
        user: who; None where it is not known.
        reason: why.
        key: the key loaders would use, where it is no longer the row's own (after a new slug).
        period: days of a price it is about; the row's own when not given.
    """
    if period is None and isinstance(row, ApiPrice):
        period = period_of(row)
    start, end = period or (None, None)
    return Withdrawal.objects.create(
        kind=type(row)._meta.model_name or "",
        key=row_key(row) if key is None else key,
        taken=taken,
        period_from=start,
        period_to=end,
        by=name_of(user),
        reason=reason,
    )


def give_back(row: ApiPrice, taken: Taken) -> None:
    """Forget that a person took a price out in this way; call it in the transaction of the change."""
    start, end = period_of(row)
    gone = Withdrawal.objects.filter(kind=ApiPrice._meta.model_name, key=row_key(row), taken=taken)
    gone.filter(period_from=start, period_to=end).delete()


def withdraw_what_goes(row: CatalogRecord, *, user: Any = None, reason: str = "") -> None:
    """Record what saving `row` takes out: the slug it had, or the days of a price that now ends earlier."""
    before = type(row)._default_manager.filter(pk=row.pk).first() if row.pk else None
    if isinstance(row, ApiPrice) and isinstance(before, ApiPrice):
        lost = Period(row.effective_to, before.effective_to)
        if lost.start is not None and lost.start != lost.end and not lost.empty:
            withdraw(row, Taken.ENDED, user=user, reason=reason, period=lost)
    elif isinstance(row, CatalogRow) and isinstance(before, CatalogRow) and before.slug != row.slug.strip():
        because = _("now %(slug)s") % {"slug": row.slug} + (f"; {reason}" if reason else "")
        withdraw(row, Taken.RENAMED, user=user, reason=because, key=before.slug)


def name_of(user: Any) -> str:
    """The user's name, empty for nobody."""
    return "" if user is None or not user.is_authenticated else str(user.get_username())


def withdrawn_rows(model: type[CatalogRecord]) -> Mapping[str, Withdrawal]:
    """Withdrawals of one kind of row by key, the newest of each."""
    found: dict[str, Withdrawal] = {}
    for each in Withdrawal.objects.filter(kind=model._meta.model_name):
        found.setdefault(each.key, each)
    return found


@dataclass(frozen=True, slots=True)
class WithdrawnPrices:
    """What people took out that imports of prices must leave: sellers and readings by slug, periods by key."""

    sellers: Mapping[str, Withdrawal]
    readings: Mapping[str, Withdrawal]
    periods: Mapping[str, Sequence[tuple[Period, Withdrawal]]]

    @classmethod
    def read(cls) -> Self:
        """The withdrawals now."""
        periods: dict[str, list[tuple[Period, Withdrawal]]] = defaultdict(list)
        for each in Withdrawal.objects.filter(kind=ApiPrice._meta.model_name):
            periods[each.key].append((Period(each.period_from, each.period_to), each))
        return cls(sellers=_gone(Provider), readings=_gone(PriceList), periods=periods)

    def word_on(self, key: PriceKey, *, reading: str) -> str | None:
        """Why nothing of this key is loaded at all; None where nothing speaks against it."""
        if (seller := self.sellers.get(key.provider)) is not None:
            return _("seller %(slug)s: %(word)s") % {"slug": seller.key, "word": seller.words}
        if (gone := self.readings.get(reading)) is not None:
            return _("price list %(slug)s: %(word)s") % {"slug": gone.key, "word": gone.words}
        return None

    def periods_of(self, key: PriceKey) -> list[tuple[Period, str]]:
        """Periods in which no loader opens a price of this key, and why."""
        return [(period, _in_words(each)) for period, each in self.periods.get(price_key(key), ())]


def _gone(model: type[CatalogRow]) -> Mapping[str, Withdrawal]:
    """Withdrawals of rows that nobody made again since."""
    there = set(model._default_manager.values_list("slug", flat=True))
    return {slug: each for slug, each in withdrawn_rows(model).items() if slug not in there}


def _in_words(word: Withdrawal) -> str:
    return _("%(word)s (from %(start)s to %(end)s)") % {
        "word": word.words,
        "start": word.period_from or _("ever"),
        "end": word.period_to or _("further notice"),
    }
