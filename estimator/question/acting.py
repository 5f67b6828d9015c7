"""What a field of a question needs in order to act, said beside the field.

A field is never ignored in silence (docs/adding-an-endpoint.md): it moves the answer, is refused by its name, or a
warning names it. `Needs` in the annotation of a field says when it does not act; `idle_fields` finds those that a
question gives in vain.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel


class Repeated:
    """Marks a field that names or dates something: the answer repeats it, and no figure depends on it."""


REPEATED = Repeated()


@dataclass(frozen=True, slots=True)
class Needs:
    """The field acts only where `met` holds of the part that it stands in; `why` completes “Not used: field; …”."""

    why: str
    met: Callable[[Any], bool]


def needs(*names: str, why: str = "") -> Needs:
    """The field acts only beside another one: the first of `names` that is given is enough."""
    return Needs(why or f"{' or '.join(names)} is needed with it", lambda part: any(is_given(part, n) for n in names))


def is_given(part: BaseModel, name: str) -> bool:
    """Whether a part gives a field another value than its default."""
    # Asked for many fields of every request, and most are not given: the set itself, not the property around it.
    if name not in part.__pydantic_fields_set__:
        return False
    default = type(part).__pydantic_fields__[name].get_default(call_default_factory=True)
    return bool(getattr(part, name) != default)


def idle_fields(part: BaseModel, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Fields below a part that are given and do not act, each with the reason.

    Args:
        part: a question or a part of it.
        prefix: path of the part, with its last point.
    """
    needed, parts = _declared(type(part))
    for name, rules in needed.items():
        if is_given(part, name):
            yield from ((f"{prefix}{name}", rule.why) for rule in rules if not rule.met(part))
    for name in parts:
        if name not in part.__pydantic_fields_set__:
            continue
        yield from _below(getattr(part, name), f"{prefix}{name}.")


def _below(value: Any, prefix: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, BaseModel):
        yield from idle_fields(value, prefix)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from _below(one, f"{prefix}{name}.")
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _below(one, f"{prefix}{place}.")


@cache
def _declared(model: type[BaseModel]) -> tuple[dict[str, list[Needs]], tuple[str, ...]]:
    """The needs of each field of a model, and the fields that hold parts."""
    found = {
        name: [one for one in info.metadata if isinstance(one, Needs)] for name, info in model.model_fields.items()
    }
    parts = tuple(name for name, info in model.model_fields.items() if _holds_parts(info.annotation))
    return {name: rules for name, rules in found.items() if rules}, parts


def _holds_parts(annotation: Any) -> bool:
    if isinstance(annotation, type):
        return issubclass(annotation, BaseModel)
    return any(_holds_parts(inner) for inner in get_args(annotation))
