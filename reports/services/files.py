"""Getting a version as a file: the stored one, one made at once when it is small, or one ordered from a worker."""

import time
from dataclasses import dataclass

from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from reports import clock, document
from reports.artifacts import build, xlsx
from reports.choices import ACTIVE, FileFormat, State
from reports.downloads import Download
from reports.errors import ReportError
from reports.models import Artifact, ReportVersion
from reports.storage import get_storage
from reports.work import bell, derive, estimators
from reports.work.claims import ARTIFACT

AT_ONCE_ROWS = 10_000
# A file that is not there is made again so often, then not for so long.
MOST_TIMES_LOST = 3
LOST_FOR_S = 3600
_AT_ONCE = (FileFormat.CSV, FileFormat.JSON)
# A file of so few rows takes a second: who asks while another makes it waits for it, up to 5 s.
_LOOKS = 50
_LOOK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """A file to send, or why there is none yet."""

    download: Download | None = None
    state: str = State.QUEUED
    error_code: str = ""
    error: str = ""


def file_of(version: ReportVersion, file_format: str) -> FileState:
    """The file of a complete version in a format; orders it if it is not there."""
    if file_format == FileFormat.PARQUET and not version.rows_parts:
        return _stored(version, file_format, version.rows_file, version.rows_file_bytes, version.rows_file_sha256)
    if file_format == FileFormat.XLSX and version.total_rows > xlsx.MAX_ROWS:
        return FileState(state=State.FAILED, error_code="too_many_rows", error=xlsx.too_many_rows(version.total_rows))
    failed = Artifact.objects.filter(version=version, format=file_format, state=State.FAILED).first()
    if failed is not None:  # told once; asking again orders it anew
        gone = Artifact.objects.filter(pk=failed.pk, state=State.FAILED)
        if failed.times_lost > MOST_TIMES_LOST:
            gone = gone.filter(last_used_at__lt=clock.after(-LOST_FOR_S))
        gone.delete()
        return FileState(state=State.FAILED, error_code=failed.error_code, error=failed.error)
    if (kept := _kept(version, file_format)) is not None:
        return kept
    # The columns of a newer release are its own workers' business.
    at_once = version.total_rows <= AT_ONCE_ROWS and not estimators.newer(version.estimator_version)
    if at_once and file_format in _AT_ONCE:
        artifact = _make_now(version, file_format)
    else:
        artifact = derive.order(version, file_format)
    if artifact.state == State.COMPLETE:
        return _stored(version, file_format, artifact.file_name, artifact.bytes, artifact.artifact_sha256)
    return FileState(state=artifact.state, error_code=artifact.error_code, error=artifact.error)


def _kept(version: ReportVersion, file_format: str) -> FileState | None:
    """The derived file that is there already; one that went or is damaged is removed and made again."""
    artifact = Artifact.objects.filter(version=version, format=file_format, state=State.COMPLETE).first()
    if artifact is None:
        return None
    found = _stored(version, file_format, artifact.file_name, artifact.bytes, artifact.artifact_sha256)
    if found.download is None:
        return _lost(artifact)
    Artifact.objects.filter(pk=artifact.pk).update(last_used_at=Now())
    return found


def _lost(artifact: Artifact) -> FileState | None:
    """Have a derived file that went made again; one that goes each time is not, until an hour has passed."""
    name, lost = artifact.file_name, artifact.times_lost + 1
    again = {"state": State.QUEUED, "attempts": 0, "file_name": "", "bytes": None, "artifact_sha256": ""}
    if lost > MOST_TIMES_LOST:
        again = {"state": State.FAILED, "error_code": "file_error", "error": _lost_each_time()}
    ours = Artifact.objects.filter(pk=artifact.pk, file_name=name, state=State.COMPLETE)
    if ours.update(times_lost=lost, last_used_at=Now(), **again):
        get_storage().remove(name)
        bell.ring(1)
    if lost > MOST_TIMES_LOST:
        return FileState(state=State.FAILED, error_code="file_error", error=_lost_each_time())
    return None


def _lost_each_time() -> str:
    return _(
        "The file was made %(times)s times and each time it was not there: does every web and worker machine reach "
        "the same store? It is made again in an hour."
    ) % {"times": MOST_TIMES_LOST + 1}


def _make_now(version: ReportVersion, file_format: str) -> Artifact:
    """The derived file made in this request, or by who makes it already: that is waited for, a few seconds."""
    artifact, claim = derive.order_and_claim(version, file_format)
    for _look in range(_LOOKS):
        if claim is not None or artifact.state not in ACTIVE:
            break
        time.sleep(_LOOK_EVERY_S)
        artifact = Artifact.objects.filter(pk=artifact.pk).first() or artifact
        if artifact.state == State.QUEUED:  # whoever had it let go
            claim = ARTIFACT.claim_row(artifact.pk)
    if claim is not None:
        derive.make(claim)
        artifact = Artifact.objects.filter(pk=artifact.pk).first() or artifact
        if artifact.state == State.QUEUED:  # it went wrong; a worker tries again
            bell.ring(1)
    return artifact


def _stored(version: ReportVersion, file_format: str, name: str, size: int | None, sha256: str) -> FileState:
    try:
        get_storage().check(name, size, sha256)
    except ReportError as error:
        return FileState(state=State.FAILED, error_code=error.code, error=error.text)
    return FileState(
        state=State.COMPLETE,
        download=Download(
            name=name,
            size=size or 0,
            sha256=sha256,
            media_type=build.MEDIA_TYPES[file_format],
            file_name=document.file_name(version, file_format),
        ),
    )


def evict(older_than_days: float) -> int:
    """Remove derived files not used for so long; versions and their rows stay. Returns how many."""
    storage = get_storage()
    removed = 0
    horizon = clock.after(-older_than_days * 86400)
    unused = Q(last_used_at__isnull=True) | Q(last_used_at__lt=horizon)
    old = Artifact.objects.filter(unused, state=State.COMPLETE, created_at__lt=horizon)
    for artifact in old:
        if Artifact.objects.filter(unused, pk=artifact.pk).delete()[0]:
            storage.remove(artifact.file_name)
            removed += 1
    return removed
