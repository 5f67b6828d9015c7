"""Compares the prices in force with public lists, and keeps on each row what a list states otherwise.

Amounts are never changed by it, and rows of people are left alone. A list that was read before a price began says
nothing of it. Differences of less than a thousandth are roundings of the list.
"""

import datetime
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from django.utils import timezone
from django.utils.translation import gettext as _
from simple_history.utils import bulk_update_with_history

from catalog.importers.public_lists import ListedPrice, PublicList, kept_prices, public_lists
from catalog.model_names import NOT_MEANT, strength
from catalog.models import ApiModel, ApiPrice
from catalog.revisions import catalog_write
from catalog.selectors import in_force_on

ROUNDING = Decimal("0.001")
BATCH_ROWS = 200
COMPARED_UNIT = "mtok"

# A seller's model by its slug of prices; what a list states of it: channel, meter, tier.
_Of = tuple[str, str, int]


@dataclass(slots=True)
class ListCount:
    """How many prices in force a list states alike, otherwise, otherwise with a known reason, or not at all."""

    label: str
    models: int = 0
    agree: int = 0
    differ: int = 0
    explained: int = 0
    not_stated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossCheck:
    """What a comparison found: counts by list, and by key of a row the disputes that change."""

    counts: tuple[ListCount, ...]
    prices: int
    disputed: int
    changes: Mapping[int, list[dict[str, str]]] = field(default_factory=dict)


class _Row(NamedTuple):
    """What is compared of a price; read without making a whole row, because there are thousands."""

    pk: int
    seller: str
    model: str
    slug: str
    channel: str
    endpoint_class: str
    meter: str
    unit: str
    amount: Decimal
    tier_above_tokens: int
    window_key: str
    effective_from: datetime.date | None
    disputes: list[dict[str, str]]


_COLUMNS = ("pk", "provider__slug", *_Row._fields[2:])


@dataclass(frozen=True, slots=True)
class _Listed:
    """A list with its prices by our slug."""

    of: PublicList
    by_slug: Mapping[str, Mapping[_Of, Sequence[ListedPrice]]]


def compare(
    read: Mapping[str, Iterable[ListedPrice]] | None = None, *, today: datetime.date | None = None
) -> CrossCheck:
    """Compare the prices in force with every list; writes nothing.

    Args:
        read: newly read prices by name of a list; of other lists those kept in the catalog's data.
        today: the day whose prices are compared.
    """
    day = today or timezone.now().date()
    stated = ApiPrice.objects.filter(in_force_on(day), voided_at__isnull=True, edited_by_person=False).order_by("pk")
    rows = [_Row(*row) for row in stated.values_list(*_COLUMNS)]
    lists = [_listed(which, (read or {}).get(which.name), rows) for which in public_lists()]
    counts = {each.of.name: ListCount(each.of.label, models=len(each.by_slug)) for each in lists}
    changes: dict[int, list[dict[str, str]]] = {}
    disputed = 0
    for row in rows:
        found = [dispute for each in lists if (dispute := _dispute(row, each, counts[each.of.name]))]
        disputed += bool(found)
        if found != row.disputes:
            changes[row.pk] = found
    return CrossCheck(counts=tuple(counts.values()), prices=len(rows), disputed=disputed, changes=changes)


def apply(found: CrossCheck) -> None:
    """Keep the disputes on their rows in one transaction; the catalog revision rises only where something changed."""
    if not found.changes:
        return
    now = timezone.now()
    with catalog_write(only_if_touched=True):
        rows = ApiPrice.objects.select_related("provider").in_bulk(found.changes)
        for pk, row in rows.items():
            row.disputes, row.updated_at = found.changes[pk], now
        bulk_update_with_history(
            list(rows.values()),
            ApiPrice,
            ["disputes", "updated_at"],
            batch_size=BATCH_ROWS,
            default_change_reason=_("Compared with %(lists)s")
            % {"lists": ", ".join(count.label for count in found.counts)},
        )


def _dispute(row: _Row, listed: _Listed, count: ListCount) -> dict[str, str] | None:
    """What the list states of a row's price where it is another amount; None where it agrees or says nothing."""
    stated = listed.by_slug.get(row.slug, {}).get((row.channel, row.meter, row.tier_above_tokens), ())
    newer = row.effective_from is not None and row.effective_from > listed.of.read_on
    if not stated or newer or row.window_key or row.endpoint_class or row.unit != COMPARED_UNIT:
        count.not_stated += 1
        return None
    if any(_alike(each.amount, row.amount) for each in stated):
        count.agree += 1
        return None
    if _known_reason(row, listed.of):
        count.explained += 1
        return None
    count.differ += 1
    return {
        "list": listed.of.label,
        "amount": f"{stated[0].amount.normalize():f}",
        "unit": row.unit,
        "read_on": listed.of.read_on.isoformat(),
        "source": stated[0].source_url or listed.of.url,
    }


def _alike(theirs: Decimal, ours: Decimal) -> bool:
    return abs(theirs - ours) <= ROUNDING * max(theirs, ours)


def _known_reason(row: _Row, which: PublicList) -> str:
    """Why the list states something else of such prices, where that is known (`known` in the index)."""
    for entry in which.known:
        fits = any(fnmatchcase(row.slug, pattern) for pattern in entry["prices"])
        if fits and row.meter in entry["meters"] and row.channel in entry.get("channels", (row.channel,)):
            return str(entry["because"])
    return ""


def _listed(which: PublicList, read: Iterable[ListedPrice] | None, rows: Sequence[_Row]) -> _Listed:
    prices = kept_prices(which) if read is None else tuple(read)
    by_name: dict[tuple[str, str], list[ListedPrice]] = defaultdict(list)
    for price in prices:
        by_name[price.seller, price.model.lower()].append(price)
    by_slug: dict[str, dict[_Of, list[ListedPrice]]] = {}
    for slug, names in names_on_list({(row.seller, row.model, row.slug) for row in rows}, by_name).items():
        found = by_slug.setdefault(slug, defaultdict(list))
        for name in names:
            for price in by_name[name]:
                found[price.channel, price.meter, price.tier_above_tokens].append(price)
    return _Listed(which, by_slug)


def names_on_list(
    ours: Iterable[tuple[str, str, str]], theirs: Iterable[tuple[str, str]]
) -> dict[str, list[tuple[str, str]]]:
    """The names under which a list has our models: the same name, or else those that the model answers to.

    Args:
        ours: seller, model and slug of our prices.
        theirs: sellers and names in lower case, as the list has them.
    """
    listed = set(theirs)
    found = {slug: [(seller, model.lower())] for seller, model, slug in ours if (seller, model.lower()) in listed}
    taken = {name for names in found.values() for name in names}
    free: dict[str, list[str]] = defaultdict(list)
    for seller, left in sorted(listed - taken):
        free[seller].append(left)
    wanted = {slug for _seller, _model, slug in ours} - set(found)
    for slug, name in _answers(wanted, free):
        found.setdefault(slug, []).append(name)
    return found


def _answers(wanted: set[str], free: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Pairs of a model and a listed name that means it more surely than any other model of the seller."""
    rules: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for slug, seller, match in ApiModel.objects.order_by("slug").values_list("slug", "provider__slug", "match"):
        rules[seller].append((slug, match))
    for seller, names in free.items():
        for name in names:
            hits = [(strength(match, name), slug) for slug, match in rules[seller]]
            best = max(hits, default=(NOT_MEANT, ""))
            if best[0] != NOT_MEANT and best[1] in wanted:
                yield best[1], (seller, name)
