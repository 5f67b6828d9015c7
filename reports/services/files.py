"""Getting a version as a file: the stored one, one made at once when it is small, or one ordered from a worker."""

from dataclasses import dataclass

from django.db.models import Q
from django.db.models.functions import Now

from reports import clock, document
from reports.artifacts import build, xlsx
from reports.choices import FileFormat, State
from reports.downloads import Download
from reports.errors import ReportError
from reports.models import Artifact, ReportVersion
from reports.storage import get_storage
from reports.work import derive
from reports.work.claims import ARTIFACT

AT_ONCE_ROWS = 10_000
_AT_ONCE = (FileFormat.CSV, FileFormat.JSON)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """A file to send, or why there is none yet."""

    download: Download | None = None
    state: str = State.QUEUED
    error_code: str = ""
    error: str = ""


def file_of(version: ReportVersion, file_format: str) -> FileState:
    """The file of a complete version in a format; orders it if it is not there."""
    if file_format == FileFormat.PARQUET:
        return _stored(version, file_format, version.rows_file, version.rows_file_bytes, version.rows_file_sha256)
    if file_format == FileFormat.XLSX and version.total_rows > xlsx.MAX_ROWS:
        return FileState(state=State.FAILED, error_code="too_many_rows", error=xlsx.too_many_rows(version.total_rows))
    failed = Artifact.objects.filter(version=version, format=file_format, state=State.FAILED).first()
    if failed is not None:  # told once; asking again orders it anew
        Artifact.objects.filter(pk=failed.pk, state=State.FAILED).delete()
        return FileState(state=State.FAILED, error_code=failed.error_code, error=failed.error)
    artifact = derive.order(version, file_format)
    if artifact.state == State.COMPLETE:
        found = _stored(version, file_format, artifact.file_name, artifact.bytes, artifact.artifact_sha256)
        if found.download is not None:
            Artifact.objects.filter(pk=artifact.pk).update(last_used_at=Now())
            return found
        # Gone or damaged: made again from the rows.
        if Artifact.objects.filter(pk=artifact.pk, file_name=artifact.file_name).delete()[0]:
            get_storage().remove(artifact.file_name)
        artifact = derive.order(version, file_format)
    if version.total_rows <= AT_ONCE_ROWS and file_format in _AT_ONCE:
        artifact = _make_now(artifact)
        if artifact.state == State.COMPLETE:
            return _stored(version, file_format, artifact.file_name, artifact.bytes, artifact.artifact_sha256)
    return FileState(state=artifact.state, error_code=artifact.error_code, error=artifact.error)


def _make_now(artifact: Artifact) -> Artifact:
    if claim := ARTIFACT.claim_row(artifact.pk):
        derive.make(claim)
    artifact.refresh_from_db()
    return artifact


def _stored(version: ReportVersion, file_format: str, name: str, size: int | None, sha256: str) -> FileState:
    try:
        path = get_storage().sound_path(name, size, sha256)
    except ReportError as error:
        return FileState(state=State.FAILED, error_code=error.code, error=error.text)
    return FileState(
        state=State.COMPLETE,
        download=Download(
            name=name,
            path=path,
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
