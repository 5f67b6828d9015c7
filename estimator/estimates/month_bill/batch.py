"""An upload of usage, row by row: what each row costs, in the order of the file, and the bill of all of them.

The upload is read twice: once to refuse what is no such file before anything is answered, once block by block.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO, Any, NamedTuple

import numpy as np
import orjson

from estimator.engine.cost.api import UsageConvention
from estimator.engine.cost.meters import inclusion_order, meter, meter_of_usage
from estimator.engine.errors import InvalidInputError
from estimator.estimates.month_bill.amounts import Amount, Amounts
from estimator.estimates.month_bill.blocks import ROWS, Block, Mapped, Reader
from estimator.estimates.month_bill.compute import MonthBill, OwnMachines, month_bill
from estimator.estimates.month_bill.read import BYTE_ORDER_MARK, Columns, columns_of, object_of
from estimator.estimates.month_bill.shapes import Numbers
from estimator.estimates.month_bill.stream import LONGEST_LINE
from estimator.resolvers.facts import Facts

CSV, NDJSON, JSON = "csv", "ndjson", "json"
INVALID, UNPRICED = "invalid_row", "unpriced"


class TooManyLinesError(ValueError):
    """The upload has more lines than are read at once."""


class Numbered(NamedTuple):
    """A row and the line that it begins in; of JSON its place among the rows."""

    line: int
    row: Mapped


@dataclass(slots=True, kw_only=True)
class Told:
    """How many rows were billed, had no price, or could not be read."""

    rows: int = 0
    billed: int = 0
    unpriced: int = 0
    invalid: int = 0


def check_upload(upload: IO[bytes], *, most_lines: int) -> int:
    """Lines of an upload; it is left at its beginning.

    Raises:
        InvalidInputError: It is no UTF-8, or a line is too long.
        TooManyLinesError: It has more than `most_lines`.
    """
    lines = 0
    while line := upload.readline(LONGEST_LINE + 1):
        lines += 1
        if len(line) > LONGEST_LINE:
            raise InvalidInputError(f"line {lines} has more than {LONGEST_LINE:,} bytes", field="file")
        if lines > most_lines:
            raise TooManyLinesError(f"the file has more than {most_lines:,} lines")
        if not line.isascii():
            try:
                line.decode()
            except UnicodeDecodeError as wrong:
                raise InvalidInputError(f"line {lines} is no UTF-8: {wrong.reason}", field="file") from None
    upload.seek(0)
    return lines


class BatchBill:
    """The bill of an upload while its rows are told."""

    def __init__(self, facts: Facts, convention: UsageConvention, keys: list[str] | None) -> None:
        self._facts, self._convention = facts, convention
        self._reader, self._amounts, self._columns = Reader(keys), Amounts(facts), Columns()
        self.told = Told()

    def lines(self, rows: Iterator[Numbered]) -> Iterator[list[bytes]]:
        """One JSON object for each row, some thousands at once: its line, and its cost or why it has none."""
        while numbered := list(islice(rows, ROWS)):
            block = self._reader.block([one.row for one in numbered])
            lines = np.array([one.line for one in numbered], dtype=np.int64)
            block = disjoint(block, self._convention)
            self._columns.add(block)
            tariffs = self._amounts.codes(list(self._reader.places))[block.codes]
            amounts = self._amounts.of(tariffs, block.requests, _by_meter(block))
            yield self._told(block, lines, tariffs, amounts)

    def _told(self, block: Block, lines: Numbers, tariffs: Numbers, amounts: Sequence[Amount]) -> list[bytes]:
        ends = [
            b'","currency":%s,"price":%s}' % (orjson.dumps(tariff.currency), orjson.dumps(tariff.slug))
            for tariff in self._amounts.tariffs
        ]
        found: list[bytes] = [b""] * block.size
        places = zip(block.places.tolist(), lines[block.places].tolist(), tariffs.tolist(), amounts, strict=True)
        unpriced = 0
        for place, line, tariff, amount in places:
            if amount.total is None:
                unpriced += 1
                found[place] = _without(line, UNPRICED, amount.reason)
            else:
                found[place] = b'{"line":%d,"total":"%s%s' % (line, amount.total.encode(), ends[tariff])
        for place, reason in block.bad:
            found[place] = _without(int(lines[place]), INVALID, reason)
        self.told.rows += block.size
        self.told.unpriced += unpriced
        self.told.invalid += len(block.bad)
        self.told.billed += len(block.places) - unpriced
        return found

    def bills(
        self, *, alternatives: Sequence[str] = (), own: OwnMachines | None = None, free_quantities: bool = True
    ) -> list[MonthBill]:
        """The bill of all rows told, one for each currency of their prices."""
        usage = self._columns.usage(self._reader.places)
        tariffs = self._amounts.codes(usage.groups)
        by_group = [self._amounts.tariffs[code].currency for code in tariffs.tolist()][: len(usage.groups)]
        currencies = sorted({currency for currency in by_group if currency}) or [""]
        found = []
        for currency in currencies:
            # Rows without a price stand with the first bill.
            belongs = np.array(
                [one == currency or (not one and currency == currencies[0]) for one in by_group] or [True]
            )
            here = belongs[usage.codes]
            part = usage if here.all() else replace(
                usage, codes=usage.codes[here], requests=usage.requests[here], apart=usage.apart[here],
                counts={key: column[here] for key, column in usage.counts.items()},
            )  # fmt: skip
            found.append(
                month_bill(part, self._facts, alternatives=alternatives, own=own, free_quantities=free_quantities)
            )
        return found


def _without(line: int, code: str, reason: str) -> bytes:
    return orjson.dumps({"line": line, "total": None, "code": code, "reason": reason})


def _by_meter(block: Block) -> dict[str, Numbers]:
    return {meter_of_usage(key).name: column for key, column in block.counts.items()}


def disjoint(block: Block, convention: UsageConvention) -> Block:
    """The rows with counts that hold nothing twice; a row whose parts are more than their whole is a bad one.

    Args:
        block: rows as they were read.
        convention: how the counts of a row relate that are no provider's object.
    """
    if convention is UsageConvention.DISJOINT or block.apart.all():
        return block
    counts = _by_meter(block)
    leaves: dict[str, Numbers] = {}
    wrong: dict[int, str] = {}
    for name, inside in inclusion_order(counts):
        held = sum((leaves[other] for other in inside), start=np.zeros(len(block.codes), dtype=np.int64))
        rest = counts[name] - np.where(block.apart, 0, held)
        for place in np.flatnonzero(rest < 0).tolist():
            wrong.setdefault(
                place, f"{meter(name).usage_key} is less than its parts: with inclusive counts it holds them"
            )
        leaves[name] = np.maximum(rest, 0)
    kept = np.array([place not in wrong for place in range(len(block.codes))], dtype=np.bool_)
    return replace(
        block,
        places=block.places[kept],
        codes=block.codes[kept],
        requests=block.requests[kept],
        counts={meter(name).usage_key: column[kept] for name, column in leaves.items()},
        apart=block.apart[kept],
        bad=sorted([*block.bad, *((int(block.places[place]), reason) for place, reason in wrong.items())]),
    )


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of an upload, and the usage keys of its columns (None where each row names its own)."""

    rows: Iterator[Numbered]
    keys: list[str] | None


