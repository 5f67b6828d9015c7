"""Many folded keys as one value of arrays: the constants of a row are then a gather, not a loop."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

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


class Gatherer(Generic[ValueT]):
    """A stacked value whose arrays lie in one matrix: rows of an index are gathered at once, not array by array."""

    def __init__(self, stacked: ValueT) -> None:
        leaves = _leaves(stacked)
        self._matrix = np.concatenate(leaves).reshape(len(leaves), -1)
        self._rebuild = _rebuilder(stacked)

    def take(self, index: Any) -> ValueT:
        """The value with the entries of an index, of its shape; of a number the entries as numbers."""
        made: ValueT = self._rebuild(iter(self._matrix.take(index, axis=1, mode="clip")))
        return made


def _leaves(value: Any) -> list[npt.NDArray[np.float64]]:
    """The arrays of a stacked value, depth first."""
    if isinstance(value, np.ndarray):
        return [value]
    if value is None:
        return []
    kind: Any = type(value)
    parts = value if isinstance(value, tuple) else [getattr(value, name) for name in _names(kind)]
    return [leaf for part in parts for leaf in _leaves(part)]


def _rebuilder(value: Any) -> Callable[[Iterator[Any]], Any]:
    """What makes a value of this form from its leaves, in their order."""
    if isinstance(value, np.ndarray):
        return next
    if value is None:
        return lambda leaves: None
    if isinstance(value, tuple):
        parts = [_rebuilder(part) for part in value]
        return lambda leaves: tuple([part(leaves) for part in parts])
    kind: Any = type(value)
    fields_of = [(name, _rebuilder(getattr(value, name))) for name in _names(kind)]
    return lambda leaves: kind(**{name: part(leaves) for name, part in fields_of})


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
