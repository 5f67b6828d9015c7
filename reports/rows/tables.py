"""Rows as Parquet through DuckDB: parts written, merged in order, read back by column.

A connection is made inside the task that uses it, never before a fork, sees report files and scratch only, and
cannot be reconfigured. Names of columns come from our own list; values are always bound.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from estimator.estimates.sweep.columns import (
    COLUMN_BY_NAME,
    COLUMNS,
    MEAN_COLUMNS,
    Column,
    ColumnKind,
    Rows,
    TextValues,
)
from reports import conf
from reports.storage import RowFiles, get_storage

_CODE = "__code"
_MONEY_TYPE = "DECIMAL(38,12)"
_SQL_TYPES = {
    ColumnKind.TEXT: "VARCHAR",
    ColumnKind.INTEGER: "BIGINT",
    ColumnKind.NUMBER: "DOUBLE",
    ColumnKind.BOOLEAN: "BOOLEAN",
    ColumnKind.MONEY: _MONEY_TYPE,
}


def quoted(path: Path | str) -> str:
    """A path as an SQL string literal (COPY targets cannot be bound); ours only, never from people."""
    return "'" + str(path).replace("'", "''") + "'"


@contextmanager
def connect(threads: int = 1) -> Iterator[duckdb.DuckDBPyConnection]:
    """A locked-down in-memory DuckDB connection that may touch report files and scratch only."""
    scratch = conf.scratch_dir()
    spill = scratch / "spill"
    spill.mkdir(parents=True, exist_ok=True)
    allowed = ", ".join(quoted(f"{folder}/") for folder in (scratch, *get_storage().readable()))
    connection = duckdb.connect(":memory:")
    try:
        for statement in (
            f"SET memory_limit='{conf.duckdb_memory()}'",
            f"SET threads={int(threads)}",
            f"SET temp_directory={quoted(spill)}",
            "SET preserve_insertion_order=true",
            "SET autoinstall_known_extensions=false",
            "SET autoload_known_extensions=false",
            f"SET allowed_directories=[{allowed}]",
            "SET enable_external_access=false",
            "SET lock_configuration=true",
        ):
            connection.execute(statement)
        yield connection
    finally:
        connection.close()


def select_of(column: Column, table: str = "", *, fractions: bool = False) -> str:
    """The SELECT item that turns a registered numpy column into its stored type.

    `fractions`: a mean of whole numbers, such as a length of 921.6 tokens, is stored as it is.
    """
    name, given = f'"{column.name}"', f'{table}"{column.name}"'
    if column.kind is ColumnKind.TEXT:
        return f'list_extract($"{column.name}", {table}"{column.name}{_CODE}" + 1) AS {name}'
    if column.kind is ColumnKind.INTEGER and not fractions:
        return f"CAST({given} AS BIGINT) AS {name}"
    if column.kind is ColumnKind.BOOLEAN:
        return f"CASE {given} WHEN 1 THEN true WHEN 0 THEN false END AS {name}"
    if column.kind is ColumnKind.MONEY:
        return f"CAST({given} AS {_MONEY_TYPE}) AS {name}"
    return f"CAST({given} AS DOUBLE) AS {name}"


def arrays_of(rows: Rows, names: Iterable[str]) -> tuple[dict[str, NDArray[Any]], dict[str, list[str]]]:
    """Arrays to register with DuckDB, and the labels of text columns to bind."""
    arrays: dict[str, NDArray[Any]] = {}
    labels: dict[str, list[str]] = {}
    for name in names:
        values = rows[name]
        if isinstance(values, TextValues):
            arrays[name + _CODE] = values.codes
            labels[name] = list(values.labels)
        else:
            arrays[name] = values
    return arrays, labels


def write_rows(rows: Rows, path: Path) -> None:
    """Write rows given as numpy columns to one Parquet file; text by its labels, NaN as null."""
    arrays, labels = arrays_of(rows, (column.name for column in COLUMNS))
    fractional = {name for name in MEAN_COLUMNS if arrays[name].dtype.kind == "f"}
    select = ", ".join(select_of(column, fractions=column.name in fractional) for column in COLUMNS)
    with connect() as connection:
        connection.register("chunk", arrays)
        connection.execute(
            f"COPY (SELECT {select} FROM chunk) TO {quoted(path)} (FORMAT parquet, COMPRESSION zstd)",
            labels,
        )


def merge(parts: RowFiles, path: Path) -> None:
    """Put the parts together in the given order."""
    names = ", ".join(quoted(part) for part in parts)
    with connect(threads=2) as connection:
        connection.execute(
            f"COPY (SELECT * FROM read_parquet([{names}])) TO {quoted(path)} "
            "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)"
        )


def source(rows: RowFiles) -> str:
    """The FROM expression of stored rows, in their order; columns that an older release lacks read as null."""
    stored = f"read_parquet([{', '.join(map(quoted, rows))}])"
    if not (missing := missing_columns(rows[0])):
        return stored
    blank = ", ".join(f'CAST(NULL AS {_SQL_TYPES[COLUMN_BY_NAME[name].kind]}) AS "{name}"' for name in missing)
    select = ", ".join(f'"{column.name}"' for column in COLUMNS)
    return f"(SELECT {select} FROM (SELECT *, {blank} FROM {stored}))"


@lru_cache(maxsize=4096)
def missing_columns(path: Path) -> tuple[str, ...]:
    """Columns of today that a file does not have; names of files hold lease tokens and are never used again."""
    with connect() as connection:
        described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({quoted(path)})").fetchall()
    held = {entry[0] for entry in described}
    return tuple(column.name for column in COLUMNS if column.name not in held)


def read_numbers(
    connection: duckdb.DuckDBPyConnection, rows: RowFiles, names: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Columns of numbers, money and booleans (1, 0) as float64 with NaN for null, in row order."""
    select = ", ".join(f'CAST("{name}" AS DOUBLE) AS "{name}"' for name in names)
    fetched = connection.execute(f"SELECT {select} FROM {source(rows)}").fetchnumpy()
    return {name: np.ma.filled(fetched[name], np.nan) for name in names}


