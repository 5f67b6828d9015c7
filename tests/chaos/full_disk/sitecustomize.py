"""Python runs this at the start of a process whose PYTHONPATH names its folder: each seventh kept file meets ENOSPC."""

import errno
from itertools import count
from pathlib import Path
from typing import Any

_EVERY = 7
_kept = count(1)
_replace = Path.replace


def _replace_if_there_is_room(self: Path, target: Any) -> Path:
    if self.suffix == ".part" and next(_kept) % _EVERY == 0:
        raise OSError(errno.ENOSPC, "No space left on device")
    return _replace(self, target)


Path.replace = _replace_if_there_is_room  # type: ignore[method-assign]
