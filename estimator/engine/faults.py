"""What is wrong with an input, from the engine to the problem document of the API: where, a code, a sentence."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

FaultCode = Literal[
    "malformed",
    "required",
    "unknown_field",
    "invalid_type",
    "invalid",
    "ambiguous",
    "out_of_range",
    "not_supported",
    "unknown_slug",
]
"""`invalid` is no value of the field: no such word, or it contradicts another field. `not_supported` is a value that
exists and cannot be had here: by this engine, GPU, model or language. `unknown_slug` names no row, or several."""

FAULT_CODES = frozenset(get_args(FaultCode))
MAX_FAULTS = 100
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault of one input.

    Args:
        code: one of FAULT_CODES.
        detail: what is wrong and what is allowed, for people.
        path: keys and indices from the body to the place; the body itself when empty.
        near: known values close to an unknown one, nearest first.
    """

    code: FaultCode
    detail: str
    path: Path = ()
    near: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.code not in FAULT_CODES:
            raise ValueError(f"{self.code!r} is no code of the API's contract.")

    def under(self, *path: str | int) -> "Fault":
        """The same fault of a part that stands at this path."""
        return replace(self, path=(*path, *self.path))


class ParameterFault(Fault):
    """A fault of a query parameter or header: `path` is its name."""

    __slots__ = ()


class ResolutionError(Exception):
    """The request is well formed, but its parts do not go together or with the catalog; holds every fault found."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(str(fault.detail) for fault in self.faults))
