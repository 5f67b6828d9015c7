"""Values that were made of something once and are kept beside it: at most so many, and the oldest go first."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

ValueT = TypeVar("ValueT")


class Recent:
    """Values by key, the `most` that were asked for last.

    A key names all that its value depends on beside what the object belongs to (a catalog revision, a plan).

    >>> squares = Recent(most=2)
    >>> squares.of(3, lambda: 9), squares.of(3, lambda: 0)
    (9, 9)
    """

    __slots__ = ("_lock", "_most", "_values")

    def __init__(self, most: int = 32) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def of(self, key: Hashable, build: Callable[[], ValueT]) -> ValueT:
        """The value of a key, made by `build` where it is not kept; what raises is not kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                found: ValueT = self._values[key]
                return found
        made = build()
        with self._lock:
            self._values[key] = made
            if len(self._values) > self._most:
                self._values.popitem(last=False)
        return made

    def __len__(self) -> int:
        return len(self._values)