def rows_of(upload: IO[bytes], form: str) -> Rows:
    """The rows of a CSV or NDJSON that was checked.

    Raises:
        InvalidInputError: The header of the CSV cannot be read.
    """
    if form == NDJSON:
        return Rows(_ndjson(upload), None)
    table = csv.reader(io.TextIOWrapper(upload, encoding="utf-8", newline=""))
    try:
        header = [name.strip().removeprefix(BYTE_ORDER_MARK) for name in next(table, [])]
    except csv.Error as wrong:
        raise InvalidInputError(f"the header cannot be read: {wrong}", field="file") from None
    return Rows(_csv(table, header), columns_of(header))


def _ndjson(upload: IO[bytes]) -> Iterator[Numbered]:
    for number, line in enumerate(upload, start=1):
        if line.strip():
            yield Numbered(number, object_of(line if number > 1 else line.removeprefix(b"\xef\xbb\xbf")))


def _csv(table: Any, header: list[str]) -> Iterator[Numbered]:
    while True:
        line = table.line_num + 1
        try:
            row = next(table)
        except StopIteration:
            return
        except csv.Error:
            yield Numbered(line, None)
            continue
        whole = row and len(row) <= len(header)
        yield Numbered(line, dict(zip(header, row, strict=False)) if whole else None)
