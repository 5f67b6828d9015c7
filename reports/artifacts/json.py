"""JSON: the head of the report, the columns with their units, and the rows as objects."""

from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import orjson

from reports import document
from reports.artifacts.selection import select
from reports.models import ReportVersion
from reports.rows import tables
from reports.storage import RowFiles

_BLOCK = 1 << 20
# DuckDB gathers a whole row group (122,880 rows) as text before it writes it: more than its memory limit. This many
# rows are some 30 MB.
_ROWS_AT_ONCE = 16_384


def write(version: ReportVersion, rows: RowFiles, target: Path) -> None:
    """Write head, columns and all rows as one JSON document."""
    lines = target.with_name(target.name + ".lines")
    head = orjson.dumps({**document.head(version), "columns": document.columns()})
    try:
        with tables.connect(threads=2) as connection, target.open("wb") as out:
            out.write(head[:-1] + b',"rows":[')
            for first in range(0, version.total_rows, _ROWS_AT_ONCE):
                _write_lines(connection, rows, lines, first)
                out.write(b"," if first else b"")
                _append(lines, out)
            out.write(b"]}\n")
    finally:
        lines.unlink(missing_ok=True)


def _write_lines(connection: duckdb.DuckDBPyConnection, rows: RowFiles, lines: Path, first: int) -> None:
    """One object a line, for a window of the rows."""
    connection.execute(
        f"COPY (SELECT {select(neutralised=False)} FROM {tables.source(rows)} "
        f"WHERE row_index >= {first} AND row_index < {first + _ROWS_AT_ONCE} ORDER BY row_index) "
        f"TO {tables.quoted(lines)} (FORMAT json)"
    )


def _append(lines: Path, out: BinaryIO) -> None:
    """The lines with commas between them; a line break inside a text is escaped in JSON, so each one ends an object."""
    left = lines.stat().st_size - 1  # without the break after the last line
    with lines.open("rb") as file:
        while left > 0:
            block = file.read(min(_BLOCK, left))
            left -= len(block)
            out.write(block.replace(b"\n", b",\n"))


_KINDS: dict[str, Any] = {
    "text": {"type": ["string", "null"]},
    "integer": {"type": ["integer", "null"]},
    "number": {"type": ["number", "null"]},
    "boolean": {"type": ["boolean", "null"]},
    "money": {"type": ["string", "null"], "pattern": r"^-?\d+(\.\d+)?$"},
}


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the document, published with the API."""
    row = {
        column["name"]: {**_KINDS[column["kind"]], "description": " ".join((column["help"], column["unit"])).strip()}
        for column in document.columns()
    }
    text, nullable = {"type": "string"}, {"type": ["string", "null"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": document.SCHEMA_ID,
        "title": "Aforo report",
        "type": "object",
        "required": ["schema", "report", "version", "estimator_version", "content_sha256", "inputs", "columns", "rows"],
        "properties": {
            "schema": {"const": document.SCHEMA_ID},
            "report": {"type": "object", "properties": {"id": text, "name": text}, "required": ["id", "name"]},
            "version": {"type": "integer", "minimum": 1},
            "kind": text,
            "created_at": text,
            "completed_at": nullable,
            "estimator_version": text,
            "content_sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "inputs": {"type": "object"},
            "summary": {"type": "object"},
            "findings": {"type": "array", "items": {"type": "object", "required": ["kind", "text", "row_index"]}},
            "columns": {"type": "array", "items": {"type": "object", "required": ["name", "kind", "unit", "help"]}},
            "rows": {
                "type": "array",
                "items": {"type": "object", "properties": row, "required": list(row), "additionalProperties": False},
            },
        },
    }
