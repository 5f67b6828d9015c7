"""Error bands: how far published measurements lie from the model, by metric and class.

Percentiles of measured / predicted, called the 80 % band, where everything of a setting was measured. Each part that
was not adds to the half-width (`widened`, engine/speed/evidence.py). Classes of fewer than 30 rows borrow the metric's
largest class, widened.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Any

from estimator.constants.bands import BAND_RULES, DISTANCE_HALF_WIDTHS, SPREADS
from estimator.engine.forward_pass.traffic import RankLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Multipliers of the ends of one key's figures; fields are numbers or arrays.

    `tpot` and `ttft` multiply times, `offline` and `static` multiply rates; `…_saturated` beyond the KV capacity.
    """

    tpot_low: Any
    tpot_high: Any
    ttft_low: Any
    ttft_high: Any
    tpot_saturated_low: Any
    tpot_saturated_high: Any
    offline_low: Any
    offline_high: Any
    static_low: Any
    static_high: Any


def spread(metric: str, name: str) -> tuple[float, float]:
    """Low and high multiplier of a class; a class of few rows takes the metric's largest class, widened by 1.3.

    Without unit: measured over predicted, of seconds or tokens/s. Equation: docs/model.md, eq. (64). Source:
    docs/accuracy.md.

    >>> spread("max", "dense")
    (0.81, 1.17)
    """
    classes = SPREADS[metric]
    found = classes.get(name)
    if found and found.rows >= BAND_RULES.few_rows:
        return found.low, found.high
    largest = max(classes.values(), key=lambda entry: entry.rows)
    if found is None and name == "attention_dp":
        return spread(metric, "moe")
    if found is None and name == "mxfp4":
        return spread(metric, "moe")
    return largest.low / BAND_RULES.widening, largest.high * BAND_RULES.widening


def model_class(layout: RankLayout) -> str:
    """Class of a key by precedence: mxfp4 experts, attention data parallel, mixture of experts, dense."""
    if any(group.format.name == "mxfp4" for group in layout.experts):
        return "mxfp4"
    if layout.parallelism.dp > 1 and layout.experts:
        return "attention_dp"
    return "moe" if layout.experts else "dense"


def widened(ends: tuple[float, float], metric: str, distance: float) -> tuple[float, float]:
    """Ends of a band at a distance D from what was measured: `exp(±sqrt(ln(end)² + D·b²))`.

    Without unit: measured over predicted. Equation: docs/model.md, eq. (64). Source: docs/accuracy.md.

    >>> [round(end, 2) for end in widened((0.8, 1.25), "tpot", 0.0)]
    [0.8, 1.25]
    >>> [round(end, 2) for end in widened((0.8, 1.25), "tpot", 4.0)]
    [0.71, 1.41]
    """
    added = distance * DISTANCE_HALF_WIDTHS[metric] ** 2
    low, high = (sqrt(log(min(end, 1.0) if at == 0 else max(end, 1.0)) ** 2 + added) for at, end in enumerate(ends))
    return exp(-low), exp(high)


def serving_band(
    layout: RankLayout, distances: Mapping[str, float], *, amd: bool = False, fallback: bool = False
) -> Band:
    """The band of a calibrated serving engine.

    Args:
        layout: decides the class.
        distances: from what was measured, by group of metrics (online, offline, static).
        amd: an Instinct GPU; its rows are of mid-2024 software.
        fallback: another kernel than the expected one may run, a slower one: the slow ends lie farther.
    """
    name = model_class(layout)
    offline = "dense" if name == "dense" else "moe"
    static = "amd" if amd else offline
    online = distances["online"]
    times = {
        "tpot": widened(spread("tpot", name), "tpot", online),
        "ttft": widened(spread("ttft", name), "ttft", online),
        "tpot_saturated": widened(spread("tpot", "saturated"), "tpot", online),
    }
    rates = {
        "offline": widened(spread("max", offline), "max", distances["offline"]),
        "static": widened(spread("static", static), "static", distances["static"]),
    }
    slower = BAND_RULES.fallback_slower if fallback else 1.0
    ends = {key: (low, high * slower) for key, (low, high) in times.items()}
    return _band(ends | {key: (low / slower, high) for key, (low, high) in rates.items()})


def llama_cpp_band(distance: float) -> Band:
    """The band of llama.cpp: rates of one stream and of prefill, turned into times."""
    decode = widened(spread("single_stream", "llama_cpp"), "single_stream", distance)
    prefill = widened(spread("prefill", "llama_cpp"), "prefill", distance)
    tpot, ttft = (1 / decode[1], 1 / decode[0]), (1 / prefill[1], 1 / prefill[0])
    return _band({"tpot": tpot, "ttft": ttft, "tpot_saturated": tpot, "offline": decode, "static": decode})


def no_band() -> Band:
    """The band of an assumption: low, mid and high are one."""
    names = ("tpot", "ttft", "tpot_saturated", "offline", "static")
    return _band(dict.fromkeys(names, (1.0, 1.0)))


def _band(ends: Mapping[str, tuple[float, float]]) -> Band:
    """Ends as multipliers that keep the mid inside."""
    values = {}
    for name, (low, high) in ends.items():
        values[f"{name}_low"] = min(low, 1.0)
        values[f"{name}_high"] = max(high, 1.0)
    return Band(**values)
