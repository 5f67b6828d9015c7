"""Reads of the catalog."""

from catalog.models import EngineProfile
from catalog.revisions import Revision, current_revision

__all__ = ["Revision", "current_revision", "engine_names"]


def engine_names() -> dict[str, str]:
    """Every name an engine profile answers to, aliases included, with the slug it means."""
    names = {}
    for slug, aliases in EngineProfile.objects.values_list("slug", "aliases"):
        names[slug] = slug
        names.update(dict.fromkeys(aliases, slug))
    return names
