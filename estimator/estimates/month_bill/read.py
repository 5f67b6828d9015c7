"""A month's usage from CSV or NDJSON into columns: one row a request, or as many as `requests` says.

A row holds counts by our usage keys, or a provider's usage object (`objects`). Lines are read one by one: what is kept
of a file is its columns, eight bytes a count.
"""

import csv
import datetime
import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.engine.cost.meters import meter_of_usage
from estimator.engine.cost.price_list import STANDARD
from estimator.engine.cost.price_rules import LOW, SEARCH_CONTEXTS
from estimator.engine.errors import InvalidInputError
from estimator.estimates.month_bill.objects import OBJECTS, provider_row

WORDS = ("model", "day", "at", "channel", "endpoint_class", "search_context_size", "requests")
MAX_COUNT = 10**15
MAX_REQUESTS = 10**9
QUARTER_MINUTES = 15
MAX_NAMED = 100
MAX_WORD_CHARACTERS = 300
BYTE_ORDER_MARK = "\ufeff"
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A row that is not billed: its number in the file (the first row of data is 1) and why."""

    row: int
    reason: str


class Sent(NamedTuple):
    """How requests were sent: `moment` is a day, or the start of a quarter of an hour in UTC."""

    model: str
    moment: str
    channel: str = STANDARD
    place: str = ""
    search_context: str = LOW

    @property
    def day(self) -> str:
        """The day, UTC."""
        return self.moment[: len("2026-11-30")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Columns of a month: `groups[codes[i]]` says how row i was sent; counts by usage key.

    `apart[i]` is 1 where the counts of row i came from a provider's object and hold nothing twice, whatever the file's
    own counts do. `ignored` are counts of such objects that no meter counts, each with its number of rows.
    """

    groups: tuple[Sent, ...]
    codes: Counts
    requests: Counts
    counts: Mapping[str, Counts]
    apart: NDArray[np.bool_]
    bad: tuple[BadRow, ...]
    bad_rows: int
    ignored: Mapping[str, int] = field(default_factory=dict)


def read_csv(lines: Iterable[str]) -> Usage:
    """Usage from a CSV with a header: model and day (or at), and as wanted channel, endpoint_class,
    search_context_size, requests and usage keys; or `usage`, a provider's object as JSON text.

    Raises:
        InvalidInputError: A column is missing, or no meter counts it.
    """
    table = csv.reader(lines)
    header = [name.strip().removeprefix(BYTE_ORDER_MARK) for name in next(table, [])]
    keys = _check(header)
    return _columns(_rows(table, header), keys)


def _rows(table: Iterator[list[str]], header: list[str]) -> Iterator[Mapping[str, Any] | None]:
    """Rows as mappings; None for one that is empty, too long or not to be read."""
    while True:
        try:
            row = next(table)
        except StopIteration:
            return
        except csv.Error:
            yield None
            continue
        yield dict(zip(header, row, strict=False)) if row and len(row) <= len(header) else None


def read_ndjson(lines: Iterable[str]) -> Usage:
    """Usage from one JSON object a line, with the same names; a key that no meter counts makes its row a bad one.

    A line may be a provider's whole answer: its `usage` (Gemini: usageMetadata) is read, with the model, time and
    service tier that it names, and the other fields are left alone.
    """
    return _columns((_object(line) for line in lines if line.strip()), None)


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _check(header: list[str]) -> list[str]:
    for name in ("model",):
        if name not in header:
            raise InvalidInputError(f"the column {name} is missing", field=name)
    if "day" not in header and "at" not in header:
        raise InvalidInputError("the column day (or at) is missing", field="day")
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InvalidInputError(f"the column {twice} is there twice", field=twice)
    keys = [name for name in header if name not in WORDS and name not in OBJECTS]
    for key in keys:
        meter_of_usage(key)
    return keys


