"""How prices change: a row is opened, closed and followed by another, or voided; never edited."""

import datetime
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _

from catalog.models import ApiPrice
from catalog.models.pricing import Basis
from catalog.models.withdrawal import Taken
from catalog.price_rows import Period
from catalog.revisions import catalog_write
from catalog.services.withdrawals import withdraw

_COPIED = (
    "price_list", "provider", "model", "channel", "endpoint_class", "meter", "unit", "currency", "tier_above_tokens",
    "tier_operator", "tier_scope", "daily_start", "daily_end", "daily_zone", "weekday_mask", "source", "source_url",
)  # fmt: skip


def _because(row: ApiPrice, reason: str, user: Any = None) -> None:
    """Give the history its reason and who; django-simple-history reads them from the row."""
    row.__dict__["_change_reason"] = reason
    if user is not None and user.is_authenticated:
        row.__dict__["_history_user"] = user


def open_price(row: ApiPrice, *, user: Any = None, reason: str = "") -> ApiPrice:
    """Store a new price after all checks.

    Raises:
        ValidationError: It overlaps with another, or contradicts itself.
    """
    if row.pk is not None:
        raise ValidationError(_("A price is not edited in place: close it, open another, or void it."))
    with catalog_write():
        ApiPrice.objects.select_for_update().filter(provider=row.provider, model=row.model).first()
        row.full_clean()
        _because(row, reason or _("Price opened"), user)
        row.save()
    return row


def close_price(row: ApiPrice, *, on: datetime.date, user: Any = None, reason: str = "") -> ApiPrice:
    """End a price: `on` is the first day it no longer holds; loaders open no other for the days after it.

    Raises:
        ValidationError: The price was voided, or would end before it begins or after it was to end.
    """
    with catalog_write():
        row = _locked(row)
        lost = Period(on, row.effective_to)
        row.edited_by_person = True
        _close(row, on=on, user=user, reason=reason)
        if not lost.empty:
            withdraw(row, Taken.ENDED, user=user, reason=reason, period=lost)
    return row


def _locked(row: ApiPrice) -> ApiPrice:
    return ApiPrice.objects.select_for_update(of=("self",)).select_related("provider").get(pk=row.pk)


def _close(row: ApiPrice, *, on: datetime.date, user: Any, reason: str) -> None:
    if row.voided_at:
        raise ValidationError({"voided_at": _("This price was voided.")})
    if row.effective_to and on > row.effective_to:
        raise ValidationError({"effective_to": _("A closed price is not opened again: open another.")})
    row.effective_to = on
    row.full_clean()
    _because(row, reason or _("Price closed"), user)
    row.save()


def change_price(
    row: ApiPrice,
    *,
    amount: Decimal,
    effective_from: datetime.date,
    source: str = "",
    user: Any = None,
    reason: str = "",
) -> ApiPrice:
    """Close a price and open its successor on the same day; the successor is returned.

    A row that already ends later keeps its end: the successor takes the rest of its period.

    Raises:
        ValidationError: The new price would not follow the old one.
    """
    with catalog_write():
        closed = _locked(row)
        end = closed.effective_to
        _close(closed, on=effective_from, user=user, reason=reason)
        successor = ApiPrice(**{name: getattr(closed, name) for name in _COPIED})
        successor.amount = amount
        successor.effective_from = effective_from
        successor.effective_to = end
        successor.basis = Basis.MANUAL
        successor.edited_by_person = True
        successor.source = source or successor.source
        successor.date_seen = timezone.localdate()
        return open_price(successor, user=user, reason=reason)


def void_price(row: ApiPrice, *, user: Any = None, reason: str) -> ApiPrice:
    """Mark a price as never right: no new estimate uses it, no loader brings it back, saved reports keep it.

    Raises:
        ValidationError: No reason, or voided before.
    """
    if not reason.strip():
        raise ValidationError({"void_reason": _("Say why the price is voided.")})
    with catalog_write():
        row = _locked(row)
        if row.voided_at:
            raise ValidationError({"voided_at": _("This price was voided before.")})
        row.voided_at = timezone.now()
        row.void_reason = reason
        row.edited_by_person = True
        withdraw(row, Taken.VOIDED, user=user, reason=reason)
        _because(row, reason, user)
        row.save()
    return row
