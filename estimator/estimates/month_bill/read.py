"""A month's usage from CSV or NDJSON into columns: one row a request, or as many as `requests` says."""

import csv
import datetime
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.engine.cost.meters import meter_of_usage
from estimator.engine.cost.price_list import STANDARD
from estimator.engine.cost.price_rules import LOW, SEARCH_CONTEXTS
from estimator.engine.errors import InvalidInputError

WORDS = ("model", "day", "at", "channel", "endpoint_class", "search_context_size", "requests")
MAX_COUNT = 10**15
MAX_REQUESTS = 10**9
QUARTER_MINUTES = 15
MAX_NAMED = 100
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
    """Columns of a month: `groups[codes[i]]` says how row i was sent; counts by usage key."""

    groups: tuple[Sent, ...]
    codes: Counts
    requests: Counts
    counts: Mapping[str, Counts]
    bad: tuple[BadRow, ...]
    bad_rows: int


def read_csv(lines: Iterable[str]) -> Usage:
    """Usage from a CSV with a header: model and day (or at), and as wanted channel, endpoint_class,
    search_context_size, requests and usage keys.

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
    """Usage from one JSON object a line, with the same names; a key that no meter counts makes its row a bad one."""
    return _columns((_object(line) for line in lines if line.strip()), None)


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
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
    keys = [name for name in header if name not in WORDS]
    for key in keys:
        meter_of_usage(key)
    return keys


def _columns(rows: Iterator[Mapping[str, Any] | None], keys: list[str] | None) -> Usage:
    places: dict[Sent, int] = {}
    codes: list[int] = []
    requests: list[int] = []
    columns: dict[str, list[int]] = {key: [] for key in keys or ()}
    bad: list[BadRow] = []
    bad_rows = 0
    for number, row in enumerate(rows, start=1):
        try:
            group, times, counts = _row(row, keys)
        except (InvalidInputError, ValueError) as wrong:
            bad_rows += 1
            if len(bad) < MAX_NAMED:
                bad.append(BadRow(row=number, reason=str(wrong)))
            continue
        for key, count in counts:
            column = columns.get(key)
            if column is None:
                column = columns[key] = []
            if len(column) < len(codes):
                column.extend([0] * (len(codes) - len(column)))
            column.append(count)
        codes.append(places.setdefault(group, len(places)))
        requests.append(times)
    for column in columns.values():
        column.extend([0] * (len(codes) - len(column)))
    return Usage(
        groups=tuple(places),
        codes=np.array(codes, dtype=np.int64),
        requests=np.array(requests, dtype=np.int64),
        counts={key: np.array(column, dtype=np.int64) for key, column in columns.items()},
        bad=tuple(bad),
        bad_rows=bad_rows,
    )


def _row(row: Mapping[str, Any] | None, keys: list[str] | None) -> tuple[Sent, int, list[tuple[str, int]]]:
    if row is None:
        raise ValueError("not a row: an object with a model and a day, or as many cells as columns, is needed")
    sent = Sent(
        _word(row, "model"), _moment_of(row), _word(row, "channel") or STANDARD, _word(row, "endpoint_class"),
        _word(row, "search_context_size") or LOW,
    )  # fmt: skip
    if not sent.model:
        raise ValueError("a model is needed")
    if sent.search_context not in SEARCH_CONTEXTS:
        raise ValueError(f"search_context_size is one of {', '.join(SEARCH_CONTEXTS)}")
    names = keys if keys is not None else [name for name in row if name not in WORDS]
    given = row.get("requests")
    times = 1 if given is None or given == "" else _whole(given, "requests", MAX_REQUESTS)
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
    return sent, times, counts


def _word(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a word")
    return value.strip()


def _whole(value: Any, name: str, most: int) -> int:
    """A whole number from 0 to `most`; CSV has it as text."""
    refused = ValueError(f"{name} must be a whole number from 0 to {most:.0e}")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
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
