"""Calibrations from people's own runs: which one belongs to a plan, and who brings them.

A calibration belongs to one setting: model, GPU with its figures, engine version, split, formats and launch settings.
Anything else makes it another setting, to which it says nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from catalog import snapshot
from estimator.constants.engine_settings import Value
from estimator.engine.options import MemoryOverrides
from estimator.engine.specs import EngineProfile, Gpu, Parallelism, Precision
from estimator.question.traffic import Traffic

_DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPoint:
    """One run: its load and what was measured, seconds; None for a figure that the run does not have.

    `traffic` is how the requests came and which statistic of the first token the run states.
    """

    input_tokens: float
    output_tokens: float
    concurrency: int
    tpot_s: float | None
    ttft_s: float | None
    traffic: Traffic = field(default_factory=Traffic)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A calibration as stored; `owner` is None for one that an editor shared.

    `scope` is what `scope_of` says of its plan; `metrics` are the figures that its left-out runs let it correct.
    """

    id: str
    name: str
    owner: int | None
    scope: Mapping[str, Any]
    metrics: tuple[str, ...]
    points: tuple[MeasuredPoint, ...]
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The parts of a plan that a calibration is scoped to."""

    model: str | None
    gpu: Gpu
    gpu_slug: str | None
    engine: EngineProfile
    parallelism: Parallelism
    precision: Precision
    memory: MemoryOverrides = field(default_factory=MemoryOverrides)
    engine_settings: Mapping[str, Value] = field(default_factory=dict)
    tuned: bool = True


def scope_of(setting: Setting) -> dict[str, Any] | None:
    """The scope of a setting as plain JSON; None where model or GPU are none of the catalog."""
    if setting.model is None or setting.gpu_slug is None:
        return None
    return {
        "model": setting.model,
        "gpu": setting.gpu_slug,
        "gpu_figures": _figures(setting.gpu),
        "engine": setting.engine.slug,
        "engine_release": setting.engine.release or None,
        "parallelism": asdict(setting.parallelism),
        "precision": asdict(setting.precision),
        "memory": {name: value for name, value in sorted(asdict(setting.memory).items()) if value is not None},
        "engine_settings": {name: setting.engine_settings[name] for name in sorted(setting.engine_settings)},
        "launch": "tuned" if setting.tuned else "default",
    }


def difference(scope: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """The first part in which two scopes differ; None where a calibration of the one serves the other.

    A question that names no release of its engine takes a calibration of any release that its profile covers.
    """
    for name, value in scope.items():
        found = other.get(name)
        if name == "engine_release" and found is None:
            continue
        if found != value:
            return name
    return None


def _figures(gpu: Gpu) -> dict[str, Any]:
    """The figures of a GPU that its speed follows from, rounded as JSON keeps them."""
    return {
        "memory_bandwidth_bytes_per_s": float(f"{gpu.memory_bandwidth_bytes_per_s:.{_DECIMALS}g}"),
        "memory_bytes": float(f"{gpu.memory_bytes:.{_DECIMALS}g}"),
        "peak_flops_per_s": {name: float(f"{peak:.{_DECIMALS}g}") for name, peak in sorted(gpu.peak_flops_per_s.items())
                             if peak},
    }  # fmt: skip


Load = Callable[[], Sequence[Calibration]]
_sources: list[Load] = []


def register(load: Load) -> None:
    """Make the calibrations of an app known; `load` reads all that are switched on, once per catalog revision."""
    _sources.append(load)


def calibrations_of(catalog: snapshot.CatalogFacts, owner: int | None) -> tuple[Calibration, ...]:
    """Those of a person, newest first, and then the shared ones."""
    found = catalog.derived("calibrations", lambda: tuple(one for load in _sources for one in load()))
    own = tuple(one for one in found if owner is not None and one.owner == owner)
    return (*own, *(one for one in found if one.owner is None))


def matching(calibrations: Sequence[Calibration], setting: Setting) -> Calibration | None:
    """The calibration of a setting: a person's own before a shared one."""
    if not calibrations:
        return None
    scope = scope_of(setting)
    if scope is None:
        return None
    return next((one for one in calibrations if difference(one.scope, scope) is None), None)
