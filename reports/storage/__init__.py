"""Where report files live: a folder, or a bucket of an S3 service. `get_storage()` is the seam."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from reports import conf
from reports.storage.seam import ArtifactStore
from reports.storage.stored import StoredFile, file_sha256

__all__ = ["ArtifactStore", "StoredFile", "file_sha256", "get_storage", "rows_path"]


def rows_path(version: Any) -> Path:
    """The local path of the rows file of a complete version.

    Raises:
        ReportError: It is not there, or is damaged (then a PermanentReportError).
    """
    return get_storage().sound_path(version.rows_file, version.rows_file_bytes, version.rows_file_sha256)


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
