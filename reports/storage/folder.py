"""Report files in one folder of a local or shared file system.

A file is flushed to disk before it gets its name, and the folder is flushed after.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from reports.storage.seam import MARKER, ArtifactStore
from reports.storage.stored import StoredFile, file_sha256, hashes


class FolderStore(ArtifactStore):
    """Files below one folder, which all web and worker machines share."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def keep(self, scratch: Path, name: str) -> StoredFile:
        """Flush the scratch file to disk and give it its name; from another disk it is copied first."""
        stored = StoredFile(name=name, bytes=scratch.stat().st_size, sha256=file_sha256(scratch))
        final = self.path(name)
        final.parent.mkdir(parents=True, exist_ok=True)
        try:
            _flush(scratch)
            scratch.replace(final)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy(scratch, final)
        hashes.remember(final, stored.sha256)
        _flush_folder(final.parent)
        return stored

    def path(self, name: str) -> Path:
        """The path of a stored name; a name never leaves the root."""
        path = (self.root / name).resolve()
        if not path.is_relative_to(self.root.resolve()):
            raise ValueError("a stored name must stay below the root")
        return path

    def local_path(self, name: str) -> Path | None:
        """The path of a stored name, there or not."""
        return self.path(name)

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
            return hashes.of(self.path(name)) == sha256
        except FileNotFoundError:
            return False

    def open(self, name: str, start: int, length: int) -> BinaryIO:
        """The file from a place on."""
        file = self.path(name).open("rb")
        file.seek(start)
        return file

    def remove(self, name: str) -> None:
        """Remove a stored file; one that is gone already is fine."""
        self.path(name).unlink(missing_ok=True)

    def walk(self) -> Iterator[tuple[str, float]]:
        """All files with their time of last change (seconds since 1970); the marker is none of them."""
        for path in sorted(self.root.rglob("*")) if self.root.exists() else []:
            try:
                if path.is_file() and path.name != MARKER:
                    yield path.relative_to(self.root).as_posix(), path.stat().st_mtime
            except FileNotFoundError:
                continue

    def read_marker(self) -> str | None:
        """Whose folder this is; None where nobody has said so.

        Raises:
            FileNotFoundError: The folder itself is not there: a mount that was lost.
        """
        # Listing the folder is what a hung or lost mount does not answer.
        next(self.root.iterdir(), None)
        try:
            return (self.root / MARKER).read_text().strip()
        except FileNotFoundError:
            return None

    def write_marker(self, text: str) -> None:
        """Say whose folder this is."""
        (self.root / MARKER).write_text(text + "\n")
        _flush(self.root / MARKER)

    def readable(self) -> tuple[Path, ...]:
        """The folder itself."""
        return (self.root,)

    def is_local(self) -> bool:
        """A web server beside this process may read the folder."""
        return True


def _copy(scratch: Path, final: Path) -> None:
    beside = final.with_name(final.name + ".part")
    try:
        shutil.copyfile(scratch, beside)
        _flush(beside)
        beside.replace(final)
    finally:
        beside.unlink(missing_ok=True)
    scratch.unlink()


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
