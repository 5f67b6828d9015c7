"""One row of the engine's columns as named figures, with None where a figure is not said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from estimator.engine.codes import Binding, Reason
from estimator.estimates.answers import Band
from estimator.figures.energy import ENERGY
from estimator.figures.speed import METRICS

_STATES = (
    "effective_concurrency",
    "decoding_sequences",
    "max_sequences",
    "full_length_sequences",
    "prefill_s",
    "step_s",
    "step_cache_s",
    "utilization",
    "max_stable_requests_per_s",
    "ttft_s_p50",
    "ttft_s_p90",
    "ttft_s_p95",
    "ttft_s_p99",
    "ttft_outside_s",
    "ttft_waiting_s",
    "ttft_forward_s",
)


_PARTS = {b: f"step_{b.label}_s" for b in Binding if b is not Binding.KV_CACHE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """A figure with the ends of its band; None where it is not said."""

    low: float | None
    mid: float | None
    high: float | None


def band_part(triple: Triple) -> Band | None:
    """A figure with its band; None where one of the three is not said."""
    if triple.mid is None or triple.low is None or triple.high is None:
        return None
    return Band(low=min(triple.low, triple.mid), mid=triple.mid, high=max(triple.high, triple.mid))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedFigures:
    """Figures of one load; seconds, sequences, per second, W, J. `parts_s`: the seconds of one step by what binds."""

    concurrency: float
    expected: Mapping[str, Triple]
    energy: Mapping[str, Triple]
    ceiling: Mapping[str, float | None]
    effective_concurrency: float | None
    decoding_sequences: float | None
    max_sequences: float | None
    full_length_sequences: float | None
    prefill_s: float | None
    step_s: float | None
    step_cache_s: float | None
    utilization: float | None
    max_stable_requests_per_s: float | None
    ttft_s_p50: float | None
    ttft_s_p90: float | None
    ttft_s_p95: float | None
    ttft_s_p99: float | None
    ttft_outside_s: float | None
    ttft_waiting_s: float | None
    ttft_forward_s: float | None
    parts_s: Mapping[Binding, float | None]
    saturated: bool
    binding: Binding | None
    reason: Reason


def figures_at(columns: Mapping[str, Any], place: int, concurrency: float) -> SpeedFigures:
    """The figures of the row at `place` of the engine's columns."""

    def value(name: str) -> float | None:
        found = float(columns[name][place])
        return found if isfinite(found) else None

    def triple(name: str) -> Triple:
        return Triple(low=value(f"{name}_low"), mid=value(f"{name}_mid"), high=value(f"{name}_high"))

    parts: dict[Binding, float | None] = {b: value(name) for b, name in _PARTS.items()}
    said = value("step_s") is not None
    return SpeedFigures(
        concurrency=concurrency,
        expected={name: triple(name) for name in METRICS},
        energy={name: triple(name) for name in ENERGY},
        ceiling={name: value(f"{name}_ceiling") for name in METRICS},
        parts_s=parts,
        saturated=bool(columns["saturated"][place]),
        binding=Binding(int(columns["binding_term"][place])) if said else None,
        reason=Reason(int(columns["reason"][place])),
        **{name: value(name) for name in _STATES},
    )


_BINDING_LABELS = tuple(binding.label for binding in Binding)
_REASON_LABELS = (None, *(reason.label for reason in Reason if reason is not Reason.NONE))


def rows_at(columns: Mapping[str, Sequence[Any]], sizes: Sequence[float]) -> list[dict[str, Any]]:
    """The rows behind the first one by the fields of the answer, all of them column by column.

    Args:
        columns: lists of the engine's columns.
        sizes: batch size of each row.
    """
    shown: dict[str, Sequence[Any]] = {
        "batch_size": sizes[1:],
        "effective_concurrency": _said(columns["effective_concurrency"][1:]),
        "saturated": columns["saturated"][1:],
        "binding_term": [
            _BINDING_LABELS[code] if isfinite(step) else None
            for code, step in zip(columns["binding_term"][1:], columns["step_s"][1:], strict=True)
        ],
        "reason": [_REASON_LABELS[code] for code in columns["reason"][1:]],
    }
    for name in (*METRICS, *ENERGY):
        shown[name] = _bands(*(columns[f"{name}_{side}"][1:] for side in ("low", "mid", "high")))
    for name in METRICS:
        shown[f"ceiling_{name}"] = _said(columns[f"{name}_ceiling"][1:])
    return [dict(zip(shown, row, strict=True)) for row in zip(*shown.values(), strict=True)]


def bands_at(columns: Mapping[str, Any], metric: str) -> list[Band | None]:
    """A metric of every row of the engine's columns with its band; None where it is not said."""
    ends = (columns[f"{metric}_{side}"].tolist() for side in ("low", "mid", "high"))
    return [None if band is None else Band(**band) for band in _bands(*ends)]


def _bands(lows: Sequence[float], mids: Sequence[float], highs: Sequence[float]) -> list[dict[str, float] | None]:
    """A band for each row."""
    ends = zip(lows, mids, highs, strict=True)
    # A sum that is finite has finite parts alone, and asks once what else every figure is asked.
    if isfinite(sum(lows) + sum(mids) + sum(highs)):
        return [
            {"low": low if low < mid else mid, "mid": mid, "high": high if high > mid else mid}
            for low, mid, high in ends
        ]
    return [_band(low, mid, high) for low, mid, high in ends]


def _said(values: Sequence[float]) -> list[float | None]:
    if isfinite(sum(values)):
        return list(values)
    return [value if isfinite(value) else None for value in values]


def _band(low: float, mid: float, high: float) -> dict[str, float] | None:
    """A band whose middle is never outside, None where a figure is not said."""
    if not (isfinite(low) and isfinite(mid) and isfinite(high)):
        return None
    return {"low": min(low, mid), "mid": mid, "high": max(high, mid)}
