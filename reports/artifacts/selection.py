"""Columns as text for people: amounts without trailing zeros, cells that could start a formula neutralised."""

import duckdb

from estimator.estimates.sweep.columns import COLUMNS, ColumnKind

# A spreadsheet takes text that starts so for a formula; numbers stay numbers and are not touched.
_FORMULA_START = r"^[=+\-@\t\r\n]"


def money(name: str) -> str:
    """SQL of an amount as exact text without trailing zeros."""
    return f"""rtrim(rtrim(CAST("{name}" AS VARCHAR), '0'), '.') AS "{name}\""""


def neutral_text(name: str) -> str:
    """SQL of a text cell that no spreadsheet takes for a formula, on one line."""
    flat = f"""regexp_replace("{name}", '[\\r\\n\\t]+', ' ', 'g')"""
    return (
        f"""CASE WHEN regexp_matches("{name}", '{_FORMULA_START}') THEN '''' || {flat} ELSE {flat} END AS "{name}\""""
    )


def neutral(text: str) -> str:
    """The same for a cell written from Python."""
    flat = " ".join(text.split()) if any(character in text for character in "\r\n\t") else text
    return "'" + flat if text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") else flat


def harmless_text(connection: duckdb.DuckDBPyConnection, source: str) -> frozenset[str]:
    """Text columns of which no value needs a change; their few labels are looked at instead of every cell."""
    names = [column.name for column in COLUMNS if column.kind is ColumnKind.TEXT]
    found = set()
    for name in names:
        labels = connection.execute(f'SELECT DISTINCT "{name}" FROM {source} WHERE "{name}" IS NOT NULL').fetchall()
        if all(neutral(label) == label for (label,) in labels):
            found.add(name)
    return frozenset(found)


def select(*, neutralised: bool, money_as_text: bool = True, harmless: frozenset[str] = frozenset()) -> str:
    """The list of all columns for a SELECT; text columns named `harmless` are taken as they are."""
    parts = []
    for column in COLUMNS:
        if column.kind is ColumnKind.MONEY and money_as_text:
            parts.append(money(column.name))
        elif column.kind is ColumnKind.TEXT and neutralised and column.name not in harmless:
            parts.append(neutral_text(column.name))
        else:
            parts.append(f'"{column.name}"')
    return ", ".join(parts)
