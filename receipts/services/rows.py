"""A row of a complete report, for the one who may read it."""

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from reports.choices import State
from reports.models import Report, ReportVersion
from reports.rows import reading
from reports.rows.reading import Condition
from reports.storage import rows_path


class UnknownRowError(LookupError):
    """There is no such row, or not for this person."""


def row_of(person: Any, report_id: UUID, number: int, row_index: int) -> tuple[ReportVersion, dict[str, Any]]:
    """The version and its row as plain JSON.

    Raises:
        UnknownRowError: no such report, complete version or row.
    """
    report = Report.objects.visible_to(person).filter(pk=report_id).first()
    version = report.versions.filter(number=number, state=State.COMPLETE).first() if report is not None else None
    if version is None:
        raise UnknownRowError(_("There is no such complete version."))
    condition = Condition(column="row_index", operator="", values=(row_index,))
    _total, rows = reading.page(rows_path(version), [condition], [], limit=1, offset=0)
    if not rows:
        raise UnknownRowError(_("There is no such row."))
    return version, {name: reading.plain(value) for name, value in rows[0].items()}
