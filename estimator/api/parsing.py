"""Reads a body or a query string into its pydantic model; every fault of it in one `ResolutionError`."""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import orjson
from django.http import QueryDict
from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError

from estimator.api.faults import issues_of
from estimator.resolvers.facts import Facts
from estimator.resolvers.issues import MAX_ISSUES, Issue, ResolutionError

Body = TypeVar("Body", bound=BaseModel)
_KEY = re.compile(rb'"\s*:')


def parse_body(model: type[Body], raw: bytes, facts: Facts | None = None) -> Body:
    """The body as its model.

    orjson goes first: it refuses NaN, infinities such as 1e999, lone surrogates, and nesting deeper than 1,024, some of
    which pydantic lets into free-form parts. A repeated key is refused: which of the two was meant cannot be known.

    Raises:
        ResolutionError: with code `malformed`, or every fault of the fields.
    """
    try:
        tree = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        detail = _("The body is not valid JSON: %(reason)s.") % {"reason": str(error)}
        raise ResolutionError([Issue(path=(), code="malformed", detail=detail)]) from None
    if b"\\u0000" in raw and (places := list(_nul_places(tree, ()))):
        detail = _("No text may hold the character NUL.")
        raise ResolutionError([Issue(path=place, code="invalid", detail=detail) for place in places[:MAX_ISSUES]])
    repeated = _repeated_keys(raw, tree)
    if repeated:
        raise ResolutionError(repeated)
    try:
        return model.model_validate_json(raw, context={"facts": facts})
    except ValidationError as error:
        raise ResolutionError(issues_of(error, facts)) from None


def parse_query(model: type[Body], query: QueryDict) -> Body:
    """The query string as its model; every parameter at most once.

    Raises:
        ResolutionError: whose paths are single parameter names.
    """
    repeated = [
        Issue(path=(name,), code="ambiguous", detail=_("This parameter was given more than once."))
        for name, values in query.lists()
        if len(values) > 1
    ]
    if repeated:
        raise ResolutionError(repeated[:MAX_ISSUES])
    try:
        return model.model_validate(query.dict())
    except ValidationError as error:
        raise ResolutionError(issues_of(error, None)) from None


def _nul_places(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Where a text holds NUL, which JSON can say and PostgreSQL cannot store; a key with it counts as its object."""
    if isinstance(value, str) and "\0" in value:
        yield path
    elif isinstance(value, dict):
        for key, child in value.items():
            if "\0" in key:
                yield path
            else:
                yield from _nul_places(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _nul_places(child, (*path, index))


def _repeated_keys(raw: bytes, tree: Any) -> list[Issue]:
    """Keys given twice in one object. Counting is enough in the usual case; only a doubt costs a second parse."""
    if len(_KEY.findall(raw)) == _count_keys(tree):
        return []
    found: list[Issue] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for key, value in pairs:
            if key in seen and len(found) < MAX_ISSUES:
                detail = _("The key “%(key)s” is given more than once in one object.") % {"key": key[:60]}
                found.append(Issue(path=(key,), code="ambiguous", detail=detail))
            seen[key] = value
        return seen

    json.loads(raw, object_pairs_hook=unique)
    return found


def _count_keys(tree: Any) -> int:
    """Keys of all objects in a parsed body; iterative, so that depth costs no stack."""
    count = 0
    pending = [tree]
    while pending:
        node = pending.pop()
        if type(node) is dict:
            count += len(node)
            pending.extend(node.values())
        elif type(node) is list:
            pending.extend(node)
    return count
