"""A month's usage from CSV or NDJSON into columns: one row a request, or as many as `requests` says.

A row holds counts by our usage keys, or a provider's usage object (`objects`). Lines are read some thousands at a time
(`blocks`): what is kept of a file is its columns, eight bytes a count.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from estimator.engine.cost.meters import meter_of_usage
from estimator.engine.errors import InvalidInputError
from estimator.estimates.month_bill.blocks import ROWS, BadRow, Block, Mapped, Reader
from estimator.estimates.month_bill.objects import OBJECTS
from estimator.estimates.month_bill.row import WORDS, Sent

MAX_NAMED = 100
BYTE_ORDER_MARK = "\ufeff"
Counts = NDArray[np.int64]


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
    keys = columns_of(header)
    return usage_of(Reader(keys), blocks(_rows(table, header)))


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
    return usage_of(Reader(None), blocks(object_of(line) for line in lines if line.strip()))


def object_of(line: str | bytes) -> dict[str, Any] | None:
    """The object of a line; None where it is none."""
    try:
        found = orjson.loads(line)
    except ValueError:
        found = _leniently(line)
    return found if isinstance(found, dict) else None


def _leniently(line: str | bytes) -> Any:
    """What a strict reader refuses, such as NaN: the fault of the one count is then named, not of the line."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def columns_of(header: list[str]) -> list[str]:
    """The usage keys among the columns of a CSV.

    Raises:
        InvalidInputError: A column is missing, there twice, or counted by no meter.
    """
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


def blocks(rows: Iterable[Mapped]) -> Iterator[list[Mapped]]:
    """Rows in blocks."""
    source = iter(rows)
    while block := list(islice(source, ROWS)):
        yield block


class Columns:
    """The columns of a month, block by block."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._ignored: Counter[str] = Counter()
        self._bad: list[BadRow] = []
        self._read = 0
        self.bad_rows = 0

    def add(self, block: Block) -> None:
        """The next rows of the file."""
        self._blocks.append(block)
        self._ignored.update(block.ignored)
        self.bad_rows += len(block.bad)
        named = block.bad[: MAX_NAMED - len(self._bad)]
        self._bad += [BadRow(row=self._read + place + 1, reason=reason) for place, reason in named]
        self._read += block.size

    def usage(self, places: Iterable[Sent]) -> Usage:
        """The month; `places` are how its rows were sent, in the order of their codes."""
        keys = dict.fromkeys(key for block in self._blocks for key in block.counts)
        empty = np.zeros(0, dtype=np.int64)

        def column(key: str) -> Counts:
            parts = [block.counts.get(key, np.zeros(len(block.codes), dtype=np.int64)) for block in self._blocks]
            return np.concatenate([empty, *parts])

        return Usage(
            groups=tuple(places),
            codes=np.concatenate([empty, *(block.codes for block in self._blocks)]),
            requests=np.concatenate([empty, *(block.requests for block in self._blocks)]),
            counts={key: column(key) for key in keys},
            apart=np.concatenate([empty.astype(np.bool_), *(block.apart for block in self._blocks)]),
            bad=tuple(self._bad),
            bad_rows=self.bad_rows,
            ignored=dict(self._ignored),
        )


def usage_of(reader: Reader, rows: Iterable[list[Mapped]]) -> Usage:
    """The month of blocks of rows."""
    columns = Columns()
    for block in rows:
        columns.add(reader.block(block))
    return columns.usage(reader.places)
