"""Every field of a request by its model, each with other values that its type allows: nothing is listed by hand."""

import copy
import datetime
import enum
import math
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import AwareDatetime, BaseModel
from pydantic.fields import FieldInfo

from estimator.question.fields import SlugOf

Path = tuple[str | int, ...]
SLUGS_TRIED = 6
TEXTS = ("a-name-of-its-own", "hopper", "nvlink4", "es", "eu", "batch", "2025-03-31T10:00:00Z")
MONEY = ("7.5", "0.5", "0", "250000")
CURRENCIES = ("EUR",)
_MOMENTS = ("2025-01-31T05:00:00Z", "2026-11-27T02:00:00Z")
_PLAIN: dict[Any, tuple[Any, ...]] = {
    bool: (True, False),
    datetime.date: ("2025-01-31", "2026-02-01"),
    datetime.datetime: _MOMENTS,
    AwareDatetime: _MOMENTS,
}


@dataclass(frozen=True)
class Change:
    """A field below a question, with other values for it; `owner` is the class that declares it."""

    path: Path
    owner: type[BaseModel]
    field: str
    question: dict[str, Any]
    values: tuple[Any, ...]

    @property
    def name(self) -> str:
        return ".".join(map(str, self.path))

    @property
    def info(self) -> FieldInfo:
        return self.owner.model_fields[self.field]

    def asked(self, value: Any) -> dict[str, Any]:
        """The question with the field set to a value."""
        return with_value(self.question, self.path, value)


