"""A month's usage from CSV or NDJSON into columns: one row a request, or as many as `requests` says."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.engine.cost.meters import meter_of_usage
from estimator.engine.errors import InvalidInputError

WORDS = ("model", "day", "channel", "endpoint_class")
MAX_COUNT = 10**15
MAX_NAMED = 100
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A row that is not billed: its number in the file (the first row of data is 1) and why."""

    row: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Columns of a month: `groups[codes[i]]` is (model, day, channel, endpoint class) of row i; counts by usage key."""

    groups: tuple[tuple[str, str, str, str], ...]
    codes: Counts
    requests: Counts
    counts: Mapping[str, Counts]
    bad: tuple[BadRow, ...]
    bad_rows: int


def read_csv(lines: Iterable[str]) -> Usage:
    """Usage from a CSV with a header: model and day (or at), channel, endpoint_class, requests, and usage keys.

    Raises:
        InvalidInputError: A column is missing, or no meter counts it.
    """
    table = csv.reader(lines)
    header = [name.strip() for name in next(table, [])]
    keys = _check(header)
    return _columns((dict(zip(header, row, strict=False)) if row else None for row in table), keys)


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
    keys = [name for name in header if name not in (*WORDS, "at", "requests")]
    for key in keys:
        meter_of_usage(key)
    return keys


def _columns(rows: Iterator[Mapping[str, Any] | None], keys: list[str] | None) -> Usage:
    places: dict[tuple[str, str, str, str], int] = {}
    codes: list[int] = []
    requests: list[int] = []
    columns: dict[str, list[int]] = {key: [] for key in keys or ()}
    bad: list[BadRow] = []
    bad_rows = 0
    for number, row in enumerate(rows, start=1):
        try:
            group, times, counts = _row(row, keys)
        except (InvalidInputError, ValueError, KeyError) as wrong:
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


def _row(
    row: Mapping[str, Any] | None, keys: list[str] | None
) -> tuple[tuple[str, str, str, str], int, list[tuple[str, int]]]:
    if row is None:
        raise ValueError("not a row: an object with a model and a day is needed")
    model, day = row.get("model") or "", row.get("day") or str(row.get("at") or "")[:10]
    if not model or len(str(day)) != len("2026-11-30"):
        raise ValueError("model and day (2026-11-30) are needed")
    group = (str(model), str(day), row.get("channel") or "standard", row.get("endpoint_class") or "")
    times = int(row.get("requests") or 1)
    names = keys if keys is not None else [name for name in row if name not in (*WORDS, "at", "requests")]
    counts = []
    for key in names:
        value = row.get(key)
        if not value:
            continue
        count = int(value)
        if keys is None:
            meter_of_usage(key)
        if not 0 <= count <= MAX_COUNT or count != float(value):
            raise ValueError(f"{key} must be a whole number from 0 to {MAX_COUNT:.0e}")
        counts.append((key, count))
    if times < 0:
        raise ValueError("requests must be 0 or more")
    return group, times, counts
