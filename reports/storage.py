"""Where report files live. One class is the seam: object storage needs these methods, nothing else knows paths.

A file appears under its name complete or not at all: it is written under a scratch name in the same file system,
flushed to disk, then renamed, and the folder is flushed too.
"""

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from reports import conf
from reports.errors import PermanentReportError, ReportError

_BLOCK = 1 << 20
_MOST_KNOWN = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file as it was kept: name relative to the root, size in bytes, hexadecimal sha256."""

    name: str
    bytes: int
    sha256: str


def file_sha256(path: Path) -> str:
    """Hexadecimal sha256 of a file, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


class KnownHashes:
    """sha256 of files that were read once, remembered until a file changes: by inode, size and times of change."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int, int, int, int], str] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, path: Path) -> str:
        """Hexadecimal sha256 of a file; read only if it is not the file that was read before.

        Raises:
            FileNotFoundError: There is no such file.
        """
        key = self._key(path)
        with self._lock:
            known = self._known.get(key)
        return known or self._remember(key, file_sha256(path))

    def forget(self) -> None:
        """Read every file anew from now on."""
        with self._lock:
            self._known.clear()

    def remember(self, path: Path, sha256: str) -> None:
        """Note the hash of a file that was just written."""
        self._remember(self._key(path), sha256)

    def _remember(self, key: tuple[str, int, int, int, int], sha256: str) -> str:
        with self._lock:
            self._known[key] = sha256
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return sha256

    def _key(self, path: Path) -> tuple[str, int, int, int, int]:
        found = path.stat()
        # The time of change (ctime) moves with every write; that of modification can be set back.
        return str(path), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


_hashes = KnownHashes()


class ArtifactStorage:
    """Files below one folder of the local (or shared) file system."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def scratch(self, name: str) -> Path:
        """A path to write to before `keep`; its name holds the writer's token, so no two writers share it."""
        path = self.path(name).with_name(self.path(name).name + ".part")
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def keep(self, scratch: Path, name: str) -> StoredFile:
        """Flush the scratch file to disk and give it its name."""
        with scratch.open("rb+") as file:
            os.fsync(file.fileno())
        stored = StoredFile(name=name, bytes=scratch.stat().st_size, sha256=file_sha256(scratch))
        final = self.path(name)
        scratch.replace(final)
        _hashes.remember(final, stored.sha256)
        descriptor = os.open(final.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return stored

    def path(self, name: str) -> Path:
        """The local path of a stored name; a name never leaves the root."""
        path = (self.root / name).resolve()
        if not path.is_relative_to(self.root.resolve()):
            raise ValueError("a stored name must stay below the root")
        return path

    def size(self, name: str) -> int | None:
        """Bytes of a stored file, None when it is not there."""
        try:
            return self.path(name).stat().st_size
        except FileNotFoundError:
            return None

    def is_sound(self, name: str, size: int | None, sha256: str) -> bool:
        """Whether a stored file is there byte by byte as it was recorded."""
        if not name or size is None or self.size(name) != size:
            return False
        try:
            return _hashes.of(self.path(name)) == sha256
        except FileNotFoundError:
            return False

    def forget_hashes(self) -> None:
        """Read every file anew when it is next asked for, changed or not: disks forget without a new time."""
        _hashes.forget()

    def sound_path(self, name: str, size: int | None, sha256: str) -> Path:
        """The local path of a stored file that is as it was recorded; everything that reads one comes through here.

        Raises:
            ReportError: It is not there (`file_error`).
            PermanentReportError: It is there and is not what was written (`file_error`).
        """
        if self.is_sound(name, size, sha256):
            return self.path(name)
        if not name or self.size(name) is None:
            raise ReportError("file_error", _("The stored file is not there; rebuild the report."))
        raise PermanentReportError(
            "file_error", _("The stored file is damaged: it is not what was written; rebuild the report.")
        )

    def remove(self, name: str) -> None:
        """Remove a stored file; one that is gone already is fine."""
        self.path(name).unlink(missing_ok=True)

    def walk(self) -> Iterator[tuple[str, float]]:
        """All files with their time of last change (seconds since 1970)."""
        for path in sorted(self.root.rglob("*")) if self.root.exists() else []:
            try:
                if path.is_file():
                    yield path.relative_to(self.root).as_posix(), path.stat().st_mtime
            except FileNotFoundError:
                continue


def rows_path(version: Any) -> Path:
    """The local path of the rows file of a complete version.

    Raises:
        ReportError: It is not there, or is damaged (then a PermanentReportError).
    """
    return get_storage().sound_path(version.rows_file, version.rows_file_bytes, version.rows_file_sha256)


@lru_cache(maxsize=4)
def _storage(dotted: str, root: Path) -> ArtifactStorage:
    root.mkdir(parents=True, exist_ok=True)
    storage: ArtifactStorage = import_string(dotted)(root)
    return storage


def get_storage() -> ArtifactStorage:
    """The storage that the settings name."""
    return _storage(conf.storage_class(), conf.artifact_dir())
