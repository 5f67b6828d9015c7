"""Where report files live. One class is the seam: object storage needs these methods, nothing else knows paths.

A file appears under its name complete or not at all: it is written under a scratch name in the same file system,
flushed to disk, then renamed, and the folder is flushed too.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.utils.module_loading import import_string

from reports import conf

_BLOCK = 1 << 20


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


@lru_cache(maxsize=4)
def _storage(dotted: str, root: Path) -> ArtifactStorage:
    root.mkdir(parents=True, exist_ok=True)
    storage: ArtifactStorage = import_string(dotted)(root)
    return storage


def get_storage() -> ArtifactStorage:
    """The storage that the settings name."""
    return _storage(conf.storage_class(), conf.artifact_dir())
