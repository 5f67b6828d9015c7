"""Imports of stated prices: a plan first (what it adds, closes, voids and leaves, and why), then one transaction.

Amounts are never edited. Where a source now states another amount for a period it stated before, the old row is
closed on the day the source is of (never the day of the import) and a new one opened (basis: observed); a start date
the source itself states wins (basis: documented). Days that another source or a person holds are left to them, and
what a person voided, ended or deleted stays so.
"""

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from simple_history.utils import bulk_create_with_history, bulk_update_with_history

from catalog.models import ApiPrice, PriceList, Provider
from catalog.models.pricing import Basis
from catalog.price_rows import Period, PriceKey, StatedPrice, key_of, period_of, worth_of
from catalog.revisions import catalog_write
from catalog.services.left_alone import note_prices
from catalog.services.withdrawals import WithdrawnPrices

BATCH_ROWS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One reading of a price source."""

    slug: str
    name: str
    source: str
    version: str
    sha256: str
    licence: str = ""
    url: str = ""
    retrieved_on: datetime.date | None
    notes: str = ""
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """A row that ends, because the source states another price from then on; voided when it was never right."""

    row: ApiPrice
    on: datetime.date | None
    void: bool = False
    void_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Prices that are not touched, and why; `by_person` where a person took them out, `asks` where one is to look."""

    key: PriceKey
    reason: str
    by_person: bool = False
    asks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlan:
    """What an import would do, or did; `unpriced` names the models for which the source has no price."""

    source: Source
    add: tuple[StatedPrice, ...]
    close: tuple[Closing, ...]
    left: tuple[Left, ...]
    unchanged: int
    unpriced: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether anything would be written."""
        return bool(self.add or self.close)


@dataclass(slots=True)
class _Draft:
    add: list[StatedPrice] = field(default_factory=list)
    close: list[Closing] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    unchanged: int = 0


StoredPrices = Mapping[PriceKey, Sequence[ApiPrice]]


def stored_prices() -> StoredPrices:
    """All prices that are not void, by what they are of."""
    stored: dict[PriceKey, list[ApiPrice]] = defaultdict(list)
    # A handful of sellers and lists is behind thousands of prices: each is read once.
    for row in ApiPrice.objects.filter(voided_at__isnull=True).prefetch_related("price_list", "provider"):
        stored[key_of(row, row.provider.slug)].append(row)
    return stored


def plan_import(source: Source, stated: Iterable[StatedPrice], stored: StoredPrices | None = None) -> ImportPlan:
    """Compare what the source states with the rows in force; writes nothing.

    Args:
        source: what is read.
        stated: its prices.
        stored: the rows in force, where the caller has read them already.
    """
    wanted: dict[PriceKey, list[StatedPrice]] = defaultdict(list)
    for price in stated:
        wanted[price.key].append(price)
    if stored is None:
        stored = stored_prices()
    draft = _Draft()
    withdrawn = WithdrawnPrices.read()
    for key, prices in wanted.items():
        word = withdrawn.word_on(key, reading=source.slug)
        if word is None:
            _compare(key, prices, stored.get(key, []), source, draft, withdrawn.periods_of(key))
        else:
            draft.left.append(Left(key=key, reason=word, by_person=True))
    for key, rows_of_key in stored.items():
        if key not in wanted and any(_is_own(row, source) and row.effective_to is None for row in rows_of_key):
            draft.left.append(Left(key=key, reason=_("no longer stated by the source; still in force here")))
    return ImportPlan(
        source=source,
        add=tuple(draft.add),
        close=tuple(draft.close),
        left=tuple(draft.left),
        unchanged=draft.unchanged,
    )


def _is_own(row: ApiPrice, source: Source) -> bool:
    return row.price_list is not None and row.price_list.source == source.source and not row.edited_by_person


def _compare(
    key: PriceKey,
    prices: Sequence[StatedPrice],
    rows: Sequence[ApiPrice],
    source: Source,
    draft: _Draft,
    withdrawn: Sequence[tuple[Period, str]],
) -> None:
    held = [row for row in rows if not _is_own(row, source)]
    untold = _untold(prices, held, source)
    taken = _taken(key, prices, held, untold, withdrawn, draft)
    for row in rows:
        if row in held:
            continue
        try:
            closing = _guessed(row, untold) or _closing(row, prices, source.retrieved_on)
        except _UndatedError:
            closing = None
            reason = _("the source states another price, and nobody knows since when")
            draft.left.append(Left(key=key, reason=reason, asks=True))
        if closing is not None:
            draft.close.append(closing)
        if closing is None or not closing.void:
            taken.append(Period(row.effective_from, closing.on if closing else row.effective_to))
    for price in prices:
        gaps = _gaps(price.period, taken)
        if not gaps:
            draft.unchanged += 1
        draft.add += [_for_days(price, gap) for gap in gaps]
        draft.left += [
            Left(
                key=key,
                reason=_held_reason(row, price),
                asks=row.edited_by_person and worth_of(row) != price.worth,
            )
            for row in held
            if price.period.meets(period_of(row))
        ]


def _taken(
    key: PriceKey,
    prices: Sequence[StatedPrice],
    held: Sequence[ApiPrice],
    untold: Period | None,
    withdrawn: Sequence[tuple[Period, str]],
    draft: _Draft,
) -> list[Period]:
    """Days that the source does not fill: others hold them, it says nothing of them, or a person took them out."""
    taken = [period_of(row) for row in held]
    if untold is not None:
        taken.append(untold)
        reason = _("stated for today: what held before %(day)s is not known") % {"day": untold.end}
        draft.left.append(Left(key=key, reason=reason))
    open_days = [gap for price in prices for gap in _gaps(price.period, taken)]
    for period, reason in withdrawn:
        if any(gap.meets(period) for gap in open_days):
            draft.left.append(Left(key=key, reason=reason, by_person=True))
        taken.append(period)
    return taken


def _untold(prices: Sequence[StatedPrice], held: Sequence[ApiPrice], source: Source) -> Period | None:
    """Days before the first dated price of others, of which a source that states today's price alone says nothing."""
    starts = [row.effective_from for row in held]
    first = min((start for start in starts if start is not None), default=None)
    dated = any(price.effective_from or price.effective_to for price in prices)
    if first is None or None in starts or dated or source.retrieved_on is None or first > source.retrieved_on:
        return None
    return Period(None, first)


