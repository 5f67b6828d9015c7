"""Writes that people make: validated, marked so that no loader overwrites them, with who and why in the history."""

from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from catalog.edits import record_edits
from catalog.models import ApiPrice, CatalogRecord, CatalogRow, EngineProfile
from catalog.models.withdrawal import Taken
from catalog.revisions import catalog_write
from catalog.services.prices import check_period
from catalog.services.withdrawals import name_of, withdraw, withdraw_what_goes
from catalog.usage import usage_count

# The name under which each model's rows are known to `catalog.snapshot` and `catalog.usage`.
KINDS = {"Gpu": "gpu", "LanguageModel": "model", "EngineProfile": "engine", "Preset": "preset"}


def kind_of(row: CatalogRecord) -> str:
    """The kind of facts a row gives."""
    name = type(row).__name__
    return KINDS.get(name, name.lower())


def save_by_person(row: CatalogRecord, *, user: Any, reason: str = "", leave_gap: bool = False) -> None:
    """Save a row a person made or edited.

    Args:
        row: the row with its new values; not saved when a check refuses it.
        user: who, for the history; None when not known.
        reason: why, for the history.
        leave_gap: of a price that ends earlier: days without a price until the next one are meant.

    Raises:
        ValidationError: by field, in words.
    """
    row.full_clean()
    check_frozen(row)
    if isinstance(row, ApiPrice):
        check_period(row, leave_gap=leave_gap)
    row.edited_by_person = True
    with catalog_write(only_if_touched=True):
        withdraw_what_goes(row, user=user, reason=reason)
        record_edits(row, by=name_of(user), reason=reason)
        _attribute(row, user, reason)
        row.save()


def delete_by_person(row: CatalogRecord, *, user: Any, reason: str = "") -> None:
    """Delete a row, and keep loaders from bringing it back; reports that used it hold their own snapshot.

    Raises:
        ProtectedError: other rows of the catalog need it.
    """
    with catalog_write(only_if_touched=True):
        withdraw(row, Taken.DELETED, user=user, reason=reason)
        _attribute(row, user, reason)
        row.delete()


def check_frozen(row: CatalogRecord) -> None:
    """Refuse a change of what must outlive its users: slugs, and the constants of an engine profile.

    Raises:
        ValidationError: by field, saying what to do instead.
    """
    if not isinstance(row, CatalogRow) or row.pk is None:
        return
    before = type(row)._default_manager.filter(pk=row.pk).first()
    if before is None:
        return
    errors = {}
    uses = usage_count(kind_of(row), before.slug)
    if uses and before.slug != row.slug:
        errors["slug"] = _("Report versions name this row by its slug (%(uses)d); make a new row instead.") % {
            "uses": uses
        }
    if uses and isinstance(row, EngineProfile) and isinstance(before, EngineProfile):
        for field in ("kind", "memory_policy", "speed_constants"):
            if getattr(before, field) != getattr(row, field):
                errors[field] = _("Report versions used these constants (%(uses)d); save them as a new version.") % {
                    "uses": uses
                }
    if errors:
        raise ValidationError(errors)


def _attribute(row: Any, user: Any, reason: str) -> None:
    row._history_user = user if user is not None and user.is_authenticated else None
    row._change_reason = reason or None
