"""How prices change: a row is opened, closed and followed by another, or voided; never edited."""

import datetime
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from catalog.edits import record_edits
from catalog.models import ApiPrice
from catalog.models.pricing import Basis
from catalog.models.withdrawal import Taken
from catalog.price_rows import Period
from catalog.revisions import catalog_write
from catalog.services.withdrawals import give_back, name_of, withdraw

# Code of what the state of the catalog refuses, whatever is asked: a price that was voided, or is closed already.
STATE = "state"
_COPIED = (
    "price_list", "provider", "model", "channel", "endpoint_class", "meter", "unit", "currency", "tier_above_tokens",
    "tier_operator", "tier_scope", "daily_start", "daily_end", "daily_zone", "weekday_mask",
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
        if row.edited_by_person:
            record_edits(row, by=name_of(user), reason=reason)
        _because(row, reason or _("Price opened"), user)
        row.save()
    return row


def refused_by_state(field: str, text: str) -> ValidationError:
    """What is no fault of the values given: the row, or another beside it, does not allow it as it stands."""
    return ValidationError({field: ValidationError(text, code=STATE)})


def check_period(row: ApiPrice, *, leave_gap: bool = False) -> None:
    """Refuse a new end that the rules of prices do not allow (docs/prices.md).

    Args:
        row: the price as it would be saved; a new one has no end to move.
        leave_gap: days without a price between the new end and the next price are meant.

    Raises:
        ValidationError: The price was voided, would be opened again, or would leave a gap.
    """
    before = ApiPrice.objects.filter(pk=row.pk).values("effective_to", "voided_at").first() if row.pk else None
    if before is None or before["effective_to"] == row.effective_to:
        return
    if before["voided_at"]:
        raise refused_by_state("effective_to", _("This price was voided."))
    if before["effective_to"] and (row.effective_to is None or row.effective_to > before["effective_to"]):
        raise refused_by_state("effective_to", _("A closed price is not opened again: open another."))
    following = next_start(row)
    if following is not None and row.effective_to is not None and following > row.effective_to and not leave_gap:
        raise ValidationError(
            {
                "effective_to": _(
                    "From %(end)s to %(start)s no price would hold: the next one begins on %(start)s. Change the "
                    "price instead of ending it, or say that the gap is meant."
                )
                % {"end": row.effective_to, "start": following}
            }
        )


def _same_thing(row: ApiPrice) -> QuerySet[ApiPrice]:
    return ApiPrice.objects.filter(
        provider_id=row.provider_id,
        model=row.model,
        channel=row.channel,
        endpoint_class=row.endpoint_class,
        meter=row.meter,
        tier_above_tokens=row.tier_above_tokens,
        window_key=row.window_key,
        voided_at__isnull=True,
    ).exclude(pk=row.pk)


def next_start(row: ApiPrice) -> datetime.date | None:
    """The first day of the next price of the same thing after a row's end; None when there is none."""
    if row.effective_to is None:
        return None
    later = _same_thing(row).filter(effective_from__gte=row.effective_to)
    return later.order_by("effective_from").values_list("effective_from", flat=True).first()


def last_end(row: ApiPrice) -> datetime.date | None:
    """The end of the price of the same thing before a row's start; None when there is none."""
    if row.effective_from is None:
        return None
    earlier = _same_thing(row).filter(effective_to__lte=row.effective_from)
    return earlier.order_by("-effective_to").values_list("effective_to", flat=True).first()


def close_price(
    row: ApiPrice, *, on: datetime.date, user: Any = None, reason: str = "", leave_gap: bool = False
) -> ApiPrice:
    """End a price: `on` is the first day it no longer holds; loaders open no other for the days after it.

    Raises:
        ValidationError: The price was voided, would end before it begins or after it was to end, or leave a gap.
    """
    with catalog_write():
        row = _locked(row)
        lost = Period(on, row.effective_to)
        row.edited_by_person = True
        _close(row, on=on, user=user, reason=reason, leave_gap=leave_gap)
        if not lost.empty:
            withdraw(row, Taken.ENDED, user=user, reason=reason, period=lost)
    return row


def _locked(row: ApiPrice) -> ApiPrice:
    return ApiPrice.objects.select_for_update(of=("self",)).select_related("provider").get(pk=row.pk)


def _close(row: ApiPrice, *, on: datetime.date, user: Any, reason: str, leave_gap: bool) -> None:
    if row.voided_at:
        raise refused_by_state("voided_at", _("This price was voided."))
    row.effective_to = on
    check_period(row, leave_gap=leave_gap)
    row.full_clean()
    record_edits(row, by=name_of(user), reason=reason)
    _because(row, reason or _("Price closed"), user)
    row.save()


def change_price(
    row: ApiPrice,
    *,
    amount: Decimal,
    effective_from: datetime.date,
    source: str = "",
    source_url: str = "",
    date_seen: datetime.date | None = None,
    user: Any = None,
    reason: str = "",
) -> ApiPrice:
    """Close a price and open its successor on the same day; the successor is returned.

    A row that already ends later keeps its end: the successor takes the rest of its period.

    Raises:
        ValidationError: The new price would not follow the old one, or is none.
    """
    with catalog_write():
        closed = _locked(row)
        end = closed.effective_to
        closed.edited_by_person = True
        try:
            # The successor takes the days up to the old end.
            _close(closed, on=effective_from, user=user, reason=reason, leave_gap=True)
        except ValidationError as refused:
            raise _said_of(refused, "effective_to", "effective_from") from refused
        successor = ApiPrice(**{name: getattr(closed, name) for name in _COPIED})
        successor.amount = amount
        successor.effective_from = effective_from
        successor.effective_to = end
        successor.basis = Basis.MANUAL
        successor.edited_by_person = True
        successor.source, successor.source_url, successor.date_seen = source, source_url, date_seen
        return open_price(successor, user=user, reason=reason)


def _said_of(refused: ValidationError, field: str, other: str) -> ValidationError:
    """The same refusal, with what is said of a field said of the one that the person filled in."""
    return ValidationError({other if name == field else name: faults for name, faults in refused.error_dict.items()})


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
            raise refused_by_state("voided_at", _("This price was voided before."))
        row.voided_at = timezone.now()
        row.void_reason = reason
        row.edited_by_person = True
        withdraw(row, Taken.VOIDED, user=user, reason=reason)
        record_edits(row, by=name_of(user), reason=reason)
        _because(row, reason, user)
        row.save()
    return row


def restore_price(row: ApiPrice, *, user: Any = None, reason: str = "") -> ApiPrice:
    """Take a void back: the price holds for its days again, and is a person's word that loaders leave alone.

    Raises:
        ValidationError: It was not voided, or another price holds on one of its days now.
    """
    with catalog_write():
        row = _locked(row)
        if not row.voided_at:
            raise refused_by_state("voided_at", _("This price was not voided."))
        row.voided_at, row.void_reason = None, ""
        row.full_clean()
        give_back(row, Taken.VOIDED)
        record_edits(row, by=name_of(user), reason=reason)
        _because(row, reason or _("Void taken back"), user)
        row.save()
    return row


def keep_price(row: ApiPrice, *, user: Any = None, reason: str = "") -> ApiPrice:
    """A person's word that a price is right, whatever public lists state; no load or list says otherwise again.

    Raises:
        ValidationError: It was voided.
    """
    with catalog_write():
        row = _locked(row)
        if row.voided_at:
            raise refused_by_state("voided_at", _("This price was voided."))
        row.disputes = []
        row.edited_by_person = True
        record_edits(row, by=name_of(user), reason=reason)
        _because(row, reason or _("Price kept"), user)
        row.save()
    return row
