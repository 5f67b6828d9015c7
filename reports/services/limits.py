"""What one owner may have in flight and stored; asked before an order costs anything, and again under a lock."""

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Count, Sum
from django.utils.translation import gettext as _

from reports import conf
from reports.choices import ACTIVE
from reports.models import Artifact, ReportVersion

TRY_AGAIN_AFTER_S = 10


class LimitError(Exception):
    """An order goes beyond a limit of its owner; `code` is stable, the text names limit and setting."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class InFlightLimitError(LimitError):
    """Too much waits or runs: it passes by itself."""


class StoredLimitError(LimitError):
    """Too much is stored: it passes only when something is removed."""


def check(owner_id: Any, rows: int = 1) -> None:
    """Whether an owner may order so many more rows.

    Args:
        owner_id: Primary key of the owner of the report.
        rows: Rows of the order, from 1; the smallest order where they are not known yet.

    Raises:
        InFlightLimitError: Versions or rows in flight would pass their limit.
        StoredLimitError: The stored files have reached theirs.
    """
    in_flight = ReportVersion.objects.filter(owner=owner_id, state__in=ACTIVE)
    found = in_flight.aggregate(versions=Count("pk"), rows=Sum("remaining_rows"))
    if found["versions"] >= conf.max_versions_in_flight():
        text = _("%(n)d report versions are queued or running; at most %(most)d of one owner may be. Try again later.")
        most = {"n": found["versions"], "most": conf.max_versions_in_flight()}
        raise InFlightLimitError("versions_in_flight", text % most)
    waiting = found["rows"] or 0
    if waiting + rows > conf.max_rows_in_flight():
        text = _("%(n)d rows wait or are computed, and %(more)d more would pass the limit of %(most)d for one owner.")
        most = {"n": waiting, "more": rows, "most": conf.max_rows_in_flight()}
        raise InFlightLimitError("rows_in_flight", text % most)
    stored = stored_bytes(owner_id)
    if stored >= conf.max_stored_bytes():
        text = _(
            "The files of your reports hold %(n)d bytes; the limit for one owner is %(most)d. Ask an operator to purge "
            "reports or to raise the limit."
        )
        raise StoredLimitError("stored_bytes", text % {"n": stored, "most": conf.max_stored_bytes()})


def check_locked(owner_id: Any, rows: int) -> None:
    """As `check`, for the transaction that orders: orders of one owner pass here one after the other."""
    # Not FOR UPDATE: that would wait for everyone who only refers to the person.
    list(get_user_model().objects.select_for_update(no_key=True).filter(pk=owner_id).values_list("pk"))
    check(owner_id, rows)


def stored_bytes(owner_id: Any) -> int:
    """Bytes of the stored rows and derived files of an owner's reports, archived ones included."""
    rows = ReportVersion.objects.filter(report__owner=owner_id).aggregate(n=Sum("rows_file_bytes"))["n"] or 0
    derived = Artifact.objects.filter(version__report__owner=owner_id).aggregate(n=Sum("bytes"))["n"] or 0
    return int(rows + derived)
