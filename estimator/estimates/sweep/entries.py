"""Entries of a sweep's axes, each with its label: what rows, prices and findings call it.

The label is the slug, the slug with what was changed, or the given name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from estimator.constants.engine_settings import Value
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.options import MemoryOverrides
from estimator.engine.specs import EngineProfile
from estimator.question.fields import Kind
from estimator.question.gpu import GpuFigures
from estimator.question.model import ConfigModel, OverriddenModel, ShapeModel
from estimator.question.sweep import OverriddenEngine, Sweep, figure
from estimator.resolvers.engine_settings import check_settings, memory_with
from estimator.resolvers.engines import resolve_engine
from estimator.resolvers.facts import Facts

Entry = str | OverriddenModel | ConfigModel | ShapeModel | GpuFigures | OverriddenEngine
Path = tuple[str | int, ...]
_KINDS: Mapping[str, Kind] = {"models": "model", "gpus": "gpu"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedEngine:
    """An engine profile with the memory settings of its rows, and the settings of its server."""

    label: str
    profile: EngineProfile
    memory: MemoryOverrides
    engine_settings: Mapping[str, Value] = field(default_factory=dict)
    tuned: bool = True


def slug_of(entry: Entry) -> str | None:
    """The catalog slug (or alias) of an entry; None for one given inline."""
    return entry if isinstance(entry, str) else getattr(entry, "slug", None)


def label_of(entry: Entry) -> str:
    """What rows call a model or GPU of a sweep."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, OverriddenModel):
        return _with_changes(entry.slug, entry.override)
    return str(getattr(entry, "name", None) or "")


def _with_changes(slug: str, changes: Iterable[tuple[str, float | str | Sequence[float] | None]]) -> str:
    said = ((name, value) for name, value in changes if value is not None)
    told = ", ".join(f"{name}={figure(value)}" for name, value in said)
    return f"{slug} ({told})" if told else slug


def resolve_sweep_engine(entry: str | OverriddenEngine, facts: Facts, sweep: Sweep) -> ServedEngine:
    """An engine of a sweep: the settings of all rows, and those of its own before them.

    Raises:
        ResolutionError: no profile has this name, or the engine has no such setting.
    """
    profile = resolve_engine(slug_of(entry) or "", facts, ())
    own, settings, launch = _own(entry)
    stated = dict(sweep.engine_settings) | settings
    check_settings(stated, profile)
    changes = [*own.items(), *settings.items(), *([("launch", launch)] if launch else [])]
    return ServedEngine(
        label=_with_changes(profile.label, changes),
        profile=profile,
        memory=memory_with(MemoryOverrides(**(dict(sweep.memory) | own)), stated, profile),
        engine_settings=stated,
        tuned=(launch or sweep.launch) == "tuned",
    )


def _own(entry: str | OverriddenEngine) -> tuple[dict[str, Any], dict[str, Value], str | None]:
    """Memory, settings and launch that an entry states of its own."""
    if isinstance(entry, str):
        return {}, {}, None
    memory = {name: value for name, value in entry.memory if value is not None}
    return memory, dict(entry.engine_settings), entry.launch


def name_faults(sweep: Sweep, facts: Facts) -> list[Fault]:
    """Inline models and GPUs need a name, and one that no row of the catalog has."""
    faults = []
    axes: dict[str, Sequence[Entry]] = {"models": sweep.models, "gpus": sweep.gpus}
    for axis, entries in axes.items():
        for number, entry in enumerate(entries):
            if slug_of(entry) is not None:
                continue
            path: Path = (axis, number, "name")
            if not label_of(entry).strip():
                detail = _("In a sweep it needs a name: rows, prices and findings call it so.")
                faults.append(Fault(path=path, code="required", detail=detail))
            elif label_of(entry) in facts.slugs(_KINDS[axis]):
                detail = _("The catalog has an entry of this name; give it another.")
                faults.append(Fault(path=path, code="ambiguous", detail=detail))
    return faults


def refuse_twice(labels: Mapping[str, Sequence[str]]) -> None:
    """The same entry twice, or an engine and its alias, would make two rows of one key.

    Raises:
        ResolutionError: every entry whose label stands before it on its axis.
    """
    faults = []
    for axis, names in labels.items():
        for number, name in enumerate(names):
            if name in names[:number]:
                detail = _("This entry, or another of the same name, stands before it: %(name)s.") % {"name": name}
                faults.append(Fault(path=(axis, number), code="ambiguous", detail=detail))
    if faults:
        raise ResolutionError(faults)
