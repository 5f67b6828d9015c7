"""What the runs of a calibration say of the setting that they were measured in."""

import math
from collections.abc import Sequence

import numpy as np

from estimator.engine.calibration.correction import METRICS, Correction, RunError, correct
from estimator.engine.codes import MODE_CODES
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.prepared import PreparedKey
from estimator.engine.speed.sweep import Rows, Sweep
from estimator.estimates.throughput.rows import traffic_columns
from estimator.resolvers.plan import Calibration, MeasuredPoint

SATURATED = "saturated"


def correction_of(prepared: PreparedKey, calibration: Calibration) -> Correction:
    """The correction of a setting: errors of the estimate as it is now, so that new constants never correct twice."""
    errors = errors_of(prepared, calibration.points)
    return Correction(
        by_metric={
            metric: correct(metric, runs)
            for metric in METRICS
            if metric in calibration.metrics and (runs := [run for run in errors[metric] if run is not None])
        }
    )


def errors_of(prepared: PreparedKey, points: Sequence[MeasuredPoint]) -> dict[str, list[RunError | None]]:
    """ln(measured / said) of each point by figure; None where the run has no such figure or the estimate says none.

    The first token of a load beyond the places of the server is its queue: it says nothing of the setting.
    """
    found: dict[str, list[RunError | None]] = {metric: [] for metric in METRICS}
    sweep = Sweep([prepared])
    for point in points:
        said = sweep.evaluate(_row(point))
        saturated = bool(said[SATURATED][0])
        for metric in METRICS:
            measured, value = getattr(point, metric), float(said[f"{metric}_mid"][0])
            silent = measured is None or not value > 0.0 or (saturated and metric == "ttft_s")
            found[metric].append(None if silent else _error(point, math.log(measured / value)))
    return found


def _error(point: MeasuredPoint, error: float) -> RunError:
    return RunError(
        input_tokens=point.input_tokens, output_tokens=point.output_tokens, concurrency=point.concurrency, error=error
    )


def _row(point: MeasuredPoint) -> Rows:
    concurrency = np.array([float(point.concurrency)])
    mode = WorkloadMode.SINGLE_STREAM if point.concurrency == 1 else WorkloadMode.CLOSED_LOOP
    return Rows(
        key=np.zeros(1, dtype=np.intp),
        mode=MODE_CODES[mode],
        input_tokens=float(point.input_tokens),
        output_tokens=float(point.output_tokens),
        concurrency=concurrency,
        **traffic_columns(point.traffic, concurrency),
    )
