"""A row as the start of another: its values, without what names it and what is of its own day."""

from typing import Any

from django.utils.translation import gettext as _

from catalog.edits import OURS
from catalog.models import CatalogRecord

# Parameter of the address of an empty form that is to be filled in from a row.
CLONED = "from_row"
# What a new row has to say for itself.
_OWN_DAY = frozenset({"date_seen", "effective_from", "effective_to", "voided_at", "void_reason", "dispute", "disputes"})
_NAMES = frozenset({"id", "slug", "name", "aliases", "price_list", "created_at", "updated_at"})
_MOST_COPIES = 1000


def start_from(row: CatalogRecord) -> dict[str, Any]:
    """The first values of a form for a row like this one; a free slug, and a name that says that it is a copy."""
    left_out = OURS | _OWN_DAY | _NAMES
    values = {
        field.name: field.value_from_object(row)
        for field in row._meta.concrete_fields
        if field.editable and field.name not in left_out
    }
    if hasattr(row, "slug") and hasattr(row, "name"):
        values |= {"slug": _free_slug(row), "name": _("%(name)s (copy)") % {"name": row.name}}
    return values


def _free_slug(row: Any) -> str:
    taken = set(type(row)._default_manager.filter(slug__startswith=row.slug).values_list("slug", flat=True))
    candidates = (f"{row.slug}-{number}" for number in range(2, _MOST_COPIES))
    return next((slug for slug in candidates if slug not in taken), f"{row.slug}-copy")