def _guessed(row: ApiPrice, untold: Period | None) -> Closing | None:
    """The end of a row that held today's price in days of which its source says nothing."""
    if untold is None or row.effective_from is not None or row.effective_to != untold.end:
        return None
    reason = _("its source states today's price, which says nothing of the days before %(day)s") % {"day": untold.end}
    return Closing(row=row, on=None, void=True, void_reason=reason)


def _for_days(price: StatedPrice, days: Period) -> StatedPrice:
    """The price for days that nobody holds; a start that the source does not state is one first seen."""
    basis = price.basis if days.start == price.effective_from else Basis.OBSERVED
    return replace(price, effective_from=days.start, effective_to=days.end, basis=basis)


class _UndatedError(Exception):
    """A source of no known day states another price: when the old one ended cannot be said."""


def _closing(row: ApiPrice, prices: Sequence[StatedPrice], seen_on: datetime.date | None) -> Closing | None:
    """When a row of this source has to end: at the start of the next stated price, or the source's day, or never.

    Raises:
        _UndatedError: The day is needed and not known.
    """
    same = [price for price in prices if price.worth == worth_of(row) and price.period.meets(period_of(row))]
    if same:
        if _start_learnt(row, same[0], prices):
            reason = _("replaced by its source, which now says since when it holds and what held before")
            return Closing(row=row, on=None, void=True, void_reason=reason)
        end = same[0].effective_to
        if end is not None and (row.effective_to is None or end < row.effective_to):
            return Closing(row=row, on=end)
        return None
    if not any(price.period.meets(period_of(row)) for price in prices):
        return None
    if row.effective_to is not None and (seen_on is None or row.effective_to <= seen_on):
        return None  # the past stays as it was billed
    if seen_on is None:
        raise _UndatedError
    starts = [price.effective_from for price in prices if price.effective_from and price.effective_from > seen_on]
    if row.effective_from is not None and row.effective_from >= seen_on:
        reason = _("replaced by its source before it took effect")
        return Closing(row=row, on=row.effective_from, void=True, void_reason=reason)
    later = [start for start in starts if not _ruled_by_other(row, prices, seen_on)]
    return Closing(row=row, on=min(later, default=seen_on))


def _start_learnt(row: ApiPrice, same: StatedPrice, prices: Sequence[StatedPrice]) -> bool:
    """Whether a row held since no known day, and the source now states its first day and another price before it."""
    if row.effective_from is not None or same.effective_from is None:
        return False
    before = Period(None, same.effective_from)
    return any(price.worth != same.worth and price.period.meets(before) for price in prices)


