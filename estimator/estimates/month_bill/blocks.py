"""Rows of a file into columns, some thousands at once: what one shape has in common is worked out once (`shapes`)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from estimator.engine.cost.meters import meter_of_usage
from estimator.engine.errors import InvalidInputError
from estimator.estimates.month_bill.objects import CHANNEL_OF_ANSWERS, MODELS, TIMES, object_in, words_of
from estimator.estimates.month_bill.row import (
    MAX_REQUESTS,
    QUARTER_MINUTES,
    WORDS,
    Sent,
    read_row,
    read_sent,
)
from estimator.estimates.month_bill.shapes import Numbers, OddRowError, Read, Shape, leaves

ROWS = 8192
_MOST_SHAPES = 500
_FEW = 4
_QUARTER_S = 60 * QUARTER_MINUTES
_IN_ROW = ("model", "day", "channel", "endpoint_class", "search_context_size")
_SECOND = "2026-11-30T10:00:00Z"

Mapped = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A row that is not billed: its number in the file (the first row of data is 1) and why."""

    row: int
    reason: str


@dataclass(slots=True, kw_only=True)
class Block:
    """Columns of some rows, as in `Usage`; `places` says which rows of the block they are, the others are in `bad`."""

    size: int
    places: Numbers
    codes: Numbers
    requests: Numbers
    counts: dict[str, Numbers]
    apart: Any
    bad: list[tuple[int, str]]
    ignored: Counter[str]


@dataclass
class _Found:
    """A block that is being filled."""

    size: int
    counts: dict[str, Numbers] = field(default_factory=dict)
    bad: list[tuple[int, str]] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.codes = np.full(self.size, -1, dtype=np.int64)
        self.requests = np.ones(self.size, dtype=np.int64)
        self.apart = np.zeros(self.size, dtype=np.bool_)

    def column(self, name: str) -> Numbers:
        # Two names of one meter are one column.
        key = meter_of_usage(name).usage_key
        column = self.counts.get(key)
        if column is None:
            column = self.counts[key] = np.zeros(self.size, dtype=np.int64)
        return column

    def block(self) -> Block:
        good = np.flatnonzero(self.codes >= 0)
        return Block(
            size=self.size,
            places=good,
            codes=self.codes[good],
            requests=self.requests[good],
            counts={key: column[good] for key, column in self.counts.items()},
            apart=self.apart[good],
            bad=sorted(self.bad),
            ignored=self.ignored,
        )


class Reader:
    """Reads rows block by block; keeps how rows were sent, and the shapes that it met.

    `keys` are the usage keys of the columns of a CSV, None where each row names its own.
    """

    def __init__(self, keys: list[str] | None) -> None:
        self.keys = keys
        self.places: dict[Sent, int] = {}
        self._shapes: dict[Any, Shape] = {}

    def block(self, rows: Sequence[Mapped]) -> Block:
        """The columns of rows; None stands for a line that is no row."""
        found = _Found(len(rows))
        slow: list[int] = []
        for key, places, numbers, words in self._by_shape(rows, slow):
            slow += self._read_shape(key, rows, places, numbers, words, found)
        for place in slow:
            self._read_by_rules(rows[place], place, found)
        return found.block()

    def _by_shape(self, rows: Sequence[Mapped], slow: list[int]) -> list[tuple[Any, list[int], list[Any], list[Any]]]:
        """Rows by shape: places, whole numbers and words of each; those without a shape go into `slow`."""
        seen: dict[Any, tuple[list[int], list[Any], list[Any]]] = defaultdict(lambda: ([], [], []))
        shape_of = _shape_of_columns(self.keys) if self.keys is not None else _shape_of
        for place, row in enumerate(rows):
            try:
                if row is None:
                    raise OddRowError
                numbers: list[int] = []
                key = shape_of(row, numbers)
                words = _words(row)
                places, all_numbers, all_words = seen[key]
            except (OddRowError, TypeError, ValueError, RecursionError):
                slow.append(place)
                continue
            places.append(place)
            all_numbers.append(numbers)
            all_words.append(words)
        found = []
        for key, (places, all_numbers, all_words) in seen.items():
            new = key not in self._shapes
            if new and (len(places) < _FEW or len(self._shapes) >= _MOST_SHAPES):
                slow += places
            else:
                found.append((key, places, all_numbers, all_words))
        return found

    def _read_shape(
        self, key: Any, rows: Sequence[Mapped], places: list[int], numbers: list[Any], words: list[Any], found: _Found
    ) -> list[int]:
        """Reads rows of one shape into `found`; the places of those that are to be read by the rules."""
        shape = self._shapes.setdefault(key, Shape())
        try:
            table = np.array(numbers, dtype=np.int64).reshape(len(places), -1)
        except OverflowError:
            return places
        at = np.array(places, dtype=np.int64)
        left = set(places)
        for read in shape.read(table, lambda place: _as_json(rows[places[place]], self.keys)):
            taken = self._take(read, at, rows, words, found)
            left.difference_update(taken)
        return sorted(left)

    def _take(self, read: Read, at: Numbers, rows: Sequence[Mapped], words: list[Any], found: _Found) -> list[int]:
        """Writes rows into the columns; their places in the block."""
        reading, codes, requests = read.reading, [], []
        for place in read.places.tolist():
            known, times = words[place]
            code = reading.codes.get(known)
            if code is None:
                code = self._code(rows[int(at[place])], reading.read)
                if code >= 0:
                    reading.codes[known] = code
            codes.append(code)
            requests.append(times)
        placed = np.array(codes, dtype=np.int64)
        sound = placed >= 0
        here = at[read.places[sound]]
        found.codes[here] = placed[sound]
        found.requests[here] = np.array(requests, dtype=np.int64)[sound]
        for number, name in enumerate(reading.keys):
            found.column(name)[here] = read.counts[sound, number]
        if reading.read is not None:
            found.apart[here] = True
            found.ignored.update(dict.fromkeys(reading.read.ignored, len(here)))
        taken: list[int] = here.tolist()
        return taken

    def _code(self, row: Mapped, read: Any) -> int:
        """The place of how a row was sent; -1 where the rules refuse it, for they say why."""
        assert row is not None  # noqa: S101  a row without a shape never comes here
        try:
            sent = read_sent(row if read is None else {**row, **words_of(row, read)})
        except (InvalidInputError, ValueError):
            return -1
        return self.places.setdefault(sent, len(self.places))

    def _read_by_rules(self, row: Mapped, place: int, found: _Found) -> None:
        try:
            read = read_row(row, self.keys)
        except (InvalidInputError, ValueError) as wrong:
            found.bad.append((place, str(wrong)))
            return
        found.codes[place] = self.places.setdefault(read.sent, len(self.places))
        found.requests[place] = read.requests
        found.apart[place] = read.apart
        found.ignored.update(read.ignored)
        for key, count in read.counts:
            found.column(key)[place] = count


