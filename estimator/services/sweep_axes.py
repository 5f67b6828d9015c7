"""The axes of a sweep, resolved from a snapshot's facts: engine objects, labels for rows, and what goes with what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from estimator.engine.errors import EngineError
from estimator.engine.options import MemoryOverrides
from estimator.engine.specs import EngineProfile, Parallelism, Precision, WorkloadMode
from estimator.resolvers.choices import GpuChoice, ModelChoice
from estimator.resolvers.engines import resolve_engine
from estimator.resolvers.facts import Facts
from estimator.resolvers.gpus import resolve_gpu
from estimator.resolvers.issues import Issue, ResolutionError
from estimator.resolvers.models import resolve_model
from estimator.resolvers.parallel import check_parallelism
from estimator.resolvers.plan import ResolvedGpu, ResolvedModel
from estimator.resolvers.precisions import check_precision

Path = tuple[str | int, ...]
Reasons = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepWorkload:
    """Lengths in tokens and mode of one workload; the batch of a row is its concurrency."""

    label: str
    mode: WorkloadMode
    input_tokens: int
    output_tokens: int
    prefix_cache_hit_rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """Resolved axes; `gpus_ideal` holds the same GPUs with the memory figure that profile `ideal` counts with.

    `parallel_reason[model, parallelism]`, `precision_reason[gpu, precision]` and `window_reason[model, workload]` index
    `reasons`; −1 is fine.
    """

    models: tuple[ResolvedModel, ...]
    gpus: tuple[ResolvedGpu, ...]
    gpus_ideal: tuple[ResolvedGpu, ...]
    engines: tuple[EngineProfile, ...]
    precisions: tuple[Precision, ...]
    parallelism: tuple[Parallelism, ...]
    workloads: tuple[SweepWorkload, ...]
    memory: MemoryOverrides
    reasons: tuple[str, ...]
    parallel_reason: Reasons
    precision_reason: Reasons
    window_reason: Reasons

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


def resolve_axes(sweep: Mapping[str, Any], facts: Facts) -> Axes:
    """The axes of a sweep given by the names of the API.

    Raises:
        ResolutionError: Every slug that is unknown and every entry that goes with nothing, by its place in the sweep.
    """
    issues: list[Issue] = []
    models = [_part(issues, lambda p, s=slug: resolve_model(ModelChoice(slug=s), facts, p), ("models", n))
              for n, slug in enumerate(sweep["models"])]  # fmt: skip
    engines = [_part(issues, lambda p, s=slug: resolve_engine(s, facts, ("engines",)), ("engines", n))
               for n, slug in enumerate(sweep["engines"])]  # fmt: skip
    gpus = _gpus(sweep["gpus"], facts, issues, ideal=False, wanted=any(e and e.kind != "ideal" for e in engines))
    gpus_ideal = _gpus(sweep["gpus"], facts, issues, ideal=True, wanted=any(e and e.kind == "ideal" for e in engines))
    if issues:
        raise ResolutionError(issues)
    precisions = tuple(Precision(**given) for given in sweep["precisions"])
    parallelism = tuple(Parallelism(**given) for given in sweep["parallelism"])
    workloads = tuple(map(_workload, sweep["workloads"]))
    found = tuple(model for model in models if model is not None)
    some_gpus = tuple(gpu for gpu in (gpus if any(gpus) else gpus_ideal) if gpu is not None)
    reasons: list[str] = []
    axes = Axes(
        models=found,
        gpus=some_gpus,
        gpus_ideal=tuple(gpu for gpu in gpus_ideal if gpu is not None) or some_gpus,
        engines=tuple(engine for engine in engines if engine is not None),
        precisions=precisions,
        parallelism=parallelism,
        workloads=workloads,
        memory=MemoryOverrides(**(sweep.get("memory") or {})),
        parallel_reason=_matrix(reasons, found, parallelism, lambda m, p: check_parallelism(p, m.architecture)),
        precision_reason=_matrix(reasons, some_gpus, precisions, lambda g, p: check_precision(p, g)),
        window_reason=_matrix(reasons, found, workloads, _check_window),
        reasons=(),
    )
    axes = _with_reasons(axes, tuple(reasons))
    _refuse_useless(axes)
    _refuse_twice(sweep, engines=[engine.slug for engine in axes.engines])
    return axes


def _with_reasons(axes: Axes, reasons: tuple[str, ...]) -> Axes:
    values = {field.name: getattr(axes, field.name) for field in fields(axes)} | {"reasons": reasons}
    return Axes(**values)


def _part(issues: list[Issue], resolve: Any, path: Path) -> Any:
    """What `resolve` gives, or None with its faults noted at `path`."""
    try:
        return resolve(path)
    except ResolutionError as error:
        issues += [Issue(path=path, code=i.code, detail=i.detail, near=i.near) for i in error.issues]
    except EngineError as error:
        issues.append(Issue(path=path, code="not_supported", detail=str(error)))
    return None


def _gpus(
    slugs: Sequence[str], facts: Facts, issues: list[Issue], *, ideal: bool, wanted: bool
) -> list[ResolvedGpu | None]:
    if not wanted:
        return []
    return [
        _part(issues, lambda p, s=slug: resolve_gpu(GpuChoice(slug=s), facts, ideal=ideal, path=p), ("gpus", number))
        for number, slug in enumerate(slugs)
    ]


def _workload(given: Mapping[str, Any]) -> SweepWorkload:
    label = given.get("name") or f"{given['mode']} {given['input_tokens']}+{given['output_tokens']}"
    if not given.get("name") and given.get("prefix_cache_hit_rate"):
        label += f" hit {given['prefix_cache_hit_rate']:g}"
    return SweepWorkload(
        label=label,
        mode=WorkloadMode(given["mode"]),
        input_tokens=int(given["input_tokens"]),
        output_tokens=int(given["output_tokens"]),
        prefix_cache_hit_rate=float(given.get("prefix_cache_hit_rate") or 0.0),
    )


def _check_window(model: ResolvedModel, workload: SweepWorkload) -> None:
    window = model.context_window_tokens
    needed = workload.input_tokens + workload.output_tokens
    if window is not None and needed > window:
        detail = _("%(needed)s tokens are more than the context window of %(model)s, %(window)s.") % {
            "needed": needed,
            "model": model.name,
            "window": window,
        }
        raise ResolutionError([Issue(path=(), code="out_of_range", detail=detail)])


def _matrix(reasons: list[str], rows: Sequence[Any], columns: Sequence[Any], check: Any) -> Reasons:
    """Index of the reason why a row does not go with a column, −1 where it does."""
    matrix = np.full((len(rows), len(columns)), -1, dtype=np.int32)
    for row, left in enumerate(rows):
        for column, right in enumerate(columns):
            try:
                check(left, right)
            except (ResolutionError, EngineError) as error:
                text = " ".join(i.detail for i in error.issues) if isinstance(error, ResolutionError) else str(error)
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
        ("workloads", axes.window_reason, "out_of_range"),
    ):
        for entry in np.flatnonzero((matrix >= 0).all(axis=0)):
            detail = axes.reasons[int(matrix[0, entry])]
            issues.append(Issue(path=(name, int(entry)), code=code, detail=detail))  # type: ignore[arg-type]
    if issues:
        raise ResolutionError(issues)


def _refuse_twice(sweep: Mapping[str, Any], *, engines: Sequence[str]) -> None:
    """The same entry twice, or an engine and its alias, would make two rows of one key."""
    given_axes = dict(sweep) | {"engines": engines}
    issues = []
    for name in ("models", "gpus", "engines", "precisions", "parallelism", "workloads"):
        for number, entry in enumerate(given_axes[name]):
            if entry in given_axes[name][:number]:
                issues.append(Issue(path=(name, number), code="ambiguous", detail=_("This entry is given twice.")))
    labels = [_workload(given).label for given in sweep["workloads"]]
    for number, label in enumerate(labels):
        if label in labels[:number] and sweep["workloads"][number] not in sweep["workloads"][:number]:
            detail = _("Another workload has the same name.")
            issues.append(Issue(path=("workloads", number, "name"), code="ambiguous", detail=detail))
    if issues:
        raise ResolutionError(issues)
