"""What may change about a report after it is made: name, tags, visibility, archive."""

from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from reports.models import Report
from reports.services import versions


def change_report(report: Report, values: dict[str, Any]) -> Report:
    """The report with the given values (name, tags, visibility, archived), as stored.

    None leaves a value as it is; archiving twice keeps the first time. Archiving cancels what is
    queued or running.
    """
    given: dict[str, Any] = {
        name: value for name, value in values.items() if name in ("name", "tags", "visibility") and value is not None
    }
    with transaction.atomic():
        if values.get("archived") is True:
            Report.objects.filter(pk=report.pk, archived_at__isnull=True).update(archived_at=Now())
            versions.cancel_all(report)
        elif values.get("archived") is False:
            given["archived_at"] = None
        if given:
            Report.objects.filter(pk=report.pk).update(**given)
    return Report.objects.select_related("owner").get(pk=report.pk)
