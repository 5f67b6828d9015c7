"""Constants of a serving engine fitted to somebody's own runs, starting from a published profile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimator.constants.launching import LAUNCH
from estimator.engine.calibration.bench_file import BenchRun
from estimator.engine.calibration.least_squares import Fit, Floats, robust_fit, without
from estimator.engine.errors import InvalidInputError
from estimator.engine.serving.capacity import capacity, running_tokens
from estimator.engine.serving.load import Load, context_tokens
from estimator.engine.serving.steady_state import steady_state
from estimator.engine.specs import ServingConstants, WorkloadMode
from estimator.engine.speed.prepared import Key, prepare

# Width of the prior of each constant's logarithm: how far engines of one kind lie apart in the published fits.
PRIOR_WIDTHS = {
    "kernel_time_scale": 0.15,
    "step_s": 0.7,
    "per_sequence_s": 1.0,
    "launch_share": 0.5,
    "server_in_s": 0.5,
    "bandwidth_factor": 0.10,
}
_LIMITS = {"bandwidth_factor": 1.0}
_LEAST_VALUES = {"per_sequence_s": 1e-6, "server_in_s": 1e-3, "step_s": 1e-5}
_LEAST_RUNS_TO_LEAVE_OUT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationCase:
    """One run and the setting it was measured in; all cases share the key's engine profile."""

    key: Key
    run: BenchRun


@dataclass(frozen=True, slots=True, kw_only=True)
class FitError:
    """Absolute relative errors of one metric: median and largest, before the fit, after it, and of runs left out.

    `left_out_median` is None with fewer than three runs.
    """

    metric: str
    runs: int
    before_median: float
    median: float
    largest: float
    left_out_median: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The fitted constants and how well they do; `changed` holds the constants that moved, by name."""

    constants: ServingConstants
    changed: dict[str, float]
    errors: tuple[FitError, ...]


def calibrate(cases: Sequence[CalibrationCase]) -> Calibration:
    """Fits six constants to TPOT and TTFT of the runs, held near the parent profile by their priors.

    A run beyond the cache's capacity teaches TPOT only: its TTFT is the queue's.

    Args:
        cases: one or more runs on the same engine profile.

    Raises:
        InvalidInputError: no runs, profiles that differ or have no serving constants.
        MissingFigureError: no measured kernels stand for a GPU.
    """
    parent = _parent(cases)
    names = tuple(PRIOR_WIDTHS)
    sigmas = np.array([PRIOR_WIDTHS[name] for name in names])
    model = _Model(cases, parent, names)
    fit = robust_fit(model.residuals, sigmas=sigmas)
    constants = model.constants(fit.shifts)
    before = model.residuals(np.zeros(len(names)))
    left_out = _left_out(model, fit, sigmas)
    return Calibration(
        constants=constants,
        changed={name: getattr(constants, name) for name in names},
        errors=tuple(_errors(model, before, fit.residuals, left_out)),
    )


def _parent(cases: Sequence[CalibrationCase]) -> ServingConstants:
    if not cases:
        raise InvalidInputError("give at least one run", field="runs")
    if len({case.key.engine.slug for case in cases}) > 1:
        raise InvalidInputError("all runs must be of one engine profile", field="runs")
    serving = cases[0].key.engine.serving
    if serving is None:
        raise InvalidInputError("only profiles of serving engines can be calibrated", field="engine")
    return serving


class _Model:
    """Residuals, log(predicted / measured), of every usable figure of the runs as a function of the constants."""

    def __init__(self, cases: Sequence[CalibrationCase], parent: ServingConstants, names: Sequence[str]) -> None:
        self.cases, self.parent, self.names = cases, parent, names
        self.metrics: list[str] = []
        self.run_of: list[int] = []
        for at, case in enumerate(cases):
            _, _, saturated = _predicted(case, parent)
            for metric in ("tpot_s",) if saturated else ("tpot_s", "ttft_s"):
                self.metrics.append(metric)
                self.run_of.append(at)

    def constants(self, shifts: Floats) -> ServingConstants:
        """The parent's constants moved by the shifts of their logarithms, kept inside what is allowed."""
        values: dict[str, Any] = {}
        for name, shift in zip(self.names, shifts, strict=True):
            start = max(float(getattr(self.parent, name)), _LEAST_VALUES.get(name, 0.0))
            values[name] = min(start * float(np.exp(shift)), _LIMITS.get(name, np.inf))
        return replace(self.parent, **values)

    def residuals(self, shifts: Floats) -> Floats:
        """log(predicted / measured) of each figure."""
        constants = self.constants(shifts)
        said = [_predicted(case, constants)[:2] for case in self.cases]
        pairs = zip(self.run_of, self.metrics, strict=True)
        return np.array([
            np.log(said[at][metric == "ttft_s"] / getattr(self.cases[at].run, metric)) for at, metric in pairs
        ])  # fmt: skip


def _predicted(case: CalibrationCase, constants: ServingConstants) -> tuple[float, float, bool]:
    """TPOT and TTFT in seconds, and whether the load is beyond the cache."""
    prepared = prepare(replace(case.key, engine=replace(case.key.engine, serving=constants)))
    if prepared.serving is None or prepared.scheduler is None:
        raise InvalidInputError(prepared.unsupported or "no kernels", field="gpu")
    run = case.run
    load = Load(
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        concurrency=run.concurrency,
        context_tokens=context_tokens(run.input_tokens, run.output_tokens),
        client_s=LAUNCH.benchmark_client_s,
    )
    shares = (prepared.reserved_share, 1.0)
    running, full = (running_tokens(run.input_tokens, run.output_tokens, share) for share in shares)
    limits = capacity(prepared.cache.stages, prepared.limits, running_tokens=running, full_tokens=full)
    if limits.running_sequences < 1.0:
        raise InvalidInputError("the model does not fit on this GPU with these settings", field="gpu")
    state = steady_state(prepared.serving, prepared.scheduler, load, limits, WorkloadMode.CLOSED_LOOP)
    saturated = bool(run.concurrency > float(state.admitted) * (1.0 + 1e-9))
    return float(state.tpot_s), float(state.ttft_s + state.queue_s), saturated


def _left_out(model: _Model, fit: Fit, sigmas: Floats) -> Floats | None:
    """Residuals of each run by the fit on the others; None with too few runs."""
    runs = np.array(model.run_of)
    if len(model.cases) < _LEAST_RUNS_TO_LEAVE_OUT:
        return None
    residuals = np.empty(len(runs))
    for run in range(len(model.cases)):
        kept = runs != run
        residuals[~kept] = without(fit, kept, sigmas=sigmas)
    return residuals


def _errors(model: _Model, before: Floats, after: Floats, left_out: Floats | None) -> Sequence[FitError]:
    metrics = np.array(model.metrics)
    size: Callable[[Floats], Floats] = lambda residuals: np.abs(np.expm1(residuals))  # noqa: E731
    found = []
    for metric in sorted(set(model.metrics)):
        at = metrics == metric
        found.append(
            FitError(
                metric=metric,
                runs=int(at.sum()),
                before_median=float(np.median(size(before[at]))),
                median=float(np.median(size(after[at]))),
                largest=float(np.max(size(after[at]))),
                left_out_median=None if left_out is None else float(np.median(size(left_out[at]))),
            )
        )
    return found
