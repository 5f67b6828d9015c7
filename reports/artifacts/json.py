"""JSON: the head of the report, the columns with their units, and the rows as objects."""

from pathlib import Path
from typing import Any

import orjson

from reports import document
from reports.artifacts.selection import select
from reports.models import ReportVersion
from reports.rows import tables

_BLOCK = 1 << 20


def write(version: ReportVersion, rows: Path, target: Path) -> None:
    """Write head, columns and all rows as one JSON document."""
    lines = target.with_name(target.name + ".lines")
    try:
        with tables.connect(threads=2) as connection:
            connection.execute(
                f"COPY (SELECT {select(neutralised=False)} FROM {tables.source(rows)}) "
                f"TO {tables.quoted(lines)} (FORMAT json, ARRAY true)"
            )
        head = orjson.dumps({**document.head(version), "columns": document.columns()})
        with target.open("wb") as out, lines.open("rb") as array:
            out.write(head[:-1] + b',"rows":')
            while block := array.read(_BLOCK):
                out.write(block)
            out.write(b"}\n")
    finally:
        lines.unlink(missing_ok=True)


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