def read_texts(connection: duckdb.DuckDBPyConnection, rows: RowFiles, names: Sequence[str]) -> dict[str, TextValues]:
    """Text columns as codes into their sorted distinct labels, in row order; -1 is null."""
    if not names:
        return {}
    distinct = ", ".join(f'list(DISTINCT "{name}" ORDER BY "{name}") FILTER ("{name}" IS NOT NULL)' for name in names)
    found = connection.execute(f"SELECT {distinct} FROM {source(rows)}").fetchone() or ()
    labels = {name: list(values or ()) for name, values in zip(names, found, strict=True)}
    coded = ", ".join(f'list_position(${name}, "{name}")::INTEGER AS "{name}"' for name in names)
    fetched = connection.execute(f"SELECT {coded} FROM {source(rows)}", labels).fetchnumpy()
    return {
        name: TextValues(codes=(np.ma.filled(fetched[name], 0) - 1).astype("<i4"), labels=tuple(labels[name]))
        for name in names
    }


def as_enums(connection: duckdb.DuckDBPyConnection, rows: RowFiles, names: Sequence[str]) -> str:
    """SELECT items of text columns as enums of their values: compared, sorted and joined as small numbers."""
    for name in names:
        connection.execute(
            f'CREATE TYPE "e_{name}" AS ENUM (SELECT DISTINCT "{name}" FROM {source(rows)} '
            f'WHERE "{name}" IS NOT NULL ORDER BY 1)'
        )
    return ", ".join(f'CAST("{name}" AS "e_{name}") AS "{name}"' for name in names)


def count_rows(rows: RowFiles) -> int:
    """How many rows are stored."""
    with connect() as connection:
        row = connection.execute(f"SELECT count(*) FROM {source(rows)}").fetchone()
    return int(row[0]) if row else 0
