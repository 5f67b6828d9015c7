"""Differences of JSON-able values, leaf by leaf."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_ABSENT = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A leaf that differs: dotted path, the old and the new value; None where there was nothing."""

    path: str
    old: Any
    new: Any

    def as_dict(self) -> dict[str, Any]:
        """The change as JSON."""
        return {"path": self.path, "old": self.old, "new": self.new}


def changes(old: Any, new: Any, path: str = "") -> Iterator[Change]:
    """Every leaf that differs, in order of path; lists are compared entry by entry."""
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            yield from changes(old.get(key, _ABSENT), new.get(key, _ABSENT), f"{path}.{key}" if path else str(key))
    elif isinstance(old, list) and isinstance(new, list) and any(isinstance(e, Mapping | list) for e in [*old, *new]):
        for number in range(max(len(old), len(new))):
            before = old[number] if number < len(old) else _ABSENT
            after = new[number] if number < len(new) else _ABSENT
            yield from changes(before, after, f"{path}[{number}]")
    else:
        yield Change(path=path, old=None if old is _ABSENT else old, new=None if new is _ABSENT else new)
