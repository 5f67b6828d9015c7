"""The review queue: rows of the catalog that need a person, as questions with a count, the first rows and what to do.

Apps above the catalog add questions of their own with `register_question` in their `AppConfig.ready()`.
"""

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Min, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from catalog.models import (
    ApiPrice,
    CachePolicy,
    EngineProfile,
    Gpu,
    GpuOffer,
    LanguageModel,
    LeftAlone,
    Preset,
    PriceRule,
)
from catalog.price_desk import STALE_DAYS
from catalog.price_words import amount_words, meter_words
from catalog.selectors import UNDISPUTED, in_force_on

OFFER_DAYS = 30
_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to look at: what it is, what is the matter, where it is looked at, and what can be done there."""

    name: str
    matter: str
    url: str
    action: str
    # For a dispute: the model whose prices stay as they are on a person's word.
    keep: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Rows that ask for the same thing; `permission` is what a person needs to see them."""

    key: str
    title: str
    why: str
    count: int
    items: tuple[Item, ...]
    url: str = ""
    permission: str


Asker = Callable[[Any], Question]
_askers: dict[str, Asker] = {}


def register_question(key: str, asker: Asker) -> None:
    """Add a question; `asker(user)` reads it. Registering a key again replaces it."""
    _askers[key] = asker


def questions(user: Any) -> list[Question]:
    """Every question that the person may see, those with rows first."""
    found = [asker(user) for key, (permission, asker) in _ours().items() if user.has_perm(permission)]
    found += [asker(user) for asker in _askers.values()]
    return sorted((each for each in found if user.has_perm(each.permission)), key=lambda each: not each.count)


def _ours() -> dict[str, tuple[str, Asker]]:
    return {
        "disputes": ("catalog.view_apiprice", disputed_prices),
        "stale-prices": ("catalog.view_apiprice", stale_prices),
        "undated-prices": ("catalog.view_apiprice", undated_prices),
        "old-offers": ("catalog.view_gpuoffer", old_offers),
        "no-checkpoint": ("catalog.view_languagemodel", models_without_checkpoint),
        "no-source": ("catalog.view_gpu", rows_without_source),
        "left-alone": ("catalog.view_withdrawal", left_alone),
    }


def _list(model: str, query: str = "") -> str:
    return reverse(f"admin:catalog_{model}_changelist") + (f"?{query}" if query else "")


def _in_force() -> Any:
    return ApiPrice.objects.filter(in_force_on(timezone.now().date()), voided_at__isnull=True)


def disputed_prices(_user: Any) -> Question:
    """Prices of today of which a public list states another amount, by model."""
    rows = _in_force().exclude(UNDISPUTED).select_related("provider").order_by("slug", "meter")
    by_model: dict[str, list[ApiPrice]] = {}
    count = 0
    for row in rows.iterator():
        count += 1
        by_model.setdefault(row.slug, []).append(row)
    items = [_dispute(slug, same) for slug, same in list(by_model.items())[:_MOST_SHOWN]]
    return Question(
        key="disputes",
        title=_("Prices that a public list states otherwise"),
        why=_("Look at the seller's page. Your word stays: no load and no list undoes it."),
        count=count,
        items=tuple(items),
        url=_list("apiprice", "in_force=now&disputed=yes"),
        permission="catalog.view_apiprice",
    )


def _dispute(slug: str, rows: list[ApiPrice]) -> Item:
    said = []
    theirs = []
    for row in rows:
        each = row.disputes[0]
        said.append(
            _("%(meter)s: ours %(ours)s, %(list)s has %(theirs)s")
            % {"meter": meter_words(row.meter), "ours": amount_words(row), "list": each["list"],
               "theirs": each["amount"]}
        )  # fmt: skip
        if each["unit"] == row.unit:
            theirs.append(f"new_{row.pk}={each['amount']}")
    more = _("; and %(n)d more") % {"n": len(said) - 3} if len(said) > 3 else ""
    return Item(
        name=f"{rows[0].provider.name}, {rows[0].model}",
        matter="; ".join(said[:3]) + more,
        url=reverse("admin:catalog_apiprice_desk", args=[slug]) + "?" + "&".join(theirs[:40]),
        action=_("Take theirs on the desk"),
        keep=slug,
    )


def stale_prices(_user: Any) -> Question:
    """Prices of today that nobody read for long, by seller."""
    before = timezone.now().date() - datetime.timedelta(days=STALE_DAYS)
    found = _by_seller(_in_force().filter(date_seen__lt=before))
    return Question(
        key="stale-prices",
        title=_("Prices not read for %(n)d days") % {"n": STALE_DAYS},
        why=_("Read the seller's page again; change what changed, and give the rest the day on which you read it."),
        count=sum(each["rows"] for each in found),
        items=tuple(
            _seller_item(each, _("%(n)d prices, the oldest read on %(day)s"), "read=old")
            for each in found[:_MOST_SHOWN]
        ),
        url=_list("apiprice", "in_force=now&read=old"),
        permission="catalog.view_apiprice",
    )


def undated_prices(_user: Any) -> Question:
    """Prices of today of which nobody knows when they were read, by seller."""
    found = _by_seller(_in_force().filter(date_seen__isnull=True))
    return Question(
        key="undated-prices",
        title=_("Prices without the day on which they were read"),
        why=_("They cannot grow old, so nothing warns of them."),
        count=sum(each["rows"] for each in found),
        items=tuple(_seller_item(each, _("%(n)d prices"), "read=never") for each in found[:_MOST_SHOWN]),
        url=_list("apiprice", "in_force=now&read=never"),
        permission="catalog.view_apiprice",
    )


