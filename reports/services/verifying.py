"""Checks that every stored file is what was written, by its hash."""

from collections.abc import Iterator
from dataclasses import dataclass

from reports.choices import State
from reports.errors import ReportError
from reports.models import Artifact, ReportVersion
from reports.storage import ArtifactStore, get_storage, rows_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One file that was checked; `fault` is empty where it is as it was written."""

    what: str
    fault: str = ""


def verify_all() -> Iterator[Checked]:
    """Files of rows and derived files of all reports, each read anew; the last step checks those of work in flight."""
    storage = get_storage()
    storage.forget_hashes()
    versions = ReportVersion.objects.filter(state=State.COMPLETE).select_related("report").order_by("pk")
    for version in versions.iterator(chunk_size=20):
        for part, _rows in rows_parts(version):
            yield _file(f"{version} rows, file {part.name}", storage, part.name, part.bytes, part.sha256)
    for artifact in Artifact.objects.filter(state=State.COMPLETE).select_related("version__report").iterator(100):
        what = f"{artifact.version} {artifact.format}, file {artifact.file_name}"
        yield _file(what, storage, artifact.file_name, artifact.bytes, artifact.artifact_sha256)


def _file(what: str, storage: ArtifactStore, name: str, size: int | None, sha256: str) -> Checked:
    try:
        storage.sound_path(name, size, sha256)
    except ReportError as error:
        return Checked(what=what, fault=error.text)
    return Checked(what=what)
