"""An architecture as plain JSON data and back: what the catalog stores and report snapshots keep."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

from estimator.engine.errors import InvalidInputError
from estimator.engine.model.spec import Architecture


def to_dict(architecture: Architecture) -> dict[str, Any]:
    """The architecture as JSON-able data; fields at their default value are left out."""
    plain = _plain(architecture)
    assert isinstance(plain, dict)  # noqa: S101 - narrows the type; a dataclass always becomes a dict
    return plain


def from_dict(data: Mapping[str, Any]) -> Architecture:
    """The architecture that `to_dict` wrote.

    Raises:
        InvalidInputError: the data does not describe an architecture.
    """
    try:
        built = _build(Architecture, data)
    except (TypeError, ValueError, KeyError, AttributeError) as problem:
        raise InvalidInputError(f"not a stored architecture: {problem}", field="architecture") from problem
    assert isinstance(built, Architecture)  # noqa: S101 - narrows the type
    return built


def _plain(value: Any) -> Any:
    """Dataclasses as dicts without defaults, tuples as lists, enums as their values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        result = {}
        for field in dataclasses.fields(value):
            item = getattr(value, field.name)
            if field.default is not dataclasses.MISSING and item == field.default:
                continue
            result[field.name] = _plain(item)
        return result
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _build(kind: Any, value: Any) -> Any:
    """Build a value of a declared type from plain data."""
    if isinstance(kind, types.UnionType):
        if value is None:
            return None
        kind = next(option for option in typing.get_args(kind) if option is not type(None))
    origin = typing.get_origin(kind)
    if origin is tuple:
        return tuple(_build(typing.get_args(kind)[0], item) for item in value)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = _hints(kind)
        unknown = set(value) - set(hints)
        if unknown:
            raise ValueError(f"unknown keys {', '.join(sorted(unknown))}")
        return kind(**{name: _build(hints[name], item) for name, item in value.items()})
    if isinstance(kind, type) and issubclass(kind, tuple):
        return kind(*(_build(hint, item) for hint, item in zip(_hints(kind).values(), value, strict=True)))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{value!r} is not {kind.__name__}")
    return value
