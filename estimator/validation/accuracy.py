"""How far predictions are from measurements: medians, spread, bias and shares within limits, by group."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from estimator.validation.predictions import Prediction
from estimator.validation.rows import Metric

WITHIN = (0.10, 0.25, 0.50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large the errors of a group are, as fractions, whatever their sign."""

    group: str
    rows: int
    median: float
    p90: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors(Sizes):
    """Errors of one group as fractions; `bias` is the median signed error, above 0 where predictions are too large."""

    bias: float


def sizes_of(group: str, signed: Sequence[float]) -> dict[str, Any]:
    """The fields of `Sizes` of a group's rows, of which there is at least one."""
    size = np.abs(signed)
    return {
        "group": group,
        "rows": len(signed),
        "median": float(np.median(size)),
        "p90": float(np.quantile(size, 0.9)),
    }


def errors_of(group: str, signed: Sequence[float]) -> Errors:
    """The errors of a group's rows, of which there is at least one."""
    return Errors(**sizes_of(group, signed), bias=float(np.median(signed)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy(Errors):
    """Errors of predictions beside those of the roofline; `within` holds the shares of rows within 10, 25 and 50 %."""

    mean: float
    within: tuple[float, float, float]
    roofline_median: float


def accuracy(group: str, predictions: Sequence[Prediction]) -> Accuracy:
    """Errors of these predictions, and of the plain roofline on the same rows.

    Raises:
        ValueError: there are none.
    """
    if not predictions:
        raise ValueError(f"no rows in {group}")
    size = np.abs([p.error for p in predictions])
    roofline = np.abs(np.array([p.roofline_error for p in predictions]))
    ten, quarter, half = (float(np.mean(size <= limit)) for limit in WITHIN)
    return Accuracy(
        **asdict(errors_of(group, [p.error for p in predictions])),
        mean=float(np.mean(size)),
        within=(ten, quarter, half),
        roofline_median=float(np.median(roofline)),
    )


def by_group(predictions: Iterable[Prediction], name: Callable[[Prediction], str]) -> tuple[Accuracy, ...]:
    """Accuracy of each group that `name` gives, sorted by name."""
    groups: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        groups.setdefault(name(prediction), []).append(prediction)
    return tuple(accuracy(group, groups[group]) for group in sorted(groups))


_LABELS = {
    Metric.OFFLINE: "max throughput",
    Metric.TPOT: "TPOT",
    Metric.TTFT: "TTFT",
    Metric.STATIC: "static batch",
    Metric.ONLINE: "online tokens/s",
    Metric.SINGLE_STREAM: "single stream",
    Metric.TTFT_ALONE: "first token of one request",
    Metric.PREFILL: "prefill tokens/s",
}


def metric_label(prediction: Prediction) -> str:
    """The metric in words.

    Classes of their own: llama.cpp, AMD rows of mid-2024 software, loads that the model calls more than fit, and times
    per token whose traffic nobody published.
    """
    row = prediction.row
    label = _LABELS[row.metric]
    if row.engine.startswith("llama.cpp"):
        return f"{label} (llama.cpp)"
    if row.metric in (Metric.TPOT, Metric.TTFT) and prediction.saturated:
        return f"{label} (called saturated)"
    if row.metric is Metric.TPOT and not row.launch:
        return f"{label} (traffic not stated)"
    if row.metric is Metric.STATIC and row.gpu.startswith("mi") and row.engine.startswith("vllm-v0"):
        return f"{label} (AMD, software of mid-2024)"
    return label
