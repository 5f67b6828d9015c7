"""Reads of the catalog."""

import datetime

from django.db.models import Q

from catalog.models import EngineProfile
from catalog.revisions import Revision, current_revision

__all__ = ["Revision", "current_revision", "engine_names", "in_force_on"]


def engine_names() -> dict[str, str]:
    """Every name an engine profile answers to, aliases included, with the slug it means."""
    names = {}
    for slug, aliases in EngineProfile.objects.values_list("slug", "aliases"):
        names[slug] = slug
        names.update(dict.fromkeys(aliases, slug))
    return names


def in_force_on(day: datetime.date) -> Q:
    """Prices whose half-open period holds the day."""
    begun = Q(effective_from__isnull=True) | Q(effective_from__lte=day)
    not_ended = Q(effective_to__isnull=True) | Q(effective_to__gt=day)
    return begun & not_ended
