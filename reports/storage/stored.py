"""What is known of a stored file: name, size and sha256, and which hashes this process has seen."""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

BLOCK = 1 << 20
_MOST_KNOWN = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file as it was kept: name relative to the root, size in bytes, hexadecimal sha256."""

    name: str
    bytes: int | None
    sha256: str


def file_sha256(path: Path) -> str:
    """Hexadecimal sha256 of a file, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
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


hashes = KnownHashes()
