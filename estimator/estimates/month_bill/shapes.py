"""Rows of one shape are read alike: one is read by the rules, the others by the sums that its reading left behind.

The shape of a usage object is everything of it but its whole numbers: keys, nesting, words. What the readers of
providers' objects do with the numbers of one object is traced (`engine.cost.traced`); where the comparisons of another
come out alike its counts are the same sums of its own numbers. What does not fit is read by the rules, row by row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.engine.cost.meters import meter_of_usage
from estimator.engine.cost.traced import ZERO, Trace, Traced
from estimator.engine.cost.usage_object import ReadUsage
from estimator.engine.errors import InvalidInputError
from estimator.estimates.month_bill.objects import object_in, provider_row
from estimator.estimates.month_bill.row import MAX_COUNT, WORDS

Numbers = NDArray[np.int64]
_MOST_READINGS = 64
_MOST_FAILURES = 8


class OddRowError(Exception):
    """A row that has no shape: it is read by the rules."""


def leaves(raw: Mapping[str, Any], numbers: list[int]) -> tuple[Any, ...]:
    """The shape of an object; its whole numbers go into `numbers`, in order.

    Raises:
        OddRowError: It holds what no shape has, such as a number with a fraction.
    """
    parts: list[Any] = []
    for name, value in raw.items():
        kind = type(value)
        if kind is int:
            numbers.append(value)
            parts.append(name)
        elif kind is dict:
            parts.append((name, leaves(value, numbers)))
        elif kind is str or kind is bool or value is None:
            parts.append((name, kind, value))
        elif kind is list:
            parts.append((name, kind, tuple(leaves(_object(part), numbers) for part in value)))
        else:
            raise OddRowError
    return tuple(parts)


def _object(part: Any) -> dict[str, Any]:
    if type(part) is not dict:
        raise OddRowError
    return part


def _traced(value: Any, trace: Trace, places: Iterator[int]) -> Any:
    """The object with its whole numbers traced, in the order of `leaves`."""
    if type(value) is int:
        return trace.number(value, next(places))
    if isinstance(value, dict):
        return {name: _traced(part, trace, places) for name, part in value.items()}
    return [_traced(part, trace, places) for part in value] if isinstance(value, list) else value


@dataclass(slots=True)
class Reading:
    """What the reading of one object left: counts as sums of its numbers, and the comparisons that must come out alike.

    Columns of `counts` and `asked` are sums: a coefficient for each number, the constant last. `codes` keeps the places
    of how rows were sent, by their words.
    """

    keys: tuple[str, ...]
    counts: Numbers
    asked: Numbers
    is_zero: NDArray[np.bool_]
    outcomes: NDArray[np.bool_]
    read: ReadUsage | None
    codes: dict[Any, int] = field(default_factory=dict)

    def fits(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Which rows of numbers it holds for."""
        if not self.asked.shape[1]:
            return np.ones(len(numbers), dtype=np.bool_)
        sums = numbers @ self.asked[:-1] + self.asked[-1]
        return np.asarray((np.where(self.is_zero, sums == 0, sums < 0) == self.outcomes).all(axis=1))

    def of(self, numbers: Numbers) -> Numbers:
        """The counts of rows of numbers, a column for each key."""
        return np.asarray(numbers @ self.counts[:-1] + self.counts[-1])


class Read(NamedTuple):
    """Rows that one reading holds for: their places, and their counts."""

    reading: Reading
    places: Numbers
    counts: Numbers


class Shape:
    """All readings of one shape that were met."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def read(self, numbers: Numbers, row: Callable[[int], Mapping[str, Any]]) -> Iterator[Read]:
        """Rows by the reading that holds for them; those that none holds for are left out.

        Args:
            numbers: the whole numbers of each row.
            row: a row by its place.
        """
        left = np.flatnonzero(((numbers >= 0) & (numbers <= MAX_COUNT)).all(axis=1))
        for reading in self.readings:
            here = reading.fits(numbers[left])
            if here.any():
                yield from _read(reading, numbers, left[here])
                left = left[~here]
        failures = 0
        while len(left) and len(self.readings) < _MOST_READINGS and failures < _MOST_FAILURES:
            found = read_once(row(int(left[0])))
            here = np.zeros(len(left), dtype=np.bool_) if found is None else found.fits(numbers[left])
            if found is None or not here[0]:
                failures, left = failures + 1, left[1:]
                continue
            self.readings.append(found)
            yield from _read(found, numbers, left[here])
            left = left[~here]


def _read(reading: Reading, numbers: Numbers, places: Numbers) -> Iterator[Read]:
    counts = reading.of(numbers[places])
    sound = ((counts >= 0) & (counts <= MAX_COUNT)).all(axis=1)
    yield Read(reading, places[sound], counts[sound])


def read_once(row: Mapping[str, Any]) -> Reading | None:
    """The reading of one row; None where it cannot be billed."""
    name = object_in(row)
    told = {key: value for key, value in row.items() if key not in WORDS} if name is None else row[name]
    numbers: list[int] = []
    leaves(told, numbers)
    trace = Trace(len(numbers))
    traced = _traced(told, trace, iter(range(len(numbers))))
    try:
        if name is None:
            return _reading(trace, _own_counts(traced), None)
        read = provider_row({**row, name: traced}, WORDS)
        return None if read is None else _reading(trace, read.counts, read.read)
    except (InvalidInputError, ValueError):
        return None


def _own_counts(told: Mapping[str, Any]) -> dict[str, Decimal]:
    """Counts of a row by our own keys; a member that is empty counts nothing."""
    for key in told:
        meter_of_usage(key)
    if odd := [value for value in told.values() if not isinstance(value, Traced) and value not in (None, "")]:
        raise ValueError(odd)
    return {key: value for key, value in told.items() if isinstance(value, Traced)}


def _reading(trace: Trace, counts: Mapping[str, Decimal], read: ReadUsage | None) -> Reading:
    forms = [count.form if isinstance(count, Traced) else trace.constant(count) for count in counts.values()]
    return Reading(
        keys=tuple(counts),
        counts=_columns(forms, trace.size),
        asked=_columns([form for form, _kind in trace.asked], trace.size),
        is_zero=np.array([kind == ZERO for _form, kind in trace.asked], dtype=np.bool_),
        outcomes=np.array(list(trace.asked.values()), dtype=np.bool_),
        read=read,
    )


def _columns(forms: Sequence[Sequence[int]], size: int) -> Numbers:
    return np.array(forms, dtype=np.int64).reshape(len(forms), size + 1).T
