"""Reads JSON strictly: what two readers could take for different things is refused, every place of it in one go."""

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson
from django.utils.translation import gettext as _

from estimator.engine.faults import MAX_FAULTS, Fault, Path

# No config.json comes near it, and everything that walks a body may then use the stack.
MAX_DEPTH = 100
_KEY = re.compile(rb'"\s*:')


class UnacceptableJsonError(ValueError):
    """The body is no JSON that can be taken; holds every fault found."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(fault.detail for fault in faults))


def read_strictly(raw: bytes) -> Any:
    """The value of a JSON text.

    NaN, infinities such as 1e999, lone surrogates, nesting beyond 100, NUL in texts and a key twice in one object are
    refused: which of two values was meant cannot be known, and PostgreSQL cannot store NUL.

    Raises:
        UnacceptableJsonError: with code `malformed`, `invalid` (NUL) or `ambiguous` (a key twice).
    """
    try:
        tree = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise UnacceptableJsonError([_malformed(_syntax(raw, error))]) from None
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _is_too_deep(tree):
        raise UnacceptableJsonError([_malformed(_("The body nests more than %(n)s levels deep.") % {"n": MAX_DEPTH})])
    if b"\\u0000" in raw and (faults := list(_nul_faults(tree, ()))):
        raise UnacceptableJsonError(faults[:MAX_FAULTS])
    # Counting is enough in the usual case; only a doubt costs a second parse.
    if len(_KEY.findall(raw)) != _count_keys(tree):
        repeated = list(_repeated_keys(json.loads(raw, object_pairs_hook=_Pairs), ()))
        if repeated:
            raise UnacceptableJsonError(repeated[:MAX_FAULTS])
    return tree


def _malformed(detail: str) -> Fault:
    return Fault(code="malformed", detail=detail)


def _syntax(raw: bytes, error: orjson.JSONDecodeError) -> str:
    if not raw.strip():
        return _("The body is empty; send a JSON object.")
    return _("The body is not valid JSON: %(reason)s.") % {"reason": str(error)}


def _is_too_deep(tree: Any) -> bool:
    pending = [(tree, 1)]
    while pending:
        node, depth = pending.pop()
        if isinstance(node, dict | list):
            if depth > MAX_DEPTH:
                return True
            pending.extend((child, depth + 1) for child in (node.values() if isinstance(node, dict) else node))
    return False


def _nul_faults(value: Any, path: Path) -> Iterator[Fault]:
    """Where a text holds NUL; a key with it counts as its object."""
    if isinstance(value, str):
        if "\0" in value:
            yield Fault(path=path, code="invalid", detail=_("No text may hold the character NUL."))
    elif isinstance(value, dict):
        for key, child in value.items():
            if "\0" in key:
                yield Fault(path=path, code="invalid", detail=_("No text may hold the character NUL."))
            else:
                yield from _nul_faults(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _nul_faults(child, (*path, index))


class _Pairs(list[tuple[str, Any]]):
    """The members of one object as they were written, repeated ones included."""


def _repeated_keys(value: Any, path: Path) -> Iterator[Fault]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, child in value:
            if key in seen:
                detail = _("The key “%(key)s” is given more than once in one object.") % {"key": key[:60]}
                yield Fault(path=(*path, key), code="ambiguous", detail=detail)
            seen.add(key)
            yield from _repeated_keys(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _repeated_keys(child, (*path, index))


def _count_keys(tree: Any) -> int:
    """Keys of all objects in a parsed body."""
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
