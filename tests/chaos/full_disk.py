"""A storage whose disk is full at every seventh write."""

import errno
from itertools import count
from pathlib import Path

from reports.storage import ArtifactStorage, StoredFile

_EVERY = 7
_writes = count(1)


class FullDisk(ArtifactStorage):
    """ENOSPC at the k-th write."""

    def keep(self, scratch: Path, name: str) -> StoredFile:
        if next(_writes) % _EVERY == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().keep(scratch, name)
