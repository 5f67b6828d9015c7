"""How many rows lie inside their band when their model was left out of the fit: what "80 % band" is worth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimator.engine.speed.bands import spread
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """One class: its band as multiples of the prediction, and the share of rows inside.

    `p5` and `p95` are the percentiles of measured / predicted with the row's model left out. A saturated TTFT has
    ends of its own in each row, those of more and fewer places in the cache; `low` and `high` are their medians.
    """

    metric: str
    model_class: str
    rows: int
    low: float
    high: float
    p5: float
    p95: float
    inside: float


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


def coverage(predictions: Sequence[Prediction]) -> tuple[Coverage, ...]:
    """Coverage of every class with a band, sorted; bands of doubtful parts are not widened here."""
    groups: dict[tuple[str, str], list[Prediction]] = {}
    for prediction in predictions:
        key = band_class(prediction)
        if key:
            groups.setdefault(key, []).append(prediction)
    found = []
    for (metric, name), members in sorted(groups.items()):
        ends = [p.band if (metric, name) == ("ttft", "saturated") else spread(metric, name) for p in members]
        low, high = (np.array(side) for side in zip(*ends, strict=True))
        ratio = np.array([p.row.value / p.expected for p in members])
        found.append(
            Coverage(
                metric=metric,
                model_class=name,
                rows=len(members),
                low=float(np.median(low)),
                high=float(np.median(high)),
                p5=float(np.quantile(ratio, 0.05)),
                p95=float(np.quantile(ratio, 0.95)),
                inside=float(np.mean((ratio >= low) & (ratio <= high))),
            )
        )
    return tuple(found)
