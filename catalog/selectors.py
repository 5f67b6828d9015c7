"""Reads of the catalog."""

import datetime
from collections.abc import Collection
from decimal import Decimal

from django.db.models import Min, Q

from catalog.models import ApiPrice, EngineProfile, Gpu, LanguageModel
from catalog.models.pricing import STANDARD
from catalog.revisions import Revision, current_revision
from catalog.spelling import Named

__all__ = [
    "UNDISPUTED",
    "Revision",
    "channels_on",
    "current_revision",
    "engine_names",
    "in_force_on",
    "least_prices",
    "names_of_engines",
    "names_of_gpus",
    "names_of_models",
]

# Prices of which no public list states another amount.
UNDISPUTED = Q(disputes=[])


def channels_on(day: datetime.date) -> dict[str, list[str]]:
    """Channels with prices in force on a day by the slug of the prices, the standard one first."""
    rows = ApiPrice.objects.filter(in_force_on(day), voided_at__isnull=True)
    found: dict[str, list[str]] = {}
    for slug, channel in rows.order_by("slug", "channel").values_list("slug", "channel").distinct():
        found.setdefault(slug, []).append(channel)
    return {slug: sorted(channels, key=lambda name: (name != STANDARD, name)) for slug, channels in found.items()}


def least_prices(slugs: Collection[str], day: datetime.date) -> dict[tuple[str, str, str], Decimal]:
    """The lowest standard price of input and output on a day, by slug, meter and currency; free variants aside."""
    rows = ApiPrice.objects.filter(
        in_force_on(day), voided_at__isnull=True, slug__in=slugs, channel=STANDARD, endpoint_class="",
        tier_above_tokens=0, meter__in=("input", "output"), unit="mtok", amount__gt=0,
    )  # fmt: skip
    found = rows.values_list("slug", "meter", "currency").annotate(least=Min("amount")).order_by("slug")
    return {(slug, meter, currency): least for slug, meter, currency, least in found}


def engine_names() -> dict[str, str]:
    """Every name an engine profile answers to, aliases included, with the slug it means."""
    names = {}
    for slug, aliases in EngineProfile.objects.values_list("slug", "aliases"):
        names[slug] = slug
        names.update(dict.fromkeys(aliases, slug))
    return names


def names_of_engines() -> list[Named]:
    """What engine profiles are called."""
    rows = EngineProfile.objects.values_list("slug", "name", "aliases")
    return [Named(slug=slug, names=(name, *aliases)) for slug, name, aliases in rows]


def names_of_gpus() -> list[Named]:
    """What GPUs are called; their kind of memory tells boards of one chip apart."""
    rows = Gpu.objects.values_list("slug", "name", "memory_type")
    return [Named(slug=slug, names=(name,), words=(memory,)) for slug, name, memory in rows]


def names_of_models() -> list[Named]:
    """What language models are called: the last part of their repository's name."""
    return [Named(slug=slug, names=(name,)) for slug, name in LanguageModel.objects.values_list("slug", "name")]


def in_force_on(day: datetime.date) -> Q:
    """Prices whose half-open period holds the day."""
    begun = Q(effective_from__isnull=True) | Q(effective_from__lte=day)
    not_ended = Q(effective_to__isnull=True) | Q(effective_to__gt=day)
    return begun & not_ended
