"""A file that work makes under its lease: it is there under its name once a row points to it, or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reports.errors import LeaseLostError
from reports.storage import ArtifactStore, StoredFile, get_storage


class NewFile:
    """A file in the making: written to `scratch`, then kept, then `recorded` by the row that points to it."""

    def __init__(self, storage: ArtifactStore, name: str) -> None:
        self._storage = storage
        self._name = name
        self.scratch: Path = storage.scratch(name)
        self.recorded = False

    def keep(self) -> StoredFile:
        """Give the written file its name."""
        return self._storage.keep(self.scratch, self._name)


@contextmanager
def new_file(name: str) -> Iterator[NewFile]:
    """A new file of this name, which holds the token of the lease; removed on every way out that did not record it.

    Raises:
        LeaseLostError: Nothing went wrong and the file was not recorded: somebody else has the work.
    """
    storage = get_storage()
    file = NewFile(storage, name)
    try:
        yield file
    finally:
        file.scratch.unlink(missing_ok=True)
        if not file.recorded:
            storage.remove(name)
    if not file.recorded:
        raise LeaseLostError