def _ruled_by_other(row: ApiPrice, prices: Sequence[StatedPrice], day: datetime.date) -> bool:
    """Whether the source states another price for that day itself."""
    one = Period(day, day + datetime.timedelta(days=1))
    return any(price.period.meets(one) and price.worth != worth_of(row) for price in prices)


def _gaps(period: Period, taken: Iterable[Period]) -> list[Period]:
    parts = [period]
    for other in taken:
        parts = [rest for part in parts for rest in part.minus(other)]
    return parts


def _held_reason(row: ApiPrice, price: StatedPrice) -> str:
    holder = _("edited by a person") if row.edited_by_person else str(row.price_list or _("entered by hand"))
    if worth_of(row) == price.worth:
        return _("held by: %(holder)s (same price)") % {"holder": holder}
    return _("held by: %(holder)s (%(theirs)s there, %(ours)s in the source)") % {
        "holder": holder,
        "theirs": f"{row.amount.normalize():f} {row.currency}/{row.unit}",
        "ours": f"{price.amount.normalize():f} {price.currency}/{price.unit}",
    }


def apply_import(plan: ImportPlan) -> None:
    """Carry out a plan in one transaction; the catalog revision rises once, or not at all when nothing changes."""
    note_prices(plan.source.source, ((each.key, each.reason) for each in plan.left if each.by_person or each.asks))
    if not plan.writes:
        return
    reason = _("Imported from %(source)s %(version)s") % {"source": plan.source.source, "version": plan.source.version}
    with catalog_write(only_if_touched=True):
        price_list = _price_list(plan.source)
        providers = _providers(plan)
        _close(plan.close, reason)
        rows = [row_of(price, providers[price.provider], price_list) for price in plan.add]
        bulk_create_with_history(rows, ApiPrice, batch_size=BATCH_ROWS, default_change_reason=reason)


def _price_list(source: Source) -> PriceList:
    kept = PriceList.objects.filter(slug=source.slug, edited_by_person=True).first()
    if kept is not None:
        return kept
    row, _created = PriceList.objects.update_or_create(
        slug=source.slug,
        defaults={
            "name": source.name,
            "source": source.source,
            "source_version": source.version,
            "retrieved_on": source.retrieved_on,
            "notes": source.notes,
            "sha256": source.sha256,
            "licence": source.licence,
            "url": source.url,
        },
    )
    return row


def _providers(plan: ImportPlan) -> dict[str, Provider]:
    known = {row.slug: row for row in Provider.objects.all()}
    for slug in dict.fromkeys(price.provider for price in plan.add):
        if slug not in known:
            facts = plan.source.providers.get(slug, {})
            row = Provider(
                slug=slug,
                name=facts.get("name", slug),
                pricing_url=facts.get("pricing_url", ""),
                source=f"{plan.source.source} {plan.source.version}",
                source_date=plan.source.retrieved_on,
            )
            row.save()
            known[slug] = row
    return known


def _close(closings: Sequence[Closing], reason: str) -> None:
    now = timezone.now()
    rows = []
    for closing in closings:
        row = closing.row
        if closing.void:
            row.voided_at, row.void_reason = now, closing.void_reason
        else:
            row.effective_to = closing.on  # never None here: only voided rows have no day
        row.updated_at = now
        rows.append(row)
    if rows:
        bulk_update_with_history(
            rows,
            ApiPrice,
            ["effective_to", "voided_at", "void_reason", "updated_at"],
            batch_size=BATCH_ROWS,
            default_change_reason=reason,
        )


def row_of(price: StatedPrice, provider: Provider, price_list: PriceList) -> ApiPrice:
    """A stated price as a row of a list, not saved."""
    row = ApiPrice(
        price_list=price_list,
        provider=provider,
        model=price.model,
        channel=price.channel,
        endpoint_class=price.endpoint_class,
        meter=price.meter,
        unit=price.unit,
        amount=price.amount,
        currency=price.currency,
        tier_above_tokens=price.tier_above_tokens,
        tier_operator=price.tier_operator,
        daily_start=price.daily_start,
        daily_end=price.daily_end,
        daily_zone=price.daily_zone,
        weekday_mask=price.weekday_mask,
        effective_from=price.effective_from,
        effective_to=price.effective_to,
        basis=price.basis,
        source=price.source,
        source_url=price.source_url,
        date_seen=price.date_seen or price_list.retrieved_on,
        dispute=price.dispute,
        loaded_from=price_list.slug,
        loaded_version=price_list.source_version,
    )
    row.fill_derived()
    return row
