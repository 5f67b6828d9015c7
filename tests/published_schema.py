"""Answers held against the published schema, docs/openapi.yaml."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson
import yaml

ROOT = Path(__file__).resolve().parents[1]
JSON = "application/json"
PROBLEM = "application/problem+json"
METHODS = ("get", "put", "post", "delete", "patch")
# The schema itself is JSON of the API that is not in the schema.
UNPUBLISHED = "/api/v1/schema/"


@cache
def published() -> dict[str, Any]:
    """The schema as it is published."""
    return yaml.load((ROOT / "docs/openapi.yaml").read_text(), yaml.CSafeLoader)


@cache
def _validator(schema: bytes) -> Any:
    return jsonschema_rs.validator_for({**orjson.loads(schema), "components": published()["components"]})


def validator(schema: dict[str, Any]) -> Any:
    """A compiled validator of a schema of the document; made once, some milliseconds."""
    return _validator(orjson.dumps(schema))


def faults(component: str, answer: Any) -> list[str]:
    """What of an answer is not as the component says, with its place."""
    return _faults({"$ref": f"#/components/schemas/{component}"}, answer)


def hold(method: str, path: str, status: int, content_type: str, body: bytes, headers: Iterable[str] = ()) -> None:
    """Fails the test when an answer of the API is not as the published schema says."""
    found = [*answer_faults(method, path, status, content_type, body), *header_faults(method, path, status, headers)]
    assert not found, f"docs/openapi.yaml: {method} {path} answered {status}: " + "; ".join(found[:5])


def answer_faults(method: str, path: str, status: int, content_type: str, body: bytes) -> list[str]:
    """What of an answer of the API is not as the schema says, with its place.

    Problems are held against `ProblemDocument` on every path of the API, answers of 2xx against the schema of their
    operation and status. What is not JSON has no schema but its media type.
    """
    if not path.startswith("/api/v1/") or path == UNPUBLISHED:
        return []
    if content_type == PROBLEM:
        return faults("ProblemDocument", orjson.loads(body)) if body else []
    if not 200 <= status < 300:
        return [f"an answer of {status} is {content_type}, not {PROBLEM}"] if body and status >= 400 else []
    if method not in {name.upper() for name in METHODS}:
        return []
    return _answer_faults(method.lower(), path, str(status), content_type, body)


def header_faults(method: str, path: str, status: int, headers: Iterable[str]) -> list[str]:
    """Headers of ours that an answer has and the schema does not declare for its operation and status."""
    template = template_of(path) if path.startswith("/api/v1/") else None
    operation = published()["paths"].get(template, {}).get(method.lower())
    # What no operation answers (no such method, no such path) has no place in the schema.
    if operation is None or (response := operation["responses"].get(str(status))) is None:
        return []
    # The framework names the methods of a path in every answer; it means something in a 405.
    ours = {name.lower(): name for name in published()["components"].get("headers", {}) if name != "Allow"}
    declared = response.get("headers", {})
    found = sorted({ours[name] for name in map(str.lower, headers) if name in ours} - set(declared))
    return [f"the schema does not declare the header {name} of this {status}" for name in found]


def _answer_faults(method: str, path: str, status: str, content_type: str, body: bytes) -> list[str]:
    template = template_of(path)
    if template is None or method not in published()["paths"][template]:
        return ["the schema does not know this operation"]
    answers = published()["paths"][template][method]["responses"]
    if status not in answers:
        return [f"the schema knows no {status} of this operation, only {', '.join(answers)}"]
    content = answers[status].get("content", {})
    if content_type == JSON and JSON in content:
        return _faults(content[JSON]["schema"], orjson.loads(body))
    # A stored file has the media type of its format, JSON among them, which the schema calls a stream.
    known = content_type in content or "application/octet-stream" in content
    return [] if known or not body else [f"the schema knows no {content_type} of this {status}, only {[*content]}"]


@cache
def _templates() -> list[tuple[re.Pattern[str], str]]:
    """Patterns of the schema's paths; a fixed word comes before a parameter in the same place."""
    in_order = sorted(published()["paths"], key=lambda path: [part.startswith("{") for part in path.split("/")])
    return [
        (re.compile("/".join("[^/]+" if part.startswith("{") else re.escape(part) for part in path.split("/"))), path)
        for path in in_order
    ]


def template_of(path: str) -> str | None:
    """The schema's path template of a path."""
    return next((template for pattern, template in _templates() if pattern.fullmatch(path)), None)


def _faults(schema: dict[str, Any], answer: Any) -> list[str]:
    return [f"{error.instance_path}: {error.message}" for error in validator(schema).iter_errors(answer)]
