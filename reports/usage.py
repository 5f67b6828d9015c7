"""Tells the catalog which of its rows stored report versions hold in their snapshots."""

from django.utils.translation import ngettext

from catalog.usage import Usage
from reports.models import ReportVersion

SNAPSHOT_KINDS = ("gpu", "model", "engine")


def versions_with(kind: str, slug: str) -> Usage:
    """How many report versions used a catalog row."""
    count = 0
    if kind in SNAPSHOT_KINDS:
        count = ReportVersion.objects.filter(**{f"snapshot__facts__{kind}__has_key": slug}).count()
    return Usage(
        label=ngettext("report version", "report versions", count), count=count, url="/admin/reports/reportversion/"
    )
