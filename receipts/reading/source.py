"""Looks values up in a parsed file and remembers what was never looked at."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from receipts.reading.receipt import ReadError, Scalar

_NUMBER = re.compile(r"[+-]?(?:\d{1,25}(?:\.\d{0,25})?|\.\d{1,25})(?:[eE][+-]?\d{1,3})?\Z")
_LONGEST_TEXT = 200
_MOST_UNREAD = 100

SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_WRITTEN = {
    "nanoseconds": "ns", "microseconds": "us", "milliseconds": "ms", "millisecond": "ms", "msec": "ms",
    "sec": "s", "secs": "s", "second": "s", "seconds": "s",
}  # fmt: skip


def seconds_of(unit: str) -> float | None:
    """Seconds of a unit of time as a file writes it, of ms/token and s/token too; None for another unit."""
    name = unit.strip().lower().removesuffix("/token").removesuffix(" per token")
    return SECONDS.get(_WRITTEN.get(name, name))


def number_of(value: Any) -> float | None:
    """A number, also one written as text; None for anything else. Infinity and NaN stay for the caller to judge."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    if isinstance(value, str) and _NUMBER.match(value.strip()):
        return float(value)
    return None


def text_of(value: Any) -> str | None:
    """A short text without control characters; None for anything else and for an empty one."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    kept = "".join(sign for sign in str(value)[:_LONGEST_TEXT] if sign.isprintable()).strip()
    return kept or None


def setting_of(value: Any) -> Scalar | None:
    """A setting of a server: a switch, a finite number or a short text; None for anything else."""
    if isinstance(value, bool):
        return value
    number = number_of(value)
    if number is None:
        return text_of(value)
    return number if math.isfinite(number) else None


def settings_of(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Scalar]:
    """The settings that an object holds under these names."""
    return {name: found for name in names if (found := setting_of(values.get(name))) is not None}


def whole_of(value: Any) -> int | None:
    """A count below a million, such as of GPUs; None for anything else."""
    found = number_of(value)
    return int(found) if found is not None and 0 < found < 1e6 and found == int(found) else None


class Source:
    """An object of a file with its place; `get` takes several spellings of a name, of older and newer versions."""

    def __init__(self, values: Mapping[str, Any], place: str = "") -> None:
        self.values, self.place = values, place
        self._seen: set[str] = set()
        self._below: list[Source] = []

    def at(self, name: str) -> str:
        """Place of a value."""
        return f"{self.place}.{name}" if self.place else name

    def has(self, *names: str) -> str | None:
        """The first spelling that the object holds with a value."""
        return next((name for name in names if self.values.get(name) is not None), None)

    def get(self, *names: str) -> Any:
        """The value of the first spelling that has one."""
        name = self.has(*names)
        self._seen.update(names)
        return None if name is None else self.values[name]

    def text(self, *names: str) -> str | None:
        """A short text."""
        return text_of(self.get(*names))

    def number(self, *names: str) -> float | None:
        """A finite number; None where there is none.

        Raises:
            ReadError: a value that is no finite number.
        """
        name = self.has(*names)
        value = self.get(*names)
        if name is None:
            return None
        found = number_of(value)
        if found is None or not math.isfinite(found):
            raise ReadError("is not a finite number", self.at(name), "not_a_number")
        return found

    def below(self, *names: str) -> "Source | None":
        """An object inside."""
        name = self.has(*names)
        value = self.get(*names)
        if name is None or not isinstance(value, Mapping):
            return None
        found = Source(value, self.at(name))
        self._below.append(found)
        return found

    def every(self, *names: str) -> Iterator["Source"]:
        """Objects of a list inside."""
        name = self.has(*names)
        value = self.get(*names)
        if name is None or not isinstance(value, list):
            return
        for position, one in enumerate(value):
            if isinstance(one, Mapping):
                found = Source(one, f"{self.at(name)}.{position}")
                self._below.append(found)
                yield found

    def look(self, *names: str) -> None:
        """Counts names as read that say nothing of their own."""
        self._seen.update(names)

    def unread(self) -> list[str]:
        """Places that nobody looked at; those that hold nothing are left out."""
        places = [self.at(name) for name, value in self.values.items() if name not in self._seen and _says(value)]
        for one in self._below:
            places += one.unread()
        return [_plain(place) for place in places[:_MOST_UNREAD]]


def _says(value: Any) -> bool:
    return value is not None and value not in ("", [], {})


def _plain(place: str) -> str:
    return "".join(sign for sign in place[:_LONGEST_TEXT] if sign.isprintable())
