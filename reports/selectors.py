"""Reads of the reports app: versions with their progress, as the API and the pages show them."""

import hashlib
from collections.abc import Sequence
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum

from reports import clock, document
from reports.choices import ACTIVE, State
from reports.errors import STORE_AWAY
from reports.models import Artifact, Report, ReportVersion

WAITING_FOR_DISK, WAITING_FOR_STORE = WAITING = "waiting_for_disk", "waiting_for_store"
# Of one's own versions in flight so many are told with their progress.
QUEUE_SHOWN = 25
# Members that only some kinds of finding have; null in the others.
_OPTIONAL_OF_FINDINGS = ("other_row_index", "other_row", "row_indices", "count")


def versions_of(report: Report) -> QuerySet[ReportVersion]:
    """The versions of a report, newest first, without their large columns."""
    return report.versions.defer("snapshot", "findings", "inputs").order_by("-number")


def progress(version: ReportVersion) -> dict[str, Any]:
    """Phase, place in the queue, rows done and to do, rows per second, and seconds left where they are known.

    Times are the database's. The last step (findings, decision, hash) has no rows to count: its end is not known.
    """
    if version.state == State.COMPLETE:
        done = version.total_rows
    else:
        done = int(version.chunks.aggregate(done=Sum("rows_done"))["done"] or 0)
    rate = None
    if version.started_at is not None and done:
        elapsed_s = ((version.finished_at or clock.now()) - version.started_at).total_seconds()
        rate = done / elapsed_s if elapsed_s > 0 else None
    phase = _phase(version)
    left = version.total_rows - done
    return {
        "phase": phase,
        "queue_place": _place(version) if phase == "queued" else None,
        "detail": version.error or None if phase in WAITING else None,
        "done": done,
        "total": version.total_rows,
        "rows_per_s": rate,
        "eta_s": left / rate if phase == "rows" and rate and left > 0 else None,
    }


def queue(user: Any) -> dict[str, Any]:
    """What waits and runs: versions and rows of everybody as counts, one's own with their place and progress."""
    active = ReportVersion.objects.filter(state__in=ACTIVE)
    counts = active.aggregate(
        running=Count("pk", filter=Q(state=State.RUNNING)),
        waiting=Count("pk", filter=Q(state=State.QUEUED)),
        rows_left=Sum("remaining_rows"),
    )
    own = active.filter(report__owner=user.pk).select_related("report").defer("snapshot", "findings", "inputs")
    return {
        "running": counts["running"],
        "waiting": counts["waiting"],
        "rows_left": int(counts["rows_left"] or 0),
        "mine": [
            {
                "report": str(version.report_id),
                "name": version.report.name,
                "version": version.number,
                "state": version.state,
                "progress": progress(version),
            }
            for version in own.order_by("created_at", "pk")[:QUEUE_SHOWN]
        ],
    }


def _phase(version: ReportVersion) -> str:
    """What happens to a version now; its state once it has ended."""
    if version.state not in ACTIVE:
        return str(version.state)
    if version.disk_full_since is not None:
        return WAITING_FOR_STORE if version.error_code == STORE_AWAY else WAITING_FOR_DISK
    if version.state == State.QUEUED:
        return "queued"
    return "rows" if version.remaining_rows else "last_step"


def _place(version: ReportVersion) -> int:
    """Place of a queued version from 1, as if every version took one turn of its owner.

    Before the k-th version of an owner each other owner has at most k turns.
    """
    waiting = ReportVersion.objects.filter(state__in=ACTIVE, remaining_rows__gt=0)
    sooner = Q(due_after_rows__lt=version.due_after_rows) | Q(due_after_rows=version.due_after_rows, pk__lt=version.pk)
    own = waiting.filter(sooner, owner=version.owner_id).count() + 1
    others = waiting.exclude(owner=version.owner_id).values("owner").annotate(n=Count("pk")).order_by()
    return int(own + sum(min(other["n"], own) for other in others))


def version_etag(version: ReportVersion, made: dict[str, Any]) -> str:
    """Changes whenever the answer about a version would, its list of files included; `made` is its progress."""
    files = tuple(version.artifacts.order_by("format").values_list("format", "state", "artifact_sha256"))
    moved = (version.state, made["phase"], made["queue_place"], made["done"])
    parts = (version.pk, moved, version.started_at, version.finished_at, version.error, files)
    return '"' + hashlib.sha256(repr(parts).encode()).hexdigest()[:32] + '"'


def summary(version: ReportVersion) -> dict[str, Any]:
    """A version in a list."""
    return {
        "number": version.number,
        "kind": version.kind,
        "state": version.state,
        "created_at": version.created_at.isoformat(),
        "completed_at": version.finished_at.isoformat() if version.finished_at else None,
        "rows": version.total_rows,
        "estimator_version": version.estimator_version,
        "content_sha256": version.content_sha256 or None,
        "error": _error(version),
    }


def _error(version: ReportVersion) -> dict[str, str] | None:
    return {"code": version.error_code, "detail": version.error} if version.state == State.FAILED else None


def detail(version: ReportVersion, made: dict[str, Any]) -> dict[str, Any]:
    """A version on its own: state, progress, inputs, snapshot, summary, findings, files."""
    files = list(Artifact.objects.filter(version=version).order_by("format"))
    return summary(version) | {
        "report": str(version.report_id),
        "progress": made,
        "parent": version.parent.number if version.parent else None,
        "inputs": version.inputs,
        "snapshot": version.snapshot,
        "snapshot_sha256": version.snapshot_sha256,
        "summary": version.summary or None,
        "findings": [dict.fromkeys(_OPTIONAL_OF_FINDINGS) | finding for finding in document.findings(version)],
        "files": [
            {
                "format": file.format,
                "state": file.state,
                "bytes": file.bytes,
                "sha256": file.artifact_sha256 or None,
                "error": file.error or None,
            }
            for file in files
        ],
    }


def report_dicts(reports: Sequence[Report], viewer: Any) -> list[dict[str, Any]]:
    """Reports as the API shows them, newest version included; one query for all of them."""
    newest = ReportVersion.objects.filter(report__in=reports, number=F("report__last_number")).defer(
        "snapshot", "findings", "inputs"
    )
    latest = {version.report_id: version for version in newest}
    return [_report(report, viewer, latest.get(report.pk)) for report in reports]


def _report(report: Report, viewer: Any, latest: ReportVersion | None) -> dict[str, Any]:
    return {
        "id": str(report.pk),
        "name": report.name,
        "tags": report.tags,
        "owner": report.owner.get_username(),
        "mine": report.owner_id == viewer.pk,
        "visibility": report.visibility,
        "archived": report.archived_at is not None,
        "created_at": report.created_at.isoformat(),
        "latest_version": summary(latest) if latest else None,
    }
