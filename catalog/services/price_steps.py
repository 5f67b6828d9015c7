"""What an announcement does to the prices of a seller's model: tried first and shown, then saved in one transaction."""

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from catalog.models import ApiPrice
from catalog.services.prices import change_price, close_price, restore_price, void_price


class Kind(StrEnum):
    """What becomes of a price."""

    CHANGE = "change"
    END = "end"
    VOID = "void"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What becomes of one row; `amount` is the new one of a change."""

    row_id: int
    kind: Kind
    amount: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What all steps share: the day, where it was read and when, and why."""

    day: datetime.date
    source: str = ""
    source_url: str = ""
    date_seen: datetime.date | None = None
    reason: str = ""
    leave_gap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """The rows of the model before and after the steps, and what was refused of which row."""

    before: Sequence[ApiPrice]
    after: Sequence[ApiPrice]
    faults: Mapping[int, Sequence[str]] = field(default_factory=dict)


class StepsRefusedError(Exception):
    """A step was refused, and nothing was saved."""

    def __init__(self, faults: Mapping[int, Sequence[str]]) -> None:
        super().__init__("; ".join(text for texts in faults.values() for text in texts))
        self.faults = faults


class _TakenBackError(Exception):
    """Ends a trial."""


def rows_of(slug: str) -> list[ApiPrice]:
    """Every row of a seller's model, the voided ones too."""
    return list(ApiPrice.objects.filter(slug=slug).select_related("provider", "price_list"))


def try_steps(slug: str, steps: Iterable[Step], said: Announcement, *, user: Any) -> Tried:
    """What the steps would do; the services do it, and the transaction is taken back."""
    before = rows_of(slug)
    tried = Tried(before=before, after=before)
    try:
        with transaction.atomic():
            faults = _take(before, steps, said, user)
            tried = Tried(before=before, after=rows_of(slug), faults=faults)
            raise _TakenBackError
    except _TakenBackError:
        return tried


def save_steps(slug: str, steps: Iterable[Step], said: Announcement, *, user: Any) -> None:
    """Take the steps, all or none.

    Raises:
        StepsRefusedError: one of them is refused.
    """
    with transaction.atomic():
        faults = _take(rows_of(slug), steps, said, user)
        if faults:
            raise StepsRefusedError(faults)


def _take(rows: Iterable[ApiPrice], steps: Iterable[Step], said: Announcement, user: Any) -> dict[int, list[str]]:
    known = {row.pk: row for row in rows}
    faults: dict[int, list[str]] = {}
    for step in steps:
        try:
            with transaction.atomic():
                _SERVICES[step.kind](known[step.row_id], step, said, user)
        except ValidationError as refused:
            faults[step.row_id] = list(refused.messages)
    return faults


def _change(row: ApiPrice, step: Step, said: Announcement, user: Any) -> None:
    change_price(
        row,
        amount=step.amount if step.amount is not None else row.amount,
        effective_from=said.day,
        source=said.source,
        source_url=said.source_url,
        date_seen=said.date_seen,
        user=user,
        reason=said.reason,
    )


def _end(row: ApiPrice, _step: Step, said: Announcement, user: Any) -> None:
    close_price(row, on=said.day, user=user, reason=said.reason, leave_gap=said.leave_gap)


def _void(row: ApiPrice, _step: Step, said: Announcement, user: Any) -> None:
    void_price(row, user=user, reason=said.reason)


def _restore(row: ApiPrice, _step: Step, said: Announcement, user: Any) -> None:
    restore_price(row, user=user, reason=said.reason)


_SERVICES: Mapping[Kind, Callable[[ApiPrice, Step, Announcement, Any], None]] = {
    Kind.CHANGE: _change,
    Kind.END: _end,
    Kind.VOID: _void,
    Kind.RESTORE: _restore,
}
