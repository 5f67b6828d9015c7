"""How prices change: a row is opened, closed and followed by another, or voided; never edited."""

import datetime
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _

from catalog.models import ApiPrice
from catalog.models.pricing import Basis
from catalog.revisions import catalog_write

_COPIED = (
    "price_list", "provider", "model", "channel", "endpoint_class", "meter", "unit", "currency", "tier_above_tokens",
    "tier_operator", "tier_scope", "daily_start", "daily_end", "daily_zone", "weekday_mask", "source", "source_url",
)  # fmt: skip


def _because(row: ApiPrice, reason: str) -> None:
    """Give the history its reason; django-simple-history reads it from the row."""
    row.__dict__["_change_reason"] = reason


def open_price(row: ApiPrice, *, reason: str = "") -> ApiPrice:
    """Store a new price after all checks.

    Raises:
        ValidationError: It overlaps with another, or contradicts itself.
    """
    if row.pk is not None:
        raise ValidationError(_("A price is not edited in place: close it, open another, or void it."))
    with catalog_write():
        ApiPrice.objects.select_for_update().filter(provider=row.provider, model=row.model).first()
        row.full_clean()
        _because(row, reason or _("Price opened"))
        row.save()
    return row


def close_price(row: ApiPrice, *, on: datetime.date, reason: str = "") -> ApiPrice:
    """End a price: `on` is the first day it no longer holds.

    Raises:
        ValidationError: The price was voided, or would end before it begins or after it was to end.
    """
    with catalog_write():
        row = ApiPrice.objects.select_for_update(of=("self",)).get(pk=row.pk)
        if row.voided_at:
            raise ValidationError({"voided_at": _("This price was voided.")})
        if row.effective_to and on > row.effective_to:
            raise ValidationError({"effective_to": _("A closed price is not opened again: open another.")})
        row.effective_to = on
        row.full_clean()
        _because(row, reason or _("Price closed"))
        row.save()
    return row


def change_price(
    row: ApiPrice, *, amount: Decimal, effective_from: datetime.date, source: str = "", reason: str = ""
) -> ApiPrice:
    """Close a price and open its successor on the same day; the successor is returned.

    A row that already ends later keeps its end: the successor takes the rest of its period.

    Raises:
        ValidationError: The new price would not follow the old one.
    """
    with catalog_write():
        end = row.effective_to
        closed = close_price(row, on=effective_from, reason=reason)
        successor = ApiPrice(**{name: getattr(closed, name) for name in _COPIED})
        successor.amount = amount
        successor.effective_from = effective_from
        successor.effective_to = end
        successor.basis = Basis.MANUAL
        successor.edited_by_person = True
        successor.source = source or successor.source
        successor.date_seen = timezone.localdate()
        return open_price(successor, reason=reason)


def void_price(row: ApiPrice, *, reason: str) -> ApiPrice:
    """Mark a price as never right: no new estimate uses it, saved reports keep what they used.

    Raises:
        ValidationError: No reason, or voided before.
    """
    if not reason.strip():
        raise ValidationError({"void_reason": _("Say why the price is voided.")})
    with catalog_write():
        row = ApiPrice.objects.select_for_update(of=("self",)).get(pk=row.pk)
        if row.voided_at:
            raise ValidationError({"voided_at": _("This price was voided before.")})
        row.voided_at = timezone.now()
        row.void_reason = reason
        _because(row, reason)
        row.save()
    return row
