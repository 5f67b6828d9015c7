"""docs/openapi.yaml held against the standard's own schema, and against our rules for names, words and examples."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator.schemas import schema_v31

from catalog.api import problems
from config.openapi_headers import HEADERS
from config.settings.api import SPECTACULAR_SETTINGS
from tests.published_schema import JSON, METHODS, PROBLEM, published, validator

SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
PATH = re.compile(r"/api/v1(/[a-z0-9-]+|/\{[a-z_]+\})+/")
# Names that others gave: fields of config.json, HTTP's headers.
FOREIGN = {"If-Match", "If-None-Match", "Idempotency-Key", "Prefer", "Range"}


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in published()["paths"].items():
        yield from ((path, method, methods[method]) for method in METHODS if method in methods)


OPERATIONS = [pytest.param(path, method, operation, id=operation["operationId"])
              for path, method, operation in operations()]  # fmt: skip


def test_it_is_openapi_3_1():
    document = json.loads(json.dumps(published(), default=str))
    # The standard's schema names the dialect of schemas dynamically, which the quick validator resolves by itself.
    found = [f"{error.instance_path}: {error.message[:200]}"
             for error in jsonschema_rs.validator_for(dict(schema_v31)).iter_errors(document)]  # fmt: skip
    assert found == []


def test_names():
    names = [operation["operationId"] for _path, _method, operation in operations()]
    assert len(names) == len(set(names))
    assert [name for name in names if not SNAKE.fullmatch(name)] == []
    assert [path for path in published()["paths"] if not PATH.fullmatch(path)] == []
    known = {tag["name"] for tag in SPECTACULAR_SETTINGS["TAGS"]}
    used = {tag for _path, _method, operation in operations() for tag in operation["tags"]}
    assert used <= known


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_an_operation_is_said_whole(path, method, operation):
    assert operation.get("summary") or operation.get("description")
    for parameter in operation.get("parameters", ()):
        assert parameter["in"] == "path" or parameter.get("description"), parameter["name"]
        assert SNAKE.fullmatch(parameter["name"]) or parameter["name"] in FOREIGN, parameter["name"]
        assert f"{{{parameter['name']}}}" in path or parameter["in"] != "path"
    statuses = set(operation["responses"])
    assert {"401", "403", "429", "503"} <= statuses
    assert "requestBody" not in operation or {"400", "413", "415"} <= statuses
    for status, response in operation["responses"].items():
        assert response["description"]
        assert "X-Request-ID" in response["headers"]
        assert ("Retry-After" in response["headers"]) >= (status in ("202", "429", "503"))
        if status >= "400":
            assert set(response["content"]) == {PROBLEM}


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_examples_are_what_their_schema_says(path, method, operation):
    contents = [operation.get("requestBody", {}), *operation["responses"].values()]
    for content in (holder.get("content", {}).get(JSON, {}) for holder in contents):
        for name, example in content.get("examples", {}).items():
            assert [error.message for error in validator(content["schema"]).iter_errors(example["value"])] == [], name


def test_headers_and_problem_types_are_declared_once():
    assert published()["components"]["headers"] == HEADERS
    kinds = [kind for kind in vars(problems).values() if isinstance(kind, type) and issubclass(kind, problems.Problem)]
    assert [kind for kind in kinds if not re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.problem_type)] == []
