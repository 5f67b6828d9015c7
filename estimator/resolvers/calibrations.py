"""Calibrations from people's own runs: which one belongs to a plan, and who brings them.

A calibration belongs to one setting: model, GPU with its figures, engine version, split, formats and launch settings.
Anything else makes it another setting, to which it says nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from catalog import snapshot
from estimator.engine.specs import Gpu
from estimator.resolvers.plan import Calibration, Plan

_DECIMALS = 6


def scope_of(plan: Plan) -> dict[str, Any] | None:
    """The scope of a plan's setting as plain JSON; None where model or GPU are none of the catalog."""
    if plan.model.slug is None or plan.gpu.slug is None:
        return None
    return {
        "model": plan.model.slug,
        "gpu": plan.gpu.slug,
        "gpu_figures": _figures(plan.gpu.spec),
        "engine": plan.engine.slug,
        "engine_release": plan.engine.release or None,
        "parallelism": asdict(plan.parallelism),
        "precision": asdict(plan.precision),
        "memory": {name: value for name, value in sorted(asdict(plan.memory).items()) if value is not None},
        "engine_settings": {name: plan.engine_settings[name] for name in sorted(plan.engine_settings)},
        "launch": "tuned" if plan.tuned else "default",
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


def matching(calibrations: Sequence[Calibration], plan: Plan) -> Calibration | None:
    """The calibration of a plan's setting: a person's own before a shared one."""
    if not calibrations:
        return None
    scope = scope_of(plan)
    if scope is None:
        return None
    return next((one for one in calibrations if difference(one.scope, scope) is None), None)
