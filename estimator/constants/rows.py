"""Reads rows of constants from CSV files: each value with its unit, where it acts, and the evidence behind it."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from pathlib import Path

DATA_DIR = Path(__file__).parent / "data"
UNITS = frozenset(
    {
        "1", "s", "s/layer", "us", "ms", "B", "B/weight", "bits/weight", "B/s", "GB/s", "FLOP/s", "GiB",
        "elements", "tokens", "tokens/s", "sequences", "blocks", "graphs", "passes", "kernels", "steps", "layers",
        "flag",
    }
)  # fmt: skip
# Where a constant acts; a file has the columns that it needs, an empty cell holds everywhere.
SCOPE_COLUMNS = (
    "profile", "since", "table", "group", "library", "back_end", "link", "family", "format", "model_class", "metric",
    "gpus", "gpu",
)  # fmt: skip
_REQUIRED = ("name", "value", "unit", "basis", "n", "error", "source", "date")
_COLUMNS = frozenset((*_REQUIRED, *SCOPE_COLUMNS, "prior"))


class Basis(StrEnum):
    """What stands behind a constant.

    measured: a kernel or a part was measured alone. fitted: measurements of whole engines ask for it. specified: a
    data sheet, a standard, a configuration or arithmetic says it. judgement: nothing measured; nobody may call it
    calibrated.
    """

    MEASURED = "measured"
    FITTED = "fitted"
    SPECIFIED = "specified"
    JUDGEMENT = "judgement"


_CELLS = {
    "name": (r".+", "given; a constant has a name"),
    "unit": ("|".join(map(re.escape, sorted(UNITS))), f"one of {', '.join(sorted(UNITS))}"),
    "basis": ("|".join(Basis), f"one of {', '.join(Basis)}"),
    "n": (r"\d*", "a whole number"),
    "error": (r"(\d+\.\d+(-\d+\.\d+)?)?", "a fraction such as 0.12 or a range such as 0.14-0.22"),
    "source": (r".+", "given; a constant has a source"),
    "date": (r"20\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?", "a month or a day such as 2026-11 or 2026-11-29"),
}


class ConstantsFileError(ValueError):
    """A file of constants that cannot be used; names file, line and column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """One row: a value with its unit, where it acts, and its evidence.

    `prior` is the value before the fit. `n` counts measured points; `error` is their median relative error, as written
    (`0.12` or a range `0.14-0.22`). `scope` holds the cells that are not empty, by column.
    """

    file: str
    line: int
    name: str
    value: float
    unit: str
    scope: Mapping[str, str]
    basis: Basis
    n: int | None
    error: str
    source: str
    date: str
    prior: float | None = None

    def where(self, *columns: str) -> tuple[str, ...]:
        """The cells of these columns, empty where the constant acts everywhere."""
        return tuple(self.scope.get(column, "") for column in columns)


def read_constants(path: Path) -> tuple[Constant, ...]:
    """The constants of one file.

    Args:
        path: a CSV file with the columns name, value, unit, basis, n, error, source, date and any of `SCOPE_COLUMNS`.

    Raises:
        ConstantsFileError: an unknown or missing column, unit or basis, a value that is no finite number, evidence that
            is missing, or two rows that say the same.
    """
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream, strict=True)
        _check_columns(path.name, reader.fieldnames or ())
        rows = tuple(_constant(path.name, reader.line_num, row) for row in reader)
    _check_once(rows)
    return rows


def all_constants() -> tuple[Constant, ...]:
    """Every constant of every file, in the order of the files."""
    paths = sorted(path for path in DATA_DIR.glob("*.csv") if path.name != "families.csv")
    return tuple(row for path in paths for row in read_constants(path))


def _check_columns(file: str, columns: Sequence[str]) -> None:
    unknown = [column for column in columns if column not in _COLUMNS]
    if unknown:
        raise ConstantsFileError(f"{file}: no such column: {unknown[0]!r}; known: {', '.join(sorted(_COLUMNS))}")
    missing = [column for column in _REQUIRED if column not in columns]
    if missing:
        raise ConstantsFileError(f"{file}: the column {missing[0]!r} is missing")


def _constant(file: str, line: int, row: Mapping[str, str | None]) -> Constant:
    if None in row or None in row.values():
        raise ConstantsFileError(f"{file} line {line}: the row has more or fewer cells than the file has columns")
    cells = {column: (cell or "").strip() for column, cell in row.items()}

    def refuse(column: str, allowed: str) -> ConstantsFileError:
        return ConstantsFileError(f"{file} line {line}, {column}: {cells[column]!r} is not {allowed}")

    for column, (pattern, allowed) in _CELLS.items():
        if not re.fullmatch(pattern, cells[column]):
            raise refuse(column, allowed)
    basis = Basis(cells["basis"])
    if basis is Basis.MEASURED and not int(cells["n"] or 0):
        raise refuse("n", "given; a measured constant has a number of points")
    return Constant(
        file=file,
        line=line,
        name=cells["name"],
        value=_number(cells["value"], lambda: refuse("value", "a finite number")),
        unit=cells["unit"],
        scope={column: cells[column] for column in SCOPE_COLUMNS if cells.get(column)},
        basis=basis,
        n=int(cells["n"]) if cells["n"] else None,
        error=cells["error"],
        source=cells["source"],
        date=cells["date"],
        prior=_number(cells["prior"], lambda: refuse("prior", "a finite number")) if cells.get("prior") else None,
    )


def _number(text: str, refusal: Callable[[], ConstantsFileError]) -> float:
    try:
        value = float(text)
    except ValueError:
        raise refusal() from None
    if not isfinite(value):
        raise refusal()
    return value


def _check_once(rows: Iterable[Constant]) -> None:
    seen: dict[tuple[str, tuple[str, ...]], int] = {}
    for row in rows:
        key = (row.name, row.where(*SCOPE_COLUMNS))
        if key in seen:
            raise ConstantsFileError(f"{row.file} line {row.line}: {row.name} is said in line {seen[key]} already")
        seen[key] = row.line
