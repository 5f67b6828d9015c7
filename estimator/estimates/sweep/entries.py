"""Entries of a sweep's axes: catalog slugs, changed catalog rows and inline models and GPUs, each with its label.

The label is what rows, prices and findings call the entry: the slug, the slug with what was changed, or the given name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.options import MemoryOverrides
from estimator.engine.specs import EngineProfile
from estimator.question.fields import Kind
from estimator.question.gpu import GpuFigures
from estimator.question.model import ConfigModel, OverriddenModel, ShapeModel
from estimator.resolvers.engines import resolve_engine
from estimator.resolvers.facts import Facts
from estimator.resolvers.issues import Issue, ResolutionError

Entry = str | Mapping[str, Any]
Path = tuple[str | int, ...]
_KINDS: Mapping[str, Kind] = {"models": "model", "gpus": "gpu", "engines": "engine"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepEngine:
    """An engine profile with the memory settings of its rows."""

    label: str
    profile: EngineProfile
    memory: MemoryOverrides


def slug_of(entry: Entry) -> str | None:
    """The catalog slug (or alias) of an entry; None for one given inline."""
    return entry if isinstance(entry, str) else entry.get("slug")


def label_of(entry: Entry) -> str:
    """What rows call a model or GPU of a sweep."""
    if isinstance(entry, str):
        return entry
    if slug := entry.get("slug"):
        return _with_changes(slug, entry.get("override") or {})
    return str(entry.get("name") or "")


def _with_changes(slug: str, changes: Mapping[str, Any]) -> str:
    told = ", ".join(f"{name}={_figure(value)}" for name, value in changes.items() if value is not None)
    return f"{slug} ({told})" if told else slug


def _figure(value: float) -> str:
    """A figure with all its digits, so that two entries are told apart by what differs: 131072, 0.9."""
    return f"{int(value)}" if float(value).is_integer() else f"{float(value)!r}"


def model_asked(entry: Entry) -> str | OverriddenModel | ConfigModel | ShapeModel:
    """A model of a sweep as the resolver takes it."""
    if isinstance(entry, str):
        return entry
    noun = OverriddenModel if "slug" in entry else ConfigModel if "config" in entry else ShapeModel
    return noun.model_validate(entry, strict=False)


def gpu_asked(entry: Entry) -> str | GpuFigures:
    """A GPU of a sweep as the resolver takes it."""
    return entry if isinstance(entry, str) else GpuFigures.model_validate(entry, strict=False)


def resolve_sweep_engine(entry: Entry, facts: Facts, shared: Mapping[str, Any]) -> SweepEngine:
    """An engine of a sweep: the memory settings of all rows, and those of its own before them.

    Raises:
        ResolutionError: no profile has this name.
    """
    profile = resolve_engine(slug_of(entry) or "", facts, ())
    own = {} if isinstance(entry, str) else entry.get("memory") or {}
    given = {name: value for name, value in own.items() if value is not None}
    return SweepEngine(
        label=_with_changes(profile.slug, given), profile=profile, memory=MemoryOverrides(**(dict(shared) | given))
    )


def name_faults(sweep: Mapping[str, Any], facts: Facts) -> list[Issue]:
    """Inline models and GPUs need a name, and one that no row of the catalog has."""
    issues = []
    for axis in ("models", "gpus"):
        for number, entry in enumerate(sweep[axis]):
            if slug_of(entry) is not None:
                continue
            path: Path = (axis, number, "name")
            if not label_of(entry).strip():
                detail = _("In a sweep it needs a name: rows, prices and findings call it so.")
                issues.append(Issue(path=path, code="required", detail=detail))
            elif label_of(entry) in facts.slugs(_KINDS[axis]):
                detail = _("The catalog has an entry of this name; give it another.")
                issues.append(Issue(path=path, code="ambiguous", detail=detail))
    return issues


def refuse_twice(labels: Mapping[str, Sequence[str]]) -> None:
    """The same entry twice, or an engine and its alias, would make two rows of one key.

    Raises:
        ResolutionError: every entry whose label stands before it on its axis.
    """
    issues = []
    for axis, names in labels.items():
        for number, name in enumerate(names):
            if name in names[:number]:
                detail = _("This entry, or another of the same name, stands before it: %(name)s.") % {"name": name}
                issues.append(Issue(path=(axis, number), code="ambiguous", detail=detail))
    if issues:
        raise ResolutionError(issues)
