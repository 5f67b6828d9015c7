"""Settings of servers by their engines' own names: what each feeds, its default and since which version, with source.

A setting that feeds the memory policy has no default here: the profile's policy says it.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "settings" / "engine_settings.csv"
# Engines started with another's settings.
_STARTED_AS = {"nim": "tensorrt-llm", "trtllm-bench": "tensorrt-llm"}
Value = bool | int | float
Version = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSetting:
    """One setting: `kind` is tokens, count, steps, share, ratio or flag; `feeds` names what the model makes of it.

    `defaults` are (version from which it holds, value), oldest first; none where the memory policy has the default.
    """

    engine: str
    name: str
    kind: str
    feeds: str
    meaning: str
    source: str
    defaults: tuple[tuple[Version, Value], ...] = ()

    def default(self, version: Version) -> Value | None:
        """The default of a version, None where the setting has none of its own."""
        held = [value for since, value in self.defaults if since <= version]
        return held[-1] if held else None


@cache
def settings_of(engine: str) -> Mapping[str, EngineSetting]:
    """The settings of an engine by name; none of an engine that no row names."""
    known = _STARTED_AS.get(engine, engine)
    return {each.name: each for each in all_settings() if each.engine == known}


@cache
def all_settings() -> tuple[EngineSetting, ...]:
    """Every setting of every engine, in the order of the file."""
    with _FILE.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, strict=True))
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault((row["engine"], row["name"]), []).append(row)
    return tuple(_setting(group) for group in groups.values())


def _setting(rows: list[dict[str, str]]) -> EngineSetting:
    last = rows[-1]
    return EngineSetting(
        engine=last["engine"],
        name=last["name"],
        kind=last["kind"],
        feeds=last["feeds"],
        meaning=last["meaning"],
        source=last["source"],
        defaults=tuple(sorted(_defaults(rows))),
    )


def _defaults(rows: Iterable[Mapping[str, str]]) -> Iterable[tuple[Version, Value]]:
    for row in rows:
        if row["default"]:
            since = tuple(int(part) for part in row["since"].split(".")) if row["since"] else ()
            yield since, _value(row["default"])


def _value(text: str) -> Value:
    return text == "true" if text in ("true", "false") else float(text)
