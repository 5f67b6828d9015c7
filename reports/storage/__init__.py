"""Where report files live: a folder, or a bucket of an S3 service. `get_storage()` is the seam."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from reports import conf
from reports.storage.seam import ArtifactStore
from reports.storage.stored import StoredFile, file_sha256

__all__ = ["ArtifactStore", "RowFiles", "StoredFile", "file_sha256", "get_storage", "rows_parts", "rows_path"]

# The rows of a version lie in one file or in several, which follow one another.
RowFiles = tuple[Path, ...]


def rows_path(version: Any, window: range | None = None) -> RowFiles:
    """The local paths of the files that hold the rows of a complete version, in order; of a window of them alone.

    Raises:
        ReportError: One is not there, or is damaged (then a PermanentReportError).
    """
    return get_storage().sound_paths([part for part, rows in rows_parts(version) if _meet(rows, window)])


def rows_parts(version: Any) -> list[tuple[StoredFile, range]]:
    """The stored files of the rows of a complete version, and which rows each holds: one file, or the parts."""
    if not version.rows_parts:
        only = StoredFile(name=version.rows_file, bytes=version.rows_file_bytes, sha256=version.rows_file_sha256)
        return [(only, range(version.total_rows))]
    found, first = [], 0
    for part in version.rows_parts:
        file = StoredFile(name=part["name"], bytes=part["bytes"], sha256=part["sha256"])
        found.append((file, range(first, first + part["rows"])))
        first += part["rows"]
    return found


def _meet(rows: range, window: range | None) -> bool:
    return window is None or max(rows.start, window.start) < min(rows.stop, window.stop)


@lru_cache(maxsize=4)
def _folder(root: Path) -> ArtifactStore:
    from reports.storage.folder import FolderStore

    root.mkdir(parents=True, exist_ok=True)
    return FolderStore(root)


@lru_cache(maxsize=4)
def _bucket(address: str, cache_dir: Path, cache_bytes: int) -> ArtifactStore:
    # Only who keeps files in a bucket pays for its client.
    from reports.storage.bucket import BucketStore
    from reports.storage.cache import LocalCache

    return BucketStore(address, LocalCache(cache_dir, cache_bytes))


def get_storage() -> ArtifactStore:
    """The store that the settings name."""
    if address := conf.artifact_store():
        return _bucket(address, conf.cache_dir(), conf.cache_bytes())
    return _folder(conf.artifact_dir())
