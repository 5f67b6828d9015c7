"""Text as JSON, JSON lines, YAML or CSV: bounded, without aliases, keys that come twice or deep nesting."""

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

import yaml

from receipts.reading.receipt import ReadError

MOST_CHARACTERS = 4_000_000
_DEEPEST = 40
_MOST_LINES = 1000


def json_value(text: str) -> Any:
    """The JSON value of a text; NaN and Infinity are read, for benchmarks write them.

    Raises:
        ReadError: no JSON, a key twice, or too deep.
    """
    try:
        return json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise ReadError("is nested too deeply") from None
    except ReadError:
        raise
    except ValueError as error:
        raise ReadError(f"is not JSON: {str(error)[:120]}") from None


def json_lines(text: str) -> list[Any]:
    """The values of JSON lines.

    Raises:
        ReadError: a line that is none, or more than 1,000.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > _MOST_LINES:
        raise ReadError("has more than 1,000 lines of JSON")
    found = []
    for position, line in enumerate(lines):
        try:
            found.append(json_value(line))
        except ReadError as error:
            raise ReadError(error.detail, f"line {position + 1}", error.code) from None
    return found


def yaml_value(text: str) -> Any:
    """The YAML value of a text, every scalar as it is written.

    Raises:
        ReadError: no YAML, an anchor or alias, a tag, or too deep.
    """
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CBaseLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise ReadError("has anchors or aliases, which are not read")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _DEEPEST:
                raise ReadError("is nested too deeply")
        return _nulls(yaml.load(text, Loader=yaml.CBaseLoader))  # noqa: S506  it makes texts, lists and objects alone
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError("is not YAML") from None


def csv_rows(text: str) -> list[list[str]]:
    """The rows of a CSV text, empty ones too: they part its tables.

    Raises:
        ReadError: it cannot be read, or has more than 1,000 rows.
    """
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise ReadError(f"is not CSV: {error}") from None
    if len(rows) > _MOST_LINES:
        raise ReadError("has more than 1,000 rows")
    return rows


def _once(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ReadError("comes twice in one object", twice[:100], "repeated_key")
    return found


def _nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _nulls(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_nulls(one) for one in value]
    return None if value in ("", "null", "~", "None") else value
