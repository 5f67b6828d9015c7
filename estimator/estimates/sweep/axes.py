"""The axes of a sweep, resolved from a snapshot's facts: engine objects, labels for rows, and what goes with what."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.engine.errors import EngineError, InvalidInputError, UnknownArchitectureError
from estimator.engine.faults import MAX_FAULTS, Fault, FaultCode, ResolutionError
from estimator.engine.options import Lora
from estimator.engine.specs import Parallelism
from estimator.engine.specs import Precision as EnginePrecision
from estimator.estimates.sweep.entries import (
    ServedEngine,
    label_of,
    name_faults,
    refuse_twice,
    resolve_sweep_engine,
)
from estimator.estimates.sweep.loads import check_window, load_faults
from estimator.question.gpu import GpuFigures
from estimator.question.plan import Precision
from estimator.question.sweep import Sweep, SweptWorkload
from estimator.question.workload import Power, ResolvedWorkload, Speculative
from estimator.resolvers.facts import Facts
from estimator.resolvers.gpus import resolve_gpu
from estimator.resolvers.models import resolve_model
from estimator.resolvers.parallel import check_parallelism, scale_up_warning
from estimator.resolvers.plan import ResolvedGpu, ResolvedModel
from estimator.resolvers.precisions import (
    check_activations,
    check_cache_format,
    check_precision,
    resolve_precision,
    stored_format_warnings,
)
from estimator.resolvers.resolve import resolve_draft, resolve_speculative

Path = tuple[str | int, ...]
Reasons = NDArray[np.int32]
_IDEAL = "ideal"
DEFAULT_CACHE = EnginePrecision().kv_cache
# The axes in row order, each with the column of its labels.
COLUMN_OF_AXIS = {
    "models": "model",
    "gpus": "gpu",
    "engines": "engine",
    "precisions": "precision",
    "parallelism": "parallelism",
    "workloads": "workload",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """Resolved axes; `gpus_ideal` holds the same GPUs with the memory figure that profile `ideal` counts with.

    `labels` are what rows call each entry, by the column's name. `parallel_reason[model, parallelism]`,
    `precision_reason[gpu, precision]`, `cache_reason[engine, precision]` and `window_reason[model, workload]` index
    `reasons`; −1 is fine.
    """

    models: tuple[ResolvedModel, ...]
    gpus: tuple[ResolvedGpu, ...]
    gpus_ideal: tuple[ResolvedGpu, ...]
    engines: tuple[ServedEngine, ...]
    precisions: tuple[Precision, ...]
    parallelism: tuple[Parallelism, ...]
    swept: tuple[SweptWorkload, ...]
    workloads: tuple[ResolvedWorkload, ...]
    lora: Lora | None
    speculative: Speculative | None
    draft_model: ResolvedModel | None
    mtp_layers_loaded: int
    power: Power | None
    power_cap_w: float | None
    labels: Mapping[str, tuple[str, ...]]
    parallel_reason: Reasons
    precision_reason: Reasons
    cache_reason: Reasons
    window_reason: Reasons
    reasons: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int, int, int, int, int]:
        """Lengths of the axes in row order: model, GPU, engine, precision, parallelism, workload."""
        return (
            len(self.models),
            len(self.gpus),
            len(self.engines),
            len(self.precisions),
            len(self.parallelism),
            len(self.workloads),
        )

    def unsupported(self, codes: Sequence[Any]) -> Reasons:
        """Index of the reason why rows at these places of the axes have no figures, −1 where they have."""
        model, gpu, engine, precision, parallel, workload = codes
        found = self.parallel_reason[model, parallel]
        for other in (
            self.precision_reason[gpu, precision],
            self.cache_reason[engine, precision],
            self.window_reason[model, workload],
        ):
            found = np.where(found >= 0, found, other)
        return np.asarray(found, dtype=np.int32)


def resolve_axes(sweep: Sweep, facts: Facts) -> Axes:
    """The axes of a sweep given by the names of the API.

    Raises:
        ResolutionError: Every slug that is unknown and every entry that goes with nothing, by its place in the sweep.
        UnknownArchitectureError: A config whose model_type has no rule.
    """
    issues = [*name_faults(sweep, facts), *load_faults(sweep)]
    models = [
        _part(issues, lambda e=entry: resolve_model(e, facts, ()), ("models", number))
        for number, entry in enumerate(sweep.models)
    ]
    engines = [
        _part(issues, lambda e=entry: resolve_sweep_engine(e, facts, sweep), ("engines", number))
        for number, entry in enumerate(sweep.engines)
    ]
    kinds = {engine.profile.kind == _IDEAL for engine in engines if engine is not None}
    gpus = _gpus(sweep.gpus, facts, issues, ideal=False) if False in kinds else []
    gpus_ideal = _gpus(sweep.gpus, facts, issues, ideal=True) if True in kinds else []
    speculative = _part(issues, lambda: resolve_speculative(sweep.speculative, []), ())
    draft = _part(issues, lambda: resolve_draft(speculative, facts), ())
    if issues:
        raise ResolutionError(issues[:MAX_FAULTS])
    axes = _matched(sweep, models, gpus, gpus_ideal, engines)
    axes = replace(axes, speculative=speculative, draft_model=draft)
    _refuse_useless(axes)
    refuse_twice({axis: axes.labels[column] for axis, column in COLUMN_OF_AXIS.items()})
    return axes


def _matched(
    sweep: Sweep,
    models: Sequence[ResolvedModel],
    gpus: Sequence[ResolvedGpu],
    gpus_ideal: Sequence[ResolvedGpu],
    engines: Sequence[ServedEngine],
) -> Axes:
    """The axes with what goes with what."""
    precisions = tuple(sweep.precisions)
    parallelism = tuple(Parallelism(**dict(given)) for given in sweep.parallelism)
    workloads = tuple(workload.resolved() for workload in sweep.workloads)
    some_gpus = tuple(gpus or gpus_ideal)
    reasons: list[str] = []
    axes = Axes(
        models=tuple(models),
        gpus=some_gpus,
        gpus_ideal=tuple(gpus_ideal) or some_gpus,
        engines=tuple(engines),
        precisions=precisions,
        parallelism=parallelism,
        swept=tuple(sweep.workloads),
        workloads=workloads,
        lora=Lora(**dict(sweep.lora)) if sweep.lora else None,
        speculative=None,
        draft_model=None,
        mtp_layers_loaded=sweep.mtp_layers_loaded,
        power=sweep.power,
        power_cap_w=sweep.power_cap_w,
        labels={
            "model": tuple(map(label_of, sweep.models)),
            "gpu": tuple(map(label_of, sweep.gpus)),
            "engine": tuple(engine.label for engine in engines),
            "precision": tuple(precision_label(precision, models) for precision in precisions),
            "parallelism": tuple(f"tp{p.tp}-pp{p.pp}-ep{p.ep}-dp{p.dp}" for p in parallelism),
            "workload": tuple(workload.label for workload in sweep.workloads),
        },
        parallel_reason=_matrix(reasons, models, parallelism, lambda m, p: check_parallelism(p, m.architecture)),
        precision_reason=_matrix(reasons, some_gpus, precisions, lambda g, p: check_activations(p.activations, g)),
        cache_reason=_matrix(
            reasons, engines, precisions, lambda e, p: check_cache_format(p.kv_cache or DEFAULT_CACHE, e.profile)
        ),
        window_reason=_matrix(reasons, models, workloads, check_window),
    )
    return replace(axes, reasons=tuple(reasons))


def warnings_of(axes: Axes) -> Iterator[str]:
    """What an estimate of each setting would warn of, each once: formats, splits, models read with a gap."""
    told = dict.fromkeys(axes.reasons)
    for model in axes.models:
        told |= dict.fromkeys(model.architecture.warnings)
        for precision in axes.precisions:
            told |= dict.fromkeys(stored_format_warnings(resolve_precision(precision, model.architecture), model))
    for place, gpu in enumerate(axes.gpus):
        for number, precision in enumerate(axes.precisions):
            if axes.precision_reason[place, number] < 0:
                told |= dict.fromkeys(
                    text
                    for model in axes.models
                    for text in check_precision(resolve_precision(precision, model.architecture), gpu)
                )
        for parallel in axes.parallelism:
            if spans := scale_up_warning(parallel, gpu):
                told[spans] = None
    yield from told


def precision_label(precision: Precision, models: Sequence[ResolvedModel]) -> str:
    """weights/kv_cache, with the other formats behind where they are set; `own` where models' own files differ."""
    weights = {resolve_precision(precision, model.architecture).weights for model in models}
    label = f"{weights.pop() if len(weights) == 1 else 'own'}/{precision.kv_cache or DEFAULT_CACHE}"
    for name in ("attention_weights", "expert_weights", "activations"):
        if value := getattr(precision, name):
            label += f" {name.removesuffix('_weights')}={value}"
    return label


