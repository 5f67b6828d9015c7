"""Removing a version or a whole report for good; what remains is a tombstone: who, when, why, which hash."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from reports.choices import ACTIVE
from reports.models import Artifact, Report, ReportChunk, ReportVersion, ShareLink, Tombstone
from reports.storage import get_storage


class CannotPurgeError(Exception):
    """The version is still being worked on, or others rest on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgePlan:
    """What a purge removes: versions (newest first), their files, links; and the report itself when all go."""

    report: Report
    versions: tuple[ReportVersion, ...]
    files: tuple[str, ...]
    whole: bool


def plan(report: Report, number: int | None = None) -> PurgePlan:
    """What purging a report, or one version of it, would remove.

    Raises:
        CannotPurgeError: A version is queued or running, or a re-costed one rests on the one to remove.
    """
    every = list(report.versions.order_by("-number"))
    chosen = [version for version in every if number in (None, version.number)]
    if number is not None and not chosen:
        raise CannotPurgeError(_("There is no such version."))
    gone = {version.pk for version in chosen}
    for version in every:
        if version.pk in gone and version.state in ACTIVE:
            raise CannotPurgeError(_("Version %(n)s is not finished; cancel it first.") % {"n": version.number})
        if version.parent_id in gone and version.pk not in gone:
            raise CannotPurgeError(_("Version %(n)s has the rows of the one to remove.") % {"n": version.number})
    files = [version.rows_file for version in chosen if version.rows_file]
    files += Artifact.objects.filter(version__in=chosen).exclude(file_name="").values_list("file_name", flat=True)
    files += ReportChunk.objects.filter(version__in=chosen).exclude(part_name="").values_list("part_name", flat=True)
    return PurgePlan(report=report, versions=tuple(chosen), files=tuple(files), whole=len(chosen) == len(every))


def purge(purge_plan: PurgePlan, *, by: Any, reason: str) -> None:
    """Remove what the plan says in one transaction, tombstones first; files go once that is committed."""
    if not reason.strip():
        raise CannotPurgeError(_("A purge needs a reason."))
    report = purge_plan.report
    with transaction.atomic():
        for version in purge_plan.versions:
            Tombstone.objects.create(
                version_id=version.pk,
                report_id=report.pk,
                report_name=report.name,
                number=version.number,
                content_sha256=version.content_sha256,
                rows_file_sha256=version.rows_file_sha256,
                reason=reason,
                purged_by=by,
            )
            ShareLink.objects.filter(version=version).delete()
            Artifact.objects.filter(version=version).delete()
            ReportChunk.objects.filter(version=version).delete()
            version.delete()
        if purge_plan.whole:
            report.delete()
        transaction.on_commit(lambda: _remove(purge_plan.files))


def _remove(names: tuple[str, ...]) -> None:
    storage = get_storage()
    for name in names:
        storage.remove(name)
