"""Reports that failed or are being built, for the review queue of the admin."""

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from catalog.review import Item, Question
from reports.choices import State
from reports.models import Report, ReportVersion

_MOST_SHOWN = 10


def failed_reports(user: Any) -> Question:
    """Versions that failed, of reports that the person may see, with the reason."""
    rows = ReportVersion.objects.filter(state=State.FAILED, report__in=Report.objects.visible_to(user))
    shown = rows.defer("snapshot").select_related("report").order_by("-created_at")[:_MOST_SHOWN]
    return Question(
        key="failed-reports",
        title=_("Reports that failed"),
        why=_("Read why, mend it, and build them again."),
        count=rows.count(),
        items=tuple(
            Item(
                name=f"{row.report.name}, {row.number}",
                matter=row.error,
                url=reverse("admin:reports_reportversion_change", args=[row.pk]),
                action=_("Look"),
            )
            for row in shown
        ),
        url=reverse("admin:reports_reportversion_changelist") + f"?state__exact={State.FAILED}",
        permission="reports.view_reportversion",
    )
