"""What a store of report files can do. A folder and a bucket each do it; nothing else knows where files are.

A file appears under its name complete or not at all, and names hold lease tokens, so that none is ever used again.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from reports import conf
from reports.errors import PermanentReportError, ReportError
from reports.storage.stored import StoredFile, hashes

# Not a report file: it says whose store this is.
MARKER = ".aforo-store"
# Where what is being written is kept, below the folder for scratch.
WRITING = "writing"


class ArtifactStore(ABC):
    """Report files by name, and the local disk for what is being written."""

    def scratch(self, name: str) -> Path:
        """A local path to write to before `keep`; its name holds the writer's token, so no two writers share it."""
        folder = conf.scratch_dir() / WRITING
        folder.mkdir(parents=True, exist_ok=True)
        return folder / (name.replace("/", "+") + ".part")

    @abstractmethod
    def keep(self, scratch: Path, name: str) -> StoredFile:
        """Publish what was written under a name; the scratch file is gone then."""

    @abstractmethod
    def local_path(self, name: str) -> Path | None:
        """A path at which DuckDB can read the file, fetched if need be; None where there is no such file."""

    @abstractmethod
    def size(self, name: str) -> int | None:
        """Bytes of a stored file, None when it is not there."""

    @abstractmethod
    def is_sound(self, name: str, size: int | None, sha256: str) -> bool:
        """Whether a stored file is there as it was recorded, as far as the store can tell without moving it."""

    def are_sound(self, files: Sequence[StoredFile]) -> list[bool]:
        """Of each of several files whether it is sound."""
        return [self.is_sound(file.name, file.bytes, file.sha256) for file in files]

    @abstractmethod
    def open(self, name: str, start: int, length: int) -> BinaryIO:
        """So many bytes of a stored file from a place on, as something to read blocks from and to close."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a stored file; one that is gone already is fine."""

    @abstractmethod
    def walk(self) -> Iterator[tuple[str, float]]:
        """All report files with their time of last change (seconds since 1970)."""

    @abstractmethod
    def read_marker(self) -> str | None:
        """Whose store this is; None where nobody has said so."""

    @abstractmethod
    def write_marker(self, text: str) -> None:
        """Say whose store this is."""

    @abstractmethod
    def readable(self) -> tuple[Path, ...]:
        """Local folders in which `local_path` lies."""

    def link(self, name: str, *, file_name: str, media_type: str) -> str | None:
        """An address at which the reader gets the file from the store itself; None where the store has none."""
        return None

    def is_local(self) -> bool:
        """Whether a web server beside this process can send the files from its own disk."""
        return False

    def forget_hashes(self) -> None:
        """Read every file anew when it is next asked for, changed or not: disks forget without a new time."""
        hashes.forget()

    def check(self, name: str, size: int | None, sha256: str) -> None:
        """Whether a stored file is as it was recorded.

        Raises:
            ReportError: It is not there (`file_error`).
            PermanentReportError: It is there and is not what was written (`file_error`).
        """
        if self.is_sound(name, size, sha256):
            return
        if not name or self.size(name) is None:
            raise _gone()
        raise _damaged()

    def sound_path(self, name: str, size: int | None, sha256: str) -> Path:
        """The local path of a stored file that is as it was recorded; everything that reads one comes through here.

        Raises:
            ReportError: It is not there (`file_error`).
            PermanentReportError: It is there and is not what was written (`file_error`).
        """
        path = self.local_path(name) if name else None
        try:
            if path is None or size is None:
                raise _gone()
            if path.stat().st_size != size or hashes.of(path) != sha256:
                raise _damaged()
        except FileNotFoundError:
            raise _gone() from None
        return path

    def sound_paths(self, files: Sequence[StoredFile]) -> tuple[Path, ...]:
        """The local paths of files that are as they were recorded, in the given order.

        Raises:
            ReportError: As `sound_path` does.
        """
        return tuple(self.sound_path(file.name, file.bytes, file.sha256) for file in files)


def _gone() -> ReportError:
    return ReportError("file_error", _("The stored file is not there; rebuild the report."))


def _damaged() -> PermanentReportError:
    return PermanentReportError(
        "file_error", _("The stored file is damaged: it is not what was written; rebuild the report.")
    )
