"""Stored constants of an engine profile, checked by building what the engine will build from them."""

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from catalog.engine_versions import Version, at_version
from estimator.constants.memory import memory_changes, memory_constants
from estimator.constants.profiles import is_judged, profile_constants
from estimator.constants.rows import Constant
from estimator.engine.errors import EngineError
from estimator.engine.memory.policy import MemoryPolicy
from estimator.engine.specs import EngineProfile, IdealConstants, LlamaCppConstants, ServingConstants

_CONSTANTS: dict[str, Any] = {
    "ideal": IdealConstants,
    "serving": ServingConstants,
    "llama_cpp": LlamaCppConstants,
}

# Constants of releases up to 0.2, which stored profiles still hold: launch settings and traffic took their place.
_RETIRED = frozenset(
    {"prefill_floor_s_per_layer", "ttft0_s", "burst_weight_w", "burst_per_sequence_s", "first_token_steps"}
)


class ConstantsError(ValueError):
    """Constants the engine would refuse; `field` is memory_policy, speed_constants or kind."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def speed_constants(slug: str, kind: str) -> dict[str, Any]:
    """Every speed constant of a shipped profile by name, as the catalog stores it: its own, or what engines share.

    Args:
        slug: the profile whose rows they are.
        kind: what the constants feed.
    """
    cls = _CONSTANTS[kind]
    hints = get_type_hints(cls)
    stated = {name: hints[name](row.value) for name, row in profile_constants(slug).items()}
    whole = dataclasses.asdict(cls(**stated))
    return whole | {"basis": "judgement"} if is_judged(slug) else whole


def memory_policy(slug: str, rules: Mapping[str, Any], bases: Sequence[str] = ()) -> dict[str, Any]:
    """The memory policy of a shipped profile as the catalog stores it: its rules, and its constants from their rows.

    Args:
        slug: the profile whose rows they are.
        rules: what its entry says beside them: layouts, flags, tables, evidence.
        bases: profiles whose constants, as of their first releases, hold where it states none; the last one first.
    """
    changes = {since: dict(values) for since, values in rules.get("by_version", {}).items()}
    for since, rows in memory_changes(slug):
        changes.setdefault(since, {}).update(_memory_values(rows))
    stated = [_memory_values(memory_constants(each)) for each in (*bases, slug)]
    whole = {name: value for values in (*stated, rules) for name, value in values.items()}
    return whole | {"by_version": changes} if changes else whole


def _memory_values(rows: Mapping[str, Constant]) -> dict[str, int | float]:
    whole = {name for name, hint in get_type_hints(MemoryPolicy).items() if hint is not float}
    return {name: int(row.value) if name in whole else row.value for name, row in rows.items()}


def engine_profile(facts: Mapping[str, Any], version: Version | None = None) -> EngineProfile:
    """The engine's profile from stored facts (keys as of `catalog.snapshot.engine_facts`).

    Args:
        facts: of the row.
        version: a release inside the profile's range; None takes the newest of it.

    Raises:
        ConstantsError: an unknown constant (with the nearest known ones), a wrong type or a value out of range.
    """
    kind = facts["kind"]
    if kind not in _CONSTANTS:
        raise ConstantsError("kind", f"{kind!r} is none of {', '.join(_CONSTANTS)}")
    memory = _build("memory_policy", MemoryPolicy, at_version(facts["memory_policy"], version))
    stored = at_version(facts["speed_constants"], version)
    speed = _build("speed_constants", _CONSTANTS[kind], {n: v for n, v in stored.items() if n not in _RETIRED})
    try:
        return EngineProfile(
            slug=facts["slug"],
            engine=facts["engine"],
            engine_version=facts.get("engine_version") or None,
            release=".".join(map(str, version)) if version else None,
            kind=kind,
            memory=memory,
            evidence=facts.get("evidence", ""),
            **{kind: speed},
        )
    except EngineError as refused:
        raise ConstantsError("kind", str(refused)) from refused


def _build(field: str, cls: Any, values: Mapping[str, Any]) -> Any:
    known = [f.name for f in dataclasses.fields(cls)]
    hints = get_type_hints(cls)
    for name, value in values.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else f"; known: {', '.join(known)}"
            raise ConstantsError(field, f"{name} is no constant of this kind of profile{hint}")
        if isinstance(value, float) and not abs(value) < float("inf"):
            raise ConstantsError(field, f"{name} must be a finite number")
        if not _is_of(hints[name], value):
            raise ConstantsError(field, f"{name} must be {_in_words(hints[name])}")
    try:
        return cls(**values)
    except (EngineError, TypeError, ValueError) as refused:
        raise ConstantsError(field, str(refused)) from refused


def _is_of(hint: Any, value: Any) -> bool:
    """Whether a JSON value is what the engine's field holds; true is no number, and a word is no list."""
    origin = get_origin(hint)
    if origin is Literal:
        return value in get_args(hint)
    if origin is UnionType:
        return any(_is_of(each, value) for each in get_args(hint))
    if origin is tuple:
        return isinstance(value, list | tuple)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return value in list(hint)
    if hint in (int, float):
        return isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    return isinstance(value, hint)


def _in_words(hint: Any) -> str:
    origin = get_origin(hint)
    if origin is Literal:
        return "one of " + ", ".join(get_args(hint))
    if origin is UnionType:
        return " or ".join(_in_words(each) for each in get_args(hint))
    if origin is tuple:
        return "a list"
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return "one of " + ", ".join(hint)
    return {int: "a whole number", float: "a number", bool: "true or false", str: "text"}.get(hint, "null")
