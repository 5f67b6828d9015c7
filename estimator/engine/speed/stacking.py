"""Many folded keys as one value of arrays: the constants of a row are then a gather, not a loop."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np

ValueT = TypeVar("ValueT")

# What a missing slot holds, by field: a block of one token that costs nothing.
_PADDING = {"block_tokens": 1.0, "log_miss": -1.0}


def stack(values: Sequence[ValueT]) -> ValueT:
    """One value whose fields are arrays of shape (keys,); tuples of slots are padded to the longest.

    Args:
        values: equal dataclasses whose fields are numbers, tuples of numbers, or such dataclasses; at least one.
    """
    first = values[0]
    stacked: dict[str, Any] = {}
    for spec in fields(first):  # type: ignore[arg-type]
        column = [getattr(value, spec.name) for value in values]
        if isinstance(column[0], tuple):
            slots = max(len(entry) for entry in column)
            padding = _PADDING.get(spec.name, 0.0)
            padded = [(*entry, *([padding] * (slots - len(entry)))) for entry in column]
            stacked[spec.name] = tuple(np.array(slot, dtype=np.float64) for slot in zip(*padded, strict=True))
        elif is_dataclass(column[0]):
            stacked[spec.name] = stack(column)
        else:
            stacked[spec.name] = np.array(column, dtype=np.float64)
    return type(first)(**stacked)


def take(stacked: ValueT, index: Any) -> ValueT:
    """The stacked value with its arrays gathered by `index`, one entry per row; values within values likewise."""
    kind: Any = type(stacked)
    made: ValueT = kind(**{name: _taken(getattr(stacked, name), index) for name in _names(kind)})
    return made


def _taken(value: Any, index: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.take(index, mode="clip")
    if isinstance(value, tuple):
        return tuple(_taken(one, index) for one in value)
    return None if value is None else take(value, index)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
