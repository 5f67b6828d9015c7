"""Rows as Parquet through DuckDB: parts written, merged in order, read back by column.

A connection is made inside the task that uses it, never before a fork, sees report files and scratch only, and
cannot be reconfigured. Names of columns come from our own list; values are always bound.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import orjson
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
from reports import canonical, conf
from reports.storage import get_storage

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


def merge(parts: Sequence[Path], path: Path) -> None:
    """Put the parts together in the given order."""
    names = ", ".join(quoted(part) for part in parts)
    with connect(threads=2) as connection:
        connection.execute(
            f"COPY (SELECT * FROM read_parquet([{names}])) TO {quoted(path)} "
            "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)"
        )


def source(path: Path) -> str:
    """The FROM expression of a stored Parquet file; columns that a file of an older release lacks read as null."""
    stored = f"read_parquet({quoted(path)})"
    if not (missing := _missing(path)):
        return stored
    blank = ", ".join(f'CAST(NULL AS {_SQL_TYPES[COLUMN_BY_NAME[name].kind]}) AS "{name}"' for name in missing)
    select = ", ".join(f'"{column.name}"' for column in COLUMNS)
    return f"(SELECT {select} FROM (SELECT *, {blank} FROM {stored}))"


@lru_cache(maxsize=4096)
def _missing(path: Path) -> tuple[str, ...]:
    """Columns of today that a file does not have; names of files hold lease tokens and are never used again."""
    with connect() as connection:
        described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({quoted(path)})").fetchall()
    held = {entry[0] for entry in described}
    return tuple(column.name for column in COLUMNS if column.name not in held)


def read_numbers(connection: duckdb.DuckDBPyConnection, path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Columns of numbers, money and booleans (1, 0) as float64 with NaN for null, in row order."""
    select = ", ".join(f'CAST("{name}" AS DOUBLE) AS "{name}"' for name in names)
    fetched = connection.execute(f"SELECT {select} FROM {source(path)}").fetchnumpy()
    return {name: np.ma.filled(fetched[name], np.nan) for name in names}


def read_text(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> TextValues:
    """A text column as codes into its sorted distinct labels."""
    distinct = f'SELECT DISTINCT "{name}" FROM {source(path)} WHERE "{name}" IS NOT NULL ORDER BY 1'
    labels = [row[0] for row in connection.execute(distinct).fetchall()]
    coded = f'SELECT list_position($labels, "{name}")::INTEGER AS code FROM {source(path)}'
    codes = np.ma.filled(connection.execute(coded, {"labels": labels}).fetchnumpy()["code"], 0)
    return TextValues(codes=(codes - 1).astype("<i4"), labels=tuple(labels))


def content_sha256(path: Path, inputs: Any, snapshot: Any) -> str:
    """sha256 over canonical inputs and snapshot and the rows as column buffers, little-endian, in column order.

    Columns that a file of an older release lacks are left out. It depends on neither the writer of the Parquet file nor
    on how the rows were cut into chunks.
    """
    digest = hashlib.sha256()
    digest.update(canonical.dumps({"inputs": inputs, "snapshot": snapshot}))
    with connect(threads=2) as connection:
        absent = _missing(path)
        for column in (column for column in COLUMNS if column.name not in absent):
            digest.update(f"\n{column.name}:{column.kind}\n".encode())
            if column.kind is ColumnKind.TEXT:
                text = read_text(connection, path, column.name)
                digest.update(orjson.dumps(text.labels))
                digest.update(np.ascontiguousarray(text.codes, dtype="<i4").data)
            else:
                values = read_numbers(connection, path, [column.name])[column.name]
                values = np.where(np.isnan(values), np.float64("nan"), values + 0.0)
                digest.update(np.ascontiguousarray(values, dtype="<f8").data)
    return digest.hexdigest()


def count_rows(path: Path) -> int:
    """Rows of a stored Parquet file."""
    with connect() as connection:
        row = connection.execute(f"SELECT count(*) FROM {source(path)}").fetchone()
    return int(row[0]) if row else 0