class _Columns:
    """Columns that grow row by row; a count that a row does not have is 0."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.places: dict[Sent, int] = {}
        self.codes, self.requests, self.apart = array("q"), array("q"), array("b")
        self.counts = {key: array("q") for key in keys}
        self.ignored: Counter[str] = Counter()

    def add(self, row: "_Row") -> None:
        """One row more."""
        held = len(self.codes)
        for key, count in row.counts:
            column = self.counts.setdefault(key, array("q"))
            column.frombytes(bytes(8 * (held - len(column))))
            column.append(count)
        self.codes.append(self.places.setdefault(row.sent, len(self.places)))
        self.requests.append(row.requests)
        self.apart.append(row.apart)
        self.ignored.update(row.ignored)

    def usage(self, bad: list[BadRow], bad_rows: int) -> Usage:
        """The month."""
        for column in self.counts.values():
            column.frombytes(bytes(8 * (len(self.codes) - len(column))))
        return Usage(
            groups=tuple(self.places),
            codes=np.array(self.codes, dtype=np.int64),
            requests=np.array(self.requests, dtype=np.int64),
            counts={key: np.array(column, dtype=np.int64) for key, column in self.counts.items()},
            apart=np.array(self.apart, dtype=np.bool_),
            bad=tuple(bad),
            bad_rows=bad_rows,
            ignored=dict(self.ignored),
        )


def _columns(rows: Iterator[Mapping[str, Any] | None], keys: list[str] | None) -> Usage:
    columns = _Columns(keys or ())
    bad: list[BadRow] = []
    bad_rows = 0
    for number, row in enumerate(rows, start=1):
        try:
            columns.add(_row(row, keys))
        except (InvalidInputError, ValueError) as wrong:
            bad_rows += 1
            if len(bad) < MAX_NAMED:
                bad.append(BadRow(row=number, reason=str(wrong)))
    return columns.usage(bad, bad_rows)


class _Row(NamedTuple):
    sent: Sent
    requests: int
    counts: list[tuple[str, int]]
    apart: bool = False
    ignored: tuple[str, ...] = ()


def _row(row: Mapping[str, Any] | None, keys: list[str] | None) -> _Row:
    if row is None:
        raise ValueError("not a row: an object with a model and a day, or as many cells as columns, is needed")
    told = provider_row(row, WORDS)
    if told is not None:
        row = {**row, **told.words}
    sent = Sent(
        _word(row, "model"), _moment_of(row), _word(row, "channel") or STANDARD, _word(row, "endpoint_class"),
        _word(row, "search_context_size") or LOW,
    )  # fmt: skip
    if not sent.model:
        raise ValueError("a model is needed")
    if sent.search_context not in SEARCH_CONTEXTS:
        raise ValueError(f"search_context_size is one of {', '.join(SEARCH_CONTEXTS)}")
    given = row.get("requests")
    times = 1 if given is None or given == "" else _whole(given, "requests", MAX_REQUESTS)
    if told is not None:
        counts = [(key, _whole(count, key, MAX_COUNT)) for key, count in told.counts.items()]
        return _Row(sent, times, [(key, count) for key, count in counts if count], True, told.ignored)
    return _Row(sent, times, _counts(row, keys))


def _counts(row: Mapping[str, Any], keys: list[str] | None) -> list[tuple[str, int]]:
    """The counts of a row by our usage keys; those of a JSON object are looked up one by one."""
    names = keys if keys is not None else [name for name in row if name not in WORDS and name not in OBJECTS]
    counts = []
    for key in names:
        value = row.get(key)
        if value is None or value == "":
            continue
        count = _whole(value, key, MAX_COUNT)
        if keys is None:
            meter_of_usage(key)
        if count:
            counts.append((key, count))
    return counts


def _word(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a word")
    if not value.isprintable() or len(value) > MAX_WORD_CHARACTERS:
        raise ValueError(f"{name} must be at most {MAX_WORD_CHARACTERS} characters that can be printed")
    return value.strip()


def _whole(value: Any, name: str, most: int) -> int:
    """A whole number from 0 to `most`; CSV has it as text."""
    refused = ValueError(f"{name} must be a whole number from 0 to {most:.0e}")
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise refused
    try:
        number = int(value)
        exact = number == value if not isinstance(value, str) else True
    except (ValueError, OverflowError):
        raise refused from None
    if not exact or not 0 <= number <= most:
        raise refused
    return number


def _moment_of(row: Mapping[str, Any]) -> str:
    """The quarter of an hour of `at`, or the day."""
    return _quarter(at) if (at := _word(row, "at")) else _day(_word(row, "day"))


@lru_cache(maxsize=4096)
def _day(day: str) -> str:
    try:
        return datetime.date.fromisoformat(day).isoformat()
    except ValueError:
        raise ValueError(f"{day!r} is no day: day (2026-11-30) or at (2026-11-30T10:00:00Z) is needed") from None


def _quarter(at: str) -> str:
    try:
        moment = datetime.datetime.fromisoformat(at)
    except ValueError:
        raise ValueError(f"{at!r} is no time: give it as 2026-11-30T10:00:00Z") from None
    if moment.tzinfo is None:
        raise ValueError(f"{at!r} has no offset: add Z or +08:00")
    try:
        moment = moment.astimezone(datetime.UTC)
    except OverflowError:
        raise ValueError(f"{at!r} is out of range") from None
    quarter = moment.minute - moment.minute % QUARTER_MINUTES
    return f"{moment:%Y-%m-%d}T{moment.hour:02}:{quarter:02}Z"
