"""Creating reports and versions, and the changes of state that people ask for."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, Sum
from django.utils.translation import gettext as _

from estimator.engine.version import ESTIMATOR_VERSION
from reports import canonical, conf
from reports.choices import ACTIVE, State, VersionKind, sources
from reports.doing import current_request_id
from reports.models import Report, ReportChunk, ReportVersion
from reports.services import limits
from reports.storage import ArtifactStore, get_storage
from reports.work import bell, turns
from reports.work.pauses import pause_point


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A version that can be computed: canonical inputs, catalog snapshot, and how many rows it will have."""

    inputs: dict[str, Any]
    snapshot: dict[str, Any]
    total_rows: int
    estimator_version: str
    kind: VersionKind = VersionKind.SWEEP
    parent: ReportVersion | None = None


class IllegalChangeError(Exception):
    """The version's state does not allow the change asked for."""

    def __init__(self, state: str) -> None:
        super().__init__(_("The version is %(state)s.") % {"state": state})
        self.state = state


class ArchivedError(IllegalChangeError):
    """An archived report takes no orders."""

    def __init__(self) -> None:
        Exception.__init__(self, _("The report is archived; bring it back first."))
        self.state = "archived"


def check_order(report: Report, rows: int = 1) -> None:
    """Whether the report takes an order of so many rows: a look before the order costs anything, without a lock.

    Raises:
        ArchivedError: The report is archived.
        LimitError: The owner has too much in flight or stored.
    """
    if report.archived_at is not None:
        raise ArchivedError
    limits.check(report.owner_id, rows)


def create_report(*, owner: Any, name: str, prepared: Prepared, tags: list[str] | None = None) -> ReportVersion:
    """Store a report with version 1 and its chunk rows in one transaction, and wake workers once it is committed."""
    with transaction.atomic():
        report = Report.objects.create(owner=owner, name=name, tags=tags or [])
        return add_version(report=report, created_by=owner, prepared=prepared)


def add_version(*, report: Report, created_by: Any, prepared: Prepared) -> ReportVersion:
    """Store the next version of a report; its number is given under the lock of the report row.

    Raises:
        ArchivedError: The report is archived.
        LimitError: The owner has too much in flight or stored.
    """
    with transaction.atomic():
        Report.objects.select_for_update().filter(pk=report.pk).update(last_number=F("last_number") + 1)
        stored = Report.objects.only("last_number", "archived_at").get(pk=report.pk)
        if stored.archived_at is not None:
            raise ArchivedError
        limits.check_locked(report.owner_id, prepared.total_rows)
        version = ReportVersion.objects.create(
            report=report,
            number=stored.last_number,
            kind=prepared.kind,
            parent=prepared.parent,
            created_by=created_by,
            inputs=prepared.inputs,
            inputs_sha256=canonical.sha256(prepared.inputs),
            snapshot=prepared.snapshot,
            snapshot_sha256=canonical.sha256(prepared.snapshot),
            estimator_version=prepared.estimator_version,
            total_rows=prepared.total_rows,
            ordered_by_request=current_request_id.get() or "",
            needs_estimator=ESTIMATOR_VERSION if prepared.kind == VersionKind.RECOST else prepared.estimator_version,
            **turns.place(report.owner_id, prepared.total_rows),
        )
        chunks = chunks_of(version, prepared.total_rows)
        ReportChunk.objects.bulk_create(chunks, batch_size=500)
        transaction.on_commit(lambda: _wake(len(chunks)))
    return version


def _wake(pieces: int) -> None:
    pause_point("publish")
    bell.ring(pieces)


def chunks_of(version: ReportVersion, total_rows: int) -> list[ReportChunk]:
    """The chunks of so many rows, not stored yet."""
    size = conf.chunk_rows()
    return [
        ReportChunk(version=version, index=index, first_row=first, rows=min(size, total_rows - first))
        for index, first in enumerate(range(0, total_rows, size))
    ]


def cancel(version: ReportVersion) -> None:
    """Stop a version that is queued or running; a worker at it notices at its next heartbeat.

    Raises:
        IllegalChangeError: It is complete, failed or cancelled.
    """
    with transaction.atomic():
        changed = ReportVersion.objects.filter(pk=version.pk, state__in=ACTIVE).update(
            state=State.CANCELLED, finalize_token="", finalize_until=None
        )
        if not changed:
            raise IllegalChangeError(_state(version))
        ReportChunk.objects.filter(version=version, state__in=ACTIVE).update(state=State.CANCELLED, lease_until=None)


def cancel_all(report: Report) -> int:
    """Stop every version of a report that is queued or running; how many."""
    stopped = 0
    for version in report.versions.filter(state__in=ACTIVE).only("pk").order_by("pk"):
        try:
            cancel(version)
        except IllegalChangeError:  # it came to its end meanwhile
            continue
        stopped += 1
    return stopped


def retry(version: ReportVersion) -> None:
    """Queue a failed version again; chunks whose part file is there are kept, the others start anew.

    Raises:
        IllegalChangeError: It has not failed, or its report is archived.
        LimitError: The owner has too much in flight or stored.
    """
    with transaction.atomic():
        report = Report.objects.select_for_update(no_key=True).only("archived_at", "owner").get(pk=version.report_id)
        if report.archived_at is not None:
            raise ArchivedError
        open_rows = version.chunks.exclude(state=State.COMPLETE).aggregate(rows=Sum("rows"))["rows"] or 1
        limits.check_locked(report.owner_id, open_rows)
        changed = ReportVersion.objects.filter(pk=version.pk, state__in=set(sources(State.QUEUED)) - {State.RUNNING})
        if not changed.update(
            state=State.QUEUED,
            finalize_attempts=0,
            error="",
            error_code="",
            finished_at=None,
            started_at=None,
            disk_full_since=None,
            next_try_at=None,
        ):
            raise IllegalChangeError(_state(version))
        anew = _start_anew(version)
        # Where only the last step is left there is nothing to claim that would set it running.
        state = {} if anew else {"state": State.RUNNING}
        place = turns.place(report.owner_id, sum(chunk.rows for chunk in anew))
        ReportVersion.objects.filter(pk=version.pk).update(**place, **state)
        transaction.on_commit(lambda: bell.ring(len(anew)))


def _start_anew(version: ReportVersion) -> list[ReportChunk]:
    """Put the chunks whose part file is not there in their first state."""
    storage = get_storage()
    chunks = list(ReportChunk.objects.filter(version=version))
    kept = {chunk.index for chunk in chunks if chunk.state == State.COMPLETE and _whole(chunk, storage)}
    ReportChunk.objects.filter(version=version).exclude(index__in=kept).delete()
    return ReportChunk.objects.bulk_create(
        ReportChunk(version=version, index=chunk.index, first_row=chunk.first_row, rows=chunk.rows)
        for chunk in chunks
        if chunk.index not in kept
    )


def _whole(chunk: ReportChunk, storage: ArtifactStore) -> bool:
    return storage.is_sound(chunk.part_name, chunk.part_bytes, chunk.part_sha256)


def _state(version: ReportVersion) -> str:
    return str(ReportVersion.objects.only("state").get(pk=version.pk).state)
