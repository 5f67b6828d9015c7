"""Versions in flight get their place in the queue: owner, estimator, and the counter of remaining rows."""

from django.db import migrations
from django.db.models import Sum


def place(apps, schema_editor):
    Version = apps.get_model("reports", "ReportVersion")
    Chunk = apps.get_model("reports", "ReportChunk")
    OwnerTurn = apps.get_model("reports", "OwnerTurn")
    in_flight = Version.objects.filter(state__in=("queued", "running")).select_related("report")
    for version in in_flight.only("report__owner", "estimator_version", "total_rows").iterator():
        left = Chunk.objects.filter(version=version.pk).exclude(state="complete").aggregate(rows=Sum("rows"))["rows"] or 0
        OwnerTurn.objects.get_or_create(owner_id=version.report.owner_id)
        Version.objects.filter(pk=version.pk, state__in=("queued", "running")).update(
            owner_id=version.report.owner_id,
            needs_estimator=version.estimator_version,
            remaining_rows=left,
            due_after_rows=version.total_rows,
        )


class Migration(migrations.Migration):

    dependencies = [("reports", "0002_turns_of_owners")]

    operations = [migrations.RunPython(place, migrations.RunPython.noop)]