def with_value(question: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """A copy of a question with one value set."""
    question = copy.deepcopy(question)
    part: Any = question
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    return question


def changes(question: dict[str, Any], model: type[BaseModel], facts: Any, at: Path = ()) -> Iterator[Change]:
    """Every field below a part of a question, those of parts left out too."""
    part: Any = question
    for step in at:
        part = part[step]
    for name, info in model.model_fields.items():
        key = info.alias or name
        path = (*at, key)
        if key in part:
            yield from _below(question, path, part[key], info, facts)
        else:
            yield from _left_out(question, path, info, facts)
        old = part.get(key)
        # An empty part says nothing.
        values = [
            value
            for value in _values(info, old, facts)
            if value not in (old, {}, [{}]) and _says(info, key in part, value)
        ]
        if values:
            yield Change(path, model, name, question, tuple(values))


def _says(info: FieldInfo, given: bool, value: Any) -> bool:
    """Whether a value is another than the one that counts now: that of the default where the field is left out."""
    return given or info.is_required() or bool(info.get_default(call_default_factory=True) != value)


def _below(question: dict[str, Any], path: Path, value: Any, info: FieldInfo, facts: Any) -> Iterator[Change]:
    """The fields of a part that the question holds."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value, path = value[0], (*path, 0)
    if not isinstance(value, dict):
        return
    models = nested(info)
    found = next((model for model in models if _holds(model, value)), None)
    if found is None and models and value and isinstance(first := next(iter(value.values())), dict):
        path, value = (*path, next(iter(value))), first
        found = next((model for model in models if _holds(model, value)), None)
    if found is not None:
        yield from changes(question, found, facts, path)


def _left_out(question: dict[str, Any], path: Path, info: FieldInfo, facts: Any) -> Iterator[Change]:
    """The fields of a part that the question leaves out, put in with the least that it needs."""
    models = nested(info)
    if len(models) == 1 and not _is_collection(info.annotation):
        yield from changes(with_value(question, path, least(models[0], facts)), models[0], facts, path)


def least(model: type[BaseModel], facts: Any) -> dict[str, Any]:
    """An object with the required fields alone."""
    return {name: _modest(values) for name, values in _required(model, facts).items()}


def most(model: type[BaseModel], facts: Any) -> dict[str, Any]:
    """An object with the required fields alone, its numbers large."""
    return {name: _large(values) for name, values in _required(model, facts).items()}


def _required(model: type[BaseModel], facts: Any) -> dict[str, list[Any]]:
    fields = model.model_fields.items()
    return {info.alias or name: _values(info, None, facts) for name, info in fields if info.is_required()}


def _large(values: list[Any]) -> Any:
    numbers = [value for value in values if isinstance(value, int | float)]
    return max(numbers) if numbers else values[0]


def _modest(values: list[Any]) -> Any:
    """A value of no great consequence: the number nearest to 4, else the first."""
    numbers = [value for value in values if isinstance(value, int | float) and value > 0]
    return min(numbers, key=lambda value: abs(math.log(value / 4))) if numbers else values[0]


def nested(info: FieldInfo) -> list[type[BaseModel]]:
    """Models inside the annotation of a field."""
    return list(dict.fromkeys(_models(info.annotation)))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def parts_of(model: type[BaseModel]) -> set[type[BaseModel]]:
    """A model and every one below it."""
    below = (part for info in model.model_fields.values() for inner in nested(info) for part in parts_of(inner))
    return {model, *below}


def _holds(model: type[BaseModel], value: dict[str, Any]) -> bool:
    names = {info.alias or name for name, info in model.model_fields.items()}
    needed = {info.alias or name for name, info in model.model_fields.items() if info.is_required()}
    return needed <= value.keys() <= names


def _is_collection(annotation: Any) -> bool:
    return any(get_origin(one) in (list, tuple, dict) for one in (annotation, *get_args(annotation)))


def _values(info: FieldInfo, old: Any, facts: Any) -> list[Any]:
    given = [*(info.examples or ()), *_of(info.annotation, list(info.metadata), old, facts)]
    return [value for number, value in enumerate(given) if value not in given[:number]]


def _of(annotation: Any, metadata: list[Any], old: Any, facts: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        examples = [e for one in more if isinstance(one, FieldInfo) for e in one.examples or ()]
        flat = [m for one in more for m in (one.metadata if isinstance(one, FieldInfo) else [one])]
        return [*examples, *_of(inner, [*metadata, *flat], old, facts)]
    if origin in (Union, types.UnionType):
        return [value for inner in get_args(annotation) for value in _of(inner, metadata, old, facts)]
    if origin is Literal:
        return list(get_args(annotation))
    if origin in (list, tuple):
        return [[value] for value in _of(get_args(annotation)[0], [], None, facts)]
    if origin is dict:
        keys, values = (_of(inner, [], None, facts) for inner in get_args(annotation))
        return [{key: value} for key in keys[:SLUGS_TRIED] for value in values[:1] or [1]]
    if annotation in (int, float):
        return _numbers(annotation, metadata, old)
    return _texts(metadata, facts) if annotation is str else _of_class(annotation, facts)


def _of_class(annotation: Any, facts: Any) -> list[Any]:
    if annotation in _PLAIN:
        return list(_PLAIN[annotation])
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return [one.value for one in annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [least(annotation, facts), most(annotation, facts)]
    return []


def _texts(metadata: list[Any], facts: Any) -> list[str]:
    for one in metadata:
        rule = getattr(one, "func", one)
        if isinstance(rule, SlugOf):
            slugs = sorted(facts.slugs(rule.kind))
            return slugs[:: max(1, len(slugs) // SLUGS_TRIED)]
    patterns = [str(one.pattern) for one in metadata if getattr(one, "pattern", None)]
    if any("[A-Z]{3}" in pattern for pattern in patterns):
        return list(CURRENCIES)
    if any(r"(\.[0-9]" in pattern for pattern in patterns):
        return list(MONEY)
    return list(TEXTS)


def _numbers(kind: type, metadata: list[Any], old: Any) -> list[float]:
    """Numbers near the old one, then over the whole range."""
    low = max((getattr(one, "ge", getattr(one, "gt", None)) or 0 for one in metadata if _bounds(one)), default=0)
    bounds = [one for one in metadata if _bounds(one)]
    high = min((v for one in bounds if (v := getattr(one, "le", getattr(one, "lt", None))) is not None), default=10**9)
    open_end = any(isinstance(one, annotated_types.Lt) for one in bounds)
    near = [old * 3, old / 3, old * 40] if isinstance(old, int | float) and not isinstance(old, bool) and old else []
    wide = [high * 0.5, high * 0.1, 2.0, 30.0, 700.0, 20_000.0, 1e6, 3e10, low, high]
    found = []
    for value in [*near, *wide]:
        one = round(value) if kind is int else float(value)
        if low <= one <= high and not (open_end and one == high) and one not in found:
            found.append(one)
    return found


def _bounds(one: Any) -> bool:
    kinds = (annotated_types.Ge, annotated_types.Gt, annotated_types.Le, annotated_types.Lt)
    return isinstance(one, kinds)
