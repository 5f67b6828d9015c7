"""The arguments that a server takes: names of every list kept, short forms, what flags mean, which change nothing."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from estimator.estimates.memory_fit.launch_command import argument_lists

_DATA = Path(__file__).parent / "data"
ENGINES = ("vllm", "sglang", "tensorrt-llm", "llama.cpp")
# argparse takes any beginning of a name that is clear; the others do not.
_ABBREVIATES = frozenset({"vllm", "sglang"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a flag says: the kind of its value and the field of a question that it is."""

    kind: str
    field: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Everything known of an engine's arguments. `lists`: version, source and names of each list kept.

    `quiet_values`: values with which a flag changes nothing, of flags that otherwise may.
    """

    engine: str
    names: frozenset[str]
    lists: tuple[tuple[str, str, frozenset[str]], ...]
    short: Mapping[str, str]
    meanings: Mapping[str, Meaning]
    without_effect: frozenset[str]
    quiet_values: Mapping[str, frozenset[str]]
    switches: frozenset[str]
    several: frozenset[str]

    def spelled(self, flag: str) -> str | None:
        """The name that a flag as written means; None where the engine has none such.

        Args:
            flag: `--tensor_parallel_size`, `-tp`, `--no-enable-prefix-caching`, `--tp`.
        """
        if flag in self.short:
            return self.short[flag]
        if flag in self.names:
            return flag
        if not flag.startswith("--"):
            return None
        other = (
            flag.replace("_", "-") if self.engine != "tensorrt-llm" else flag.replace("-", "_").replace("__", "--", 1)
        )
        if other in self.names:
            return other
        if other.startswith("--no-") and "--" + other[5:] in self.names:
            return other
        return self._begun(other) if self.engine in _ABBREVIATES and len(other) > 3 else None

    def _begun(self, flag: str) -> str | None:
        """The one name, or the names of one meaning, that a beginning can only mean."""
        found = [name for name in self.names if name.startswith(flag)]
        fields = {self.meanings[name].field if name in self.meanings else name for name in found}
        return found[0] if len(fields) == 1 else None


@cache
def arguments_of(engine: str) -> Arguments:
    """What is known of an engine's arguments; the engine is one of ENGINES."""
    lists = [
        (one.version, one.source, one.names)
        for profile, one in argument_lists().items()
        if _engine_of(profile) == engine
    ]
    short: dict[str, str] = {}
    for entry in _entries("more_arguments.yaml"):
        if entry["engine"] == engine:
            lists.append((str(entry["version"]), str(entry["source"]), frozenset(entry["arguments"].split())))
            short |= dict(pair.split("=", 1) for pair in entry["short"].split())
    meanings = _meanings(engine)
    quiet = next(entry for entry in _entries("without_effect.yaml") if entry["engine"] == engine)
    switches = frozenset(quiet["switches"].split())
    return Arguments(
        engine=engine,
        names=frozenset(name for _version, _source, names in lists for name in names) | frozenset(meanings),
        lists=tuple(lists),
        short=short,
        meanings=meanings,
        without_effect=(frozenset(quiet["names"].split()) | switches) - frozenset(meanings),
        quiet_values={name: frozenset(said.split()) for name, said in quiet.get("values", {}).items()},
        switches=switches
        | frozenset(quiet.get("acting", "").split())
        | {name for name, meaning in meanings.items() if meaning.kind == "switch"},
        several=frozenset(quiet["lists"].split()),
    )


def _engine_of(profile: str) -> str:
    return next((engine for engine in ENGINES if profile == engine or profile.startswith(f"{engine}-")), "")


@cache
def _entries(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((_DATA / name).read_text(encoding="utf-8"))
    return found


def _meanings(engine: str) -> dict[str, Meaning]:
    with (_DATA / "flags.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["engine"] == engine]
    return {
        flag: Meaning(kind=row["kind"], field=row["field"], note=row["note"])
        for row in rows
        for flag in row["flags"].split()
    }
