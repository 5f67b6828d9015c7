"""Published runs of an open loop: requests at a rate, and what the service says of the same rate."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimator.constants.kernels import KernelConstants
from estimator.engine.specs import EngineProfile, Parallelism, Precision, WorkloadMode
from estimator.engine.speed.sweep import Sweep
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import prepared_key
from estimator.question.workload import ResolvedWorkload
from estimator.resolvers.engine_settings import memory_with
from estimator.validation import shipped
from estimator.validation.rows import DATA_DIR

OPEN_METRICS = ("ttft_s", "itl_s", "e2e_s")
_SETTINGS = ("max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """One stage of one run; seconds are means over its requests, lengths in tokens."""

    id: str
    source: str
    experiment: str
    model: str
    gpu: str
    engine: str
    tp: int
    weights: str
    requests_per_s: float
    input_tokens: float
    shared_prefix_tokens: float
    output_tokens: float
    settings: dict[str, float]
    measured: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPrediction:
    """A stage and what is said of it, seconds by metric."""

    run: OpenRun
    expected: dict[str, float]

    def error(self, metric: str) -> float:
        """Relative error, `predicted / measured − 1`."""
        return self.expected[metric] / self.run.measured[metric] - 1.0


def read_open_runs() -> tuple[OpenRun, ...]:
    """All shipped stages."""
    with (DATA_DIR / "open_loop.csv").open(encoding="utf-8", newline="") as stream:
        return tuple(_run(row) for row in csv.DictReader(stream, strict=True))


def predict_open(
    runs: Sequence[OpenRun],
    constants: KernelConstants | None = None,
    profile: Callable[[str], EngineProfile] = shipped.profile,
) -> tuple[OpenPrediction, ...]:
    """What the service says of each stage: arrivals are regular, and prefixes that are shared are found."""
    return tuple(_predict(run, constants, profile) for run in runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSummary:
    """Errors of one metric over the stages of a model, or of all; fractions."""

    group: str
    stages: int
    median: float
    worst: float
    bias: float


def summarise_open(predictions: Sequence[OpenPrediction]) -> tuple[OpenSummary, ...]:
    """Errors by metric: of every stage, then of each model."""
    models = sorted({prediction.run.model for prediction in predictions})
    return tuple(
        _summary(metric, model, [p.error(metric) for p in predictions if model in ("", p.run.model)])
        for metric in OPEN_METRICS
        for model in ("", *models)
    )


def _summary(metric: str, model: str, errors: Sequence[float]) -> OpenSummary:
    name = {"ttft_s": "TTFT", "itl_s": "ITL", "e2e_s": "E2E"}[metric]
    size = np.abs(errors)
    return OpenSummary(
        group=f"{name}: {model}" if model else name,
        stages=len(errors),
        median=float(np.median(size)),
        worst=float(np.max(size)),
        bias=float(np.median(errors)),
    )


def _run(row: dict[str, str]) -> OpenRun:
    return OpenRun(
        id=row["id"],
        source=row["source"],
        experiment=row["experiment"],
        model=row["model"],
        gpu=row["gpu"],
        engine=row["engine"],
        tp=int(row["tp"]),
        weights=row["weights"],
        requests_per_s=float(row["requests_per_s"]),
        input_tokens=float(row["input_tokens"]),
        shared_prefix_tokens=float(row["shared_prefix_tokens"]),
        output_tokens=float(row["output_tokens"]),
        settings={name: float(row[name]) for name in _SETTINGS},
        measured={name: float(row[f"{name.removesuffix('_s')}_mean_s"]) for name in OPEN_METRICS},
    )


def _predict(
    run: OpenRun, constants: KernelConstants | None, profile: Callable[[str], EngineProfile]
) -> OpenPrediction:
    engine = profile(run.engine)
    workload = ResolvedWorkload(
        mode=WorkloadMode.OPEN_LOOP,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        requests_per_s=run.requests_per_s,
        # Stages follow one another at a steady pace.
        burstiness_cv=0.0,
        prefix_cache_hit_rate=run.shared_prefix_tokens / run.input_tokens,
    )
    plan = shipped.plan(run.model, run.gpu, run.engine, Precision(weights=run.weights), Parallelism(tp=run.tp))
    plan = replace(
        plan,
        engine=engine,
        workload=workload,
        engine_settings=run.settings,
        memory=memory_with(plan.memory, run.settings, engine),
    )
    columns = Sweep([prepared_key(plan, constants=constants)]).evaluate(rows_of(workload, np.ones(1)))
    said = {"ttft_s": "ttft_s_mid", "itl_s": "tpot_s_mid", "e2e_s": "e2e_s_mid"}
    return OpenPrediction(run=run, expected={name: float(columns[column][0]) for name, column in said.items()})