def _by_seller(rows: Any) -> list[dict[str, Any]]:
    found = rows.order_by().values("provider_id", "provider__name", "provider__pricing_url")
    return list(found.annotate(rows=Count("pk"), oldest=Min("date_seen")).order_by("oldest", "provider__name"))


def _seller_item(each: dict[str, Any], words: str, query: str) -> Item:
    return Item(
        name=each["provider__name"],
        matter=words % {"n": each["rows"], "day": each["oldest"]},
        url=_list("apiprice", f"in_force=now&{query}&provider__id__exact={each['provider_id']}"),
        action=_("Look and edit"),
    )


def old_offers(_user: Any) -> Question:
    """GPU offers that are older than a month, or without a day, where no newer one of the seller stands, by seller."""
    before = timezone.now().date() - datetime.timedelta(days=OFFER_DAYS)
    by_seller = GpuOffer.objects.order_by().values("provider").annotate(
        rows=Count("pk"), newest=Max("date_seen"), undated=Count("pk", filter=Q(date_seen__isnull=True))
    )  # fmt: skip
    found = [each for each in by_seller.order_by("newest", "provider") if not each["newest"] or each["newest"] < before]
    return Question(
        key="old-offers",
        title=_("Sellers of GPU hours not read for %(n)d days") % {"n": OFFER_DAYS},
        why=_("Enter today's offers as new rows: a new day is a new row, and the latest is used."),
        count=len(found),
        items=tuple(
            Item(
                name=each["provider"],
                matter=ngettext(
                    "%(n)d offer, the newest of %(day)s", "%(n)d offers, the newest of %(day)s", each["rows"]
                )
                % {"n": each["rows"], "day": each["newest"] or _("no known day")},
                url=_list("gpuoffer", f"provider__exact={each['provider']}"),
                action=_("Look and start another"),
            )
            for each in found[:_MOST_SHOWN]
        ),
        url=_list("gpuoffer"),
        permission="catalog.view_gpuoffer",
    )


def models_without_checkpoint(_user: Any) -> Question:
    """Language models of which no stored file sizes are known."""
    rows = LanguageModel.objects.filter(checkpoints__isnull=True).only("pk", "name", "total_parameters")
    return Question(
        key="no-checkpoint",
        title=_("Models without a checkpoint"),
        why=_("Their weights are computed from the config. The sum of the stored files is exact, and says the format."),
        count=rows.count(),
        items=tuple(
            Item(
                name=row.name,
                matter=_("no stored size and format is known"),
                url=reverse("admin:catalog_languagemodel_change", args=[row.pk]),
                action=_("Add a checkpoint"),
            )
            for row in rows.order_by("slug")[:_MOST_SHOWN]
        ),
        url=_list("languagemodel", "checkpoint=none"),
        permission="catalog.view_languagemodel",
    )


_SOURCES: tuple[tuple[Any, str], ...] = (
    (LanguageModel, "source"), (EngineProfile, "evidence"), (Preset, "source"), (CachePolicy, "source"),
    (PriceRule, "source"), (GpuOffer, "source"),
)  # fmt: skip


def rows_without_source(_user: Any) -> Question:
    """Rows that cite nothing, figures of GPUs that no source stands behind, and prices without source and address."""
    items = []
    count = 0
    for model, column in _SOURCES:
        rows = model.objects.filter(**{column: ""})
        for row in rows[: _MOST_SHOWN + 1]:
            items.append(_bare(row, _("no source")))
        count += rows.count()
    for gpu in Gpu.objects.all():
        missing = gpu.figures_without_source
        if missing:
            count += 1
            items.append(_bare(gpu, _("no source of %(figures)s") % {"figures": ", ".join(missing)}))
    prices = _in_force().filter(source="", source_url="").order_by("slug")
    count += prices.count()
    items += [_bare(row, _("no source")) for row in prices[:_MOST_SHOWN]]
    return Question(
        key="no-source",
        title=_("Figures without a source"),
        why=_("Say where each was read, or leave it empty: a figure that nobody can check is worse than none."),
        count=count,
        items=tuple(items[:_MOST_SHOWN]),
        permission="catalog.view_gpu",
    )


def _bare(row: Any, matter: str) -> Item:
    name = str(row._meta.model_name)
    return Item(
        name=f"{row._meta.verbose_name}: {row}",
        matter=matter,
        url=reverse(f"admin:catalog_{name}_change", args=[row.pk]),
        action=_("Name the source"),
    )


def left_alone(_user: Any) -> Question:
    """What the last loads and imports did not touch, and why."""
    rows = LeftAlone.objects.all()
    return Question(
        key="left-alone",
        title=_("What loads and imports left alone"),
        why=_("A person keeps these rows, or the source no longer states them. Compare, and decide which word stands."),
        count=rows.count(),
        items=tuple(
            Item(name=f"{row.kind}: {row.name}", matter=f"{row.source}: {row.reason}", url=row.url, action=_("Look"))
            for row in rows[:_MOST_SHOWN]
        ),
        url=_list("leftalone"),
        permission="catalog.view_withdrawal",
    )
