"""Rows read back as plain values: the whitelist of columns, filters with bound values, ordering, pages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb

from estimator.estimates.sweep.columns import COLUMN_BY_NAME, COLUMNS, MEAN_COLUMNS, ColumnKind
from reports.rows import tables
from reports.storage import RowFiles

_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,3})?")
_MOST_MONEY = Decimal(10) ** 25
OPERATORS = {"": "=", "gte": ">=", "lte": "<=", "gt": ">", "lt": "<"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One filter: a column of the list, an operator of the list, a value of the column's kind (None asks for null)."""

    column: str
    operator: str
    values: tuple[Any, ...]


def money_text(value: Decimal) -> str:
    """An exact amount without trailing zeros: 2.500000000000 → 2.5."""
    return format(value.normalize(), "f")


def plain(value: Any) -> Any:
    """A value of a row as JSON can hold it; money as a string."""
    return money_text(value) if isinstance(value, Decimal) else value


def where(conditions: Sequence[Condition]) -> tuple[str, dict[str, Any]]:
    """The WHERE clause (names from our list only) and its bound values."""
    clauses: list[str] = []
    bound: dict[str, Any] = {}
    for number, condition in enumerate(conditions):
        column = COLUMN_BY_NAME[condition.column]
        name = f"v{number}"
        if len(condition.values) > 1:
            clauses.append(f'list_contains(${name}, "{column.name}")')
            bound[name] = list(condition.values)
        else:
            clauses.append(f'"{column.name}" {OPERATORS[condition.operator]} ${name}')
            bound[name] = condition.values[0]
    return (" WHERE " + " AND ".join(clauses) if clauses else ""), bound


def order_by(ordering: Sequence[str]) -> str:
    """The ORDER BY clause; ends with the row index, so that pages never overlap."""
    parts = []
    for item in ordering:
        column = COLUMN_BY_NAME[item.removeprefix("-")]
        parts.append(f'"{column.name}" {"DESC" if item.startswith("-") else "ASC"} NULLS LAST')
    return " ORDER BY " + ", ".join([*parts, '"row_index"'])


def fetch(connection: duckdb.DuckDBPyConnection, sql: str, bound: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The rows of a query as dictionaries of plain values."""
    result = connection.execute(sql, bound or {})
    names = [entry[0] for entry in result.description or []]
    return [dict(zip(names, map(plain, row), strict=True)) for row in result.fetchall()]


def by_index(
    connection: duckdb.DuckDBPyConnection, path: RowFiles, indices: Sequence[int], columns: Sequence[str] | None = None
) -> dict[int, dict[str, Any]]:
    """Whole rows by their index."""
    select = ", ".join(f'"{name}"' for name in columns) if columns else "*"
    sql = f'SELECT {select} FROM {tables.source(path)} WHERE list_contains($wanted, "row_index")'
    return {row["row_index"]: row for row in fetch(connection, sql, {"wanted": list(indices)})}


def page(
    path: RowFiles, conditions: Sequence[Condition], ordering: Sequence[str], *, limit: int, offset: int
) -> tuple[int, list[dict[str, Any]]]:
    """How many rows meet the conditions, and one page of them in order.

    The page is found by its row indices first (a narrow sort), then its whole rows are read.
    """
    clause, bound = where(conditions)
    wanted = {item.removeprefix("-") for item in ordering} | {condition.column for condition in conditions}
    narrow = ", ".join(f'"{name}"' for name in sorted(wanted | {"row_index"}))
    source = f"(SELECT {narrow} FROM {tables.source(path)})"
    with tables.connect() as connection:
        if conditions:
            counted = connection.execute(f"SELECT count(*) FROM {source}{clause}", bound).fetchone()
            total = int(counted[0]) if counted else 0
        else:
            counted = connection.execute(f"SELECT count(*) FROM {tables.source(path)}").fetchone()
            total = int(counted[0]) if counted else 0
        sql = f'SELECT "row_index" FROM {source}{clause}{order_by(ordering)} LIMIT {int(limit)} OFFSET {int(offset)}'
        indices = [row[0] for row in connection.execute(sql, bound).fetchall()]
        rows = by_index(connection, path, indices)
    return total, [rows[index] for index in indices]


def parse_value(column: str, text: str) -> Any:
    """A filter's text as the column's kind.

    Raises:
        ValueError: The text is not of that kind.
    """
    kind = COLUMN_BY_NAME[column].kind
    if kind is ColumnKind.TEXT:
        return text
    if kind is ColumnKind.BOOLEAN:
        return {"true": True, "false": False}[text] if text in ("true", "false") else _refuse(text)
    if not _NUMBER.fullmatch(text):
        _refuse(text)
    if kind is ColumnKind.INTEGER:
        if column in MEAN_COLUMNS and not text.lstrip("-").isdigit():
            return float(text)
        return int(text) if abs(int(text)) < 2**63 else _refuse(text)
    if kind is ColumnKind.MONEY:
        amount = Decimal(text)
        return amount if abs(amount) < _MOST_MONEY else _refuse(text)
    number = float(text)
    return number if abs(number) != float("inf") else _refuse(text)


def _refuse(text: str) -> Any:
    raise ValueError(text)


ALL_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