def _part(issues: list[Fault], resolve: Any, path: Path) -> Any:
    """What `resolve` gives, or None with its faults noted at `path`."""
    try:
        return resolve()
    except ResolutionError as error:
        issues += [replace(fault, path=path) for fault in error.faults]
    except UnknownArchitectureError as error:
        error.field = ".".join(map(str, ("sweep", *path, error.field)))
        raise
    except EngineError as error:
        code: FaultCode = "invalid" if isinstance(error, InvalidInputError) else "not_supported"
        issues.append(Fault(path=path, code=code, detail=str(error)))
    return None


def _gpus(entries: Sequence[str | GpuFigures], facts: Facts, issues: list[Fault], *, ideal: bool) -> list[Any]:
    return [
        _part(issues, lambda e=entry: resolve_gpu(e, facts, ideal=ideal, path=()), ("gpus", number))
        for number, entry in enumerate(entries)
    ]


def _matrix(reasons: list[str], rows: Sequence[Any], columns: Sequence[Any], check: Any) -> Reasons:
    """Index of the reason why a row does not go with a column, −1 where it does."""
    matrix = np.full((len(rows), len(columns)), -1, dtype=np.int32)
    for row, left in enumerate(rows):
        for column, right in enumerate(columns):
            try:
                check(left, right)
            except (ResolutionError, EngineError) as error:
                text = " ".join(i.detail for i in error.faults) if isinstance(error, ResolutionError) else str(error)
                if text not in reasons:
                    reasons.append(text)
                matrix[row, column] = reasons.index(text)
    return matrix


def _refuse_useless(axes: Axes) -> None:
    """An entry that goes with nothing of the sweep is a mistake of its author, not a row without figures."""
    issues = []
    for name, matrix, code in (
        ("parallelism", axes.parallel_reason, "not_supported"),
        ("precisions", axes.precision_reason, "not_supported"),
        ("precisions", axes.cache_reason, "not_supported"),
        ("workloads", axes.window_reason, "out_of_range"),
    ):
        for entry in np.flatnonzero((matrix >= 0).all(axis=0)):
            detail = axes.reasons[int(matrix[0, entry])]
            issues.append(Fault(path=(name, int(entry)), code=code, detail=detail))  # type: ignore[arg-type]
    if issues:
        raise ResolutionError(issues)
