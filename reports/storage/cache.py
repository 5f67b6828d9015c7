"""Files of a bucket on the local disk: as many as a bound allows, those not used for longest go first."""

import os
import time
from collections.abc import Callable
from pathlib import Path

# Longer than a step reads one file. DuckDB opens files when it comes to them, so none may go under its feet.
_IN_USE_S = 900.0


class LocalCache:
    """One folder of one machine, shared by its processes; names hold lease tokens, so nothing in it gets old."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder = folder
        self._most_bytes = most_bytes

    def path(self, name: str) -> Path:
        """Where a stored name lies if it is here."""
        return self.folder / name.replace("/", "+")

    def used(self, name: str) -> Path | None:
        """The file if it is here, noted as just used."""
        path = self.path(name)
        try:
            os.utime(path)
        except FileNotFoundError:
            return None
        return path

    def take(self, scratch: Path, name: str) -> Path:
        """Take over a file that lies on the same disk."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(name)
        scratch.replace(path)
        os.utime(path)
        self.make_room()
        return path

    def fill(self, name: str, fetch: Callable[[Path], None]) -> Path:
        """Have a file fetched; others see it whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        coming = self.folder / f".{os.getpid()}-{time.monotonic_ns()}.coming"
        try:
            fetch(coming)
            return self.take(coming, name)
        finally:
            coming.unlink(missing_ok=True)

    def drop(self, name: str) -> None:
        """Forget a file."""
        self.path(name).unlink(missing_ok=True)

    def make_room(self) -> None:
        """Remove the files not used for longest until the bound holds; those in use stay, whatever the bound."""
        found = []
        for entry in os.scandir(self.folder):
            try:
                known = entry.stat()
            except FileNotFoundError:
                continue
            found.append((known.st_mtime, known.st_size, entry.path))
        held = sum(size for _used, size, _path in found)
        idle_before = time.time() - _IN_USE_S
        for used, size, path in sorted(found):
            if held <= self._most_bytes or used > idle_before:
                return
            Path(path).unlink(missing_ok=True)
            held -= size
