"""How well rows are predicted by constants fitted without their model, their GPU, or their source.

The refit takes the fitted constants as linear around the shipped values (`engine.fitting.without`). It takes about a
minute, so its outcome is kept in data/leave_out.csv; a test compares the errors stored there with those of today.
"""

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from estimator.engine.calibration.least_squares import Fit, Floats, without
from estimator.engine.specs import Parallelism
from estimator.validation.fitted import Fitted, constants_at, fitted_constants
from estimator.validation.predictions import Prediction, predict
from estimator.validation.rows import DATA_DIR, Measurement, Metric, kept_out, read_measurements, used

_FILE = DATA_DIR / "leave_out.csv"
_SCALE = 0.12
_FIRST_TOKEN_WEIGHT, _AMD_WEIGHT = 0.1, 0.2
# Models of one architecture are left out together: leaving out one of two equal models would be no test.
_SAME_ARCHITECTURE = {
    "deepseek-v3": "deepseek-r1",
    "deepseek-v3.1-nvfp4": "deepseek-r1",
    "llama-3.1-8b": "llama-3-8b",
    "llama-3.1-8b-instruct": "llama-3-8b",
    "llama-3.1-70b": "llama-3-70b",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """predicted / measured of a row: by the shipped constants, and by those fitted without its model, GPU or source.

    `kept_out`: by those fitted without all families that are kept out, NaN for rows of the others.
    """

    id: str
    metric: Metric
    shipped: float
    without_model: float
    without_gpu: float
    without_source: float
    kept_out: float


def left_out() -> dict[tuple[str, Metric], LeftOut]:
    """The stored outcome by row."""
    with _FILE.open(encoding="utf-8", newline="") as stream:
        rows = [
            LeftOut(
                id=row["id"],
                metric=Metric(row["metric"]),
                shipped=float(row["shipped"]),
                without_model=float(row["without_model"]),
                without_gpu=float(row["without_gpu"]),
                without_source=float(row["without_source"]),
                kept_out=float(row["kept_out"] or "nan"),
            )
            for row in csv.DictReader(stream)
        ]
    return {(row.id, row.metric): row for row in rows}


def stand_in(predictions: Sequence[Prediction], pick: Callable[[LeftOut], float]) -> tuple[Prediction, ...]:
    """The predictions with those of the refit in their place, where the refit knows the row."""
    known = left_out()
    rows = [(p, known.get((p.row.id, p.row.metric))) for p in predictions]
    picked = ((p, pick(found)) for p, found in rows if found)
    return tuple(replace(p, expected=ratio * p.row.value) for p, ratio in picked if ratio == ratio)


def write_left_out(path: Path = _FILE) -> None:
    """Refits without each model, each GPU and each source, and stores what the refits say of the rows."""
    rows = tuple(p.row for p in predict(used(read_measurements()))[0])
    constants = fitted_constants()
    fit = _linear(rows, constants)
    sigmas, weights = np.array([c.sigma for c in constants]), _weights(rows)
    outcome = []
    models = [_SAME_ARCHITECTURE.get(row.model, row.model) for row in rows]
    for names in (models, [row.gpu for row in rows], [row.source for row in rows]):
        groups = np.array(names)
        residuals = np.empty(len(rows))
        for group in np.unique(groups):
            kept: npt.NDArray[np.bool_] = groups != group
            residuals[~kept] = without(fit, kept, sigmas=sigmas, weights=weights, scale=_SCALE)
        outcome.append(np.exp(residuals))
    out = kept_out()
    held_back = np.array([row.source in out for row in rows])
    apart = np.full(len(rows), np.nan)
    apart[held_back] = np.exp(without(fit, ~held_back, sigmas=sigmas, weights=weights, scale=_SCALE))
    outcome.append(apart)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["id", "metric", "shipped", "without_model", "without_gpu", "without_source", "kept_out"])
        for row, *ratios in zip(rows, np.exp(fit.residuals), *outcome, strict=True):
            writer.writerow(
                [row.id, row.metric.value, *("" if np.isnan(value) else f"{value:.5g}" for value in ratios)]
            )


def _linear(rows: Sequence[Measurement], constants: Sequence[Fitted]) -> Fit:
    """Residuals at the shipped constants and their derivative by each shift."""
    measured = np.log([row.value for row in rows])

    def residuals(shifts: Floats) -> Floats:
        operators, profile = constants_at(constants, shifts)
        predictions, _ = predict(rows, operators, profile)
        said: Floats = np.log([p.expected for p in predictions]) - measured
        return said

    shifts = np.array([constant.shift for constant in constants])
    now = residuals(shifts)
    jacobian = np.empty((len(rows), len(constants)))
    for at in range(len(constants)):
        moved = shifts.copy()
        moved[at] += 1e-3
        jacobian[:, at] = (residuals(moved) - now) / 1e-3
    return Fit(shifts=shifts, residuals=now, jacobian=jacobian, cost=0.0)


def _weights(rows: Sequence[Measurement]) -> Floats:
    """One vote for each metric, setting and split, spread over its rows by the root of their number.

    First tokens hang on launch settings and traffic that most rows do not state: they count a tenth. Rows that no
    constant explains count nothing (`_is_unexplained`).
    """
    keys = [(row.metric, row.model, row.gpu, row.engine, row.precision, row.parallelism) for row in rows]
    counts = Counter(keys)
    size = np.array([counts[key] for key in keys])
    first = np.array([_FIRST_TOKEN_WEIGHT if row.metric is Metric.TTFT else 1.0 for row in rows])
    amd = np.array([_AMD_WEIGHT if row.gpu.startswith("mi") else 1.0 for row in rows])
    explained = np.array([not _is_unexplained(row) for row in rows])
    weights: Floats = explained * first * amd / np.sqrt(size)
    return weights


def _is_unexplained(row: Measurement) -> bool:
    """Settings that ran otherwise than they state: they are scored, but no constant is fitted to them.

    vLLM 0.12 of the gap analysis (docs/accuracy-calibration.md), and Qwen3.5 in fp8 on four B200 without expert
    parallel, whose TPOT falls with longer answers and below that of nvfp4, as with speculative decoding.
    """
    if row.source == "aic-gap" and row.engine == "vllm-0.19":
        return True
    speculative = row.model == "qwen3.5-397b-a17b" and row.precision.expert_weights == "fp8"
    return speculative and row.gpu.startswith("b200") and row.parallelism == Parallelism(tp=4)
