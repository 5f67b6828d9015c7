"""How many rows lie inside their band when their source was left out of fit and evidence: what "80 % band" is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from estimator.engine.speed.bands import spread, widened
from estimator.engine.speed.evidence import distance, kernel_distance
from estimator.validation.evidence import cell
from estimator.validation.predictions import Prediction
from estimator.validation.rows import Metric

LEAST_ROWS = 30
_NAMES = {
    Metric.TPOT: "tpot",
    Metric.TTFT: "ttft",
    Metric.OFFLINE: "max",
    Metric.STATIC: "static",
    Metric.SINGLE_STREAM: "single_stream",
    Metric.PREFILL: "prefill",
}


# Weight of what lies outside in the score of an 80 % interval (Gneiting and Raftery 2007,
# doi 10.1198/016214506000001437).
_OUTSIDE = 2.0 / 0.2
# What a band promises to hold of the rows.
PROMISED = 0.8
_LEAST_ALLOWED = 0.06
_GROUPS = {"tpot": "online", "ttft": "online", "max": "offline", "static": "static"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """One class: the median band as multiples of the prediction, and the share of rows inside.

    Prediction and distance are those without the row's source. `width` is the median of high / low, `score` the mean
    interval score in ln (width and ten times what lies outside), `p5` and `p95` percentiles of measured / predicted.
    A saturated TTFT has ends of its own in each row, those of more and fewer places in the cache. Rows of one `setting`
    (model, GPU, engine, formats, split) are no independent trials: `allowed` is how far from 0.8 the share may lie by
    chance, two standard deviations of so many settings or 0.06.
    """

    metric: str
    model_class: str
    rows: int
    low: float
    high: float
    p5: float
    p95: float
    inside: float
    width: float
    score: float
    settings: int

    @property
    def allowed(self) -> float:
        """How far from four fifths the share inside may lie by chance."""
        return max(_LEAST_ALLOWED, 2.0 * sqrt(PROMISED * (1.0 - PROMISED) / self.settings))

    @property
    def holds(self) -> bool:
        """Whether the share inside is what a band of four fifths promises, neither less nor more."""
        return abs(self.inside - PROMISED) <= self.allowed


def band_class(prediction: Prediction) -> tuple[str, str] | None:
    """Metric and class of the band of a row; None for figures without a band of their own (online tokens/s)."""
    row = prediction.row
    metric = _NAMES.get(row.metric)
    if metric is None:
        return None
    if row.engine.startswith("llama.cpp"):
        return metric, "llama_cpp"
    if metric == "static" and row.gpu.startswith("mi"):
        return metric, "amd"
    if prediction.saturated and metric in ("tpot", "ttft"):
        return metric, "saturated"
    if metric in ("max", "static", "single_stream"):
        return metric, "dense" if prediction.model_class == "dense" else "moe"
    return metric, prediction.model_class


def coverage(predictions: Sequence[Prediction], *, without: frozenset[str] = frozenset()) -> tuple[Coverage, ...]:
    """Coverage of every class with a band, sorted; evidence of `without` does not count beside that of each source."""
    groups: dict[tuple[str, str], list[Prediction]] = {}
    for prediction in predictions:
        key = band_class(prediction)
        if key:
            groups.setdefault(key, []).append(prediction)
    found = []
    for (metric, name), members in sorted(groups.items()):
        ends = [_ends(p, metric, name, without) for p in members]
        low, high = (np.array(side) for side in zip(*ends, strict=True))
        ratio = np.array([p.row.value / p.expected for p in members])
        below, above = np.log(low / ratio), np.log(ratio / high)
        outside = np.maximum(below, 0.0) + np.maximum(above, 0.0)
        found.append(
            Coverage(
                metric=metric,
                model_class=name,
                rows=len(members),
                low=float(np.median(low)),
                high=float(np.median(high)),
                p5=float(np.quantile(ratio, 0.05)),
                p95=float(np.quantile(ratio, 0.95)),
                inside=float(np.mean(outside <= 0.0)),
                width=float(np.median(high / low)),
                score=float(np.mean(np.log(high / low) + _OUTSIDE * outside)),
                settings=len({_setting(p) for p in members}),
            )
        )
    return tuple(found)


def ends_without_source(prediction: Prediction) -> tuple[float, float]:
    """Ends of a row's band, as multiples of its middle, as it would be had its source never measured anything."""
    named = band_class(prediction)
    return prediction.band if named is None else _ends(prediction, *named)


def _setting(prediction: Prediction) -> tuple[object, ...]:
    row = prediction.row
    return row.model, row.gpu, row.engine, row.precision, row.parallelism


def _ends(prediction: Prediction, metric: str, name: str, without: frozenset[str] = frozenset()) -> tuple[float, float]:
    if (metric, name) == ("ttft", "saturated"):
        return prediction.band
    kernels = kernel_distance(prediction.doubts)
    if name == "llama_cpp":
        return widened(spread(metric, name), metric, kernels)
    found = distance(cell(prediction.row), kernels=kernels, without=without | {prediction.row.source})
    return widened(spread(metric, name), metric, found.by_group[_GROUPS.get(metric, "single")])
