"""An engine profile fitted to a user's own runs, resolved from a plan; nothing is saved here."""

from collections.abc import Sequence
from math import ceil

from estimator.engine.calibration.bench_file import BenchRun
from estimator.engine.calibration.constants import Calibration, CalibrationCase, calibrate
from estimator.engine.speed.prepared import Key
from estimator.estimates.memory_fit.load import memory_plan
from estimator.resolvers.plan import Plan


def calibrate_plan(plan: Plan, runs: Sequence[BenchRun]) -> Calibration:
    """The fit of the plan's engine profile to runs measured in the plan's setting.

    Raises:
        InvalidInputError: no runs, a profile that cannot be calibrated, or a model that does not fit.
        MissingFigureError: no measured kernels stand for the GPU.
    """
    return calibrate([CalibrationCase(key=_key(plan, run), run=run) for run in runs])


def _key(plan: Plan, run: BenchRun) -> Key:
    """The setting of a run; its memory is that of a server for the run's lengths."""
    longest = max(ceil(run.input_tokens + run.output_tokens), 1)
    return Key(
        architecture=plan.model.architecture,
        gpu=plan.gpu.spec,
        engine=plan.engine,
        precision=plan.precision,
        parallelism=plan.parallelism,
        memory=memory_plan(plan, longest_tokens=longest),
    )


def evidence_of(plan: Plan, calibration: Calibration, runs: Sequence[BenchRun]) -> str:
    """What the new profile rests on, in words: setting, runs and errors; no text of a run."""
    errors = "; ".join(
        f"{error.metric} {100 * error.before_median:.1f} % before, {100 * error.median:.1f} % after"
        for error in calibration.errors
    )
    parallel = plan.parallelism
    return (
        f"Calibrated from {plan.engine.slug} on {len(runs)} runs of vllm bench serve, "
        f"{sum(run.completed for run in runs)} requests: {plan.model.name}, {plan.gpu.name}, tp {parallel.tp}, "
        f"pp {parallel.pp}, weights {plan.precision.weights}. Median errors: {errors}."
    )


def fit_error_of(calibration: Calibration) -> dict[str, dict[str, float | int | None]]:
    """Errors of the fit by metric, as fractions, in the form a profile stores."""
    return {
        error.metric: {
            "runs": error.runs,
            "before_median": error.before_median,
            "median": error.median,
            "largest": error.largest,
            "left_out_median": error.left_out_median,
        }
        for error in calibration.errors
    }