def _shape_of(row: Mapping[str, Any], numbers: list[int]) -> Any:
    """The shape of a JSON object."""
    name = object_in(row)
    if name is None:
        return leaves({key: value for key, value in row.items() if key not in WORDS}, numbers)
    raw = row[name]
    if type(raw) is str:
        raw = orjson.loads(raw)
    if type(raw) is not dict or not raw:
        raise OddRowError
    return (tuple(row), name, row.get(CHANNEL_OF_ANSWERS), leaves(raw, numbers))


def _shape_of_columns(keys: Sequence[str]) -> Callable[[Mapping[str, Any], list[int]], Any]:
    """The shape of a row of a CSV with these columns of counts."""

    def shape_of(row: Mapping[str, Any], numbers: list[int]) -> Any:
        if object_in(row) is not None:
            return _shape_of(row, numbers)
        numbers += [int(cell) if (cell := row.get(key)) else 0 for key in keys]
        return "columns"

    return shape_of


def _as_json(row: Mapped, keys: Sequence[str] | None) -> Mapping[str, Any]:
    """A row as JSON has it: an object for its text, and for digits in cells numbers, one for each of the columns."""
    assert row is not None  # noqa: S101  a row without a shape never comes here
    name = object_in(row)
    if name is not None:
        return {**row, name: orjson.loads(row[name])} if isinstance(row[name], str) else row
    if keys is None:
        return row
    counts = {key: int(cell) if (cell := row.get(key)) else 0 for key in keys}
    return {word: row[word] for word in WORDS if word in row} | counts


def _words(row: Mapping[str, Any]) -> tuple[Any, int]:
    """What decides how a row was sent, times to their quarter of an hour; and for how many requests it stands."""
    get = row.get
    times = get("requests")
    if times is None or times == "":
        times = 1
    elif type(times) is str:
        times = int(times)
    if type(times) is not int or not 0 <= times <= MAX_REQUESTS:
        raise OddRowError
    words = [get(name) for name in _IN_ROW]
    if not words[0]:
        words += [get(name) for name in MODELS]
    at = get("at")
    if at:
        words.append(_quarter(at))
    elif not words[1]:
        words += [_quarter(get(name)) for name in TIMES]
    key = tuple(words)
    hash(key)
    return key, times


def _quarter(value: Any) -> Any:
    """A key that times of one quarter of an hour share, where it is plain that they do; else the time itself."""
    if type(value) is int:
        return value // _QUARTER_S
    if type(value) is str and len(value) == len(_SECOND) and value[13:20:3] == "::Z" and value.isascii():
        minutes, seconds = value[14:16], value[17:19]
        if minutes.isdigit() and seconds.isdigit() and minutes < "60" and seconds < "60":
            return value[:14], int(minutes) // QUARTER_MINUTES
    return (type(value), value)
