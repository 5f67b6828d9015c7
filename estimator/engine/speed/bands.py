"""Error bands: how far published measurements lie from the model, by metric and class.

Percentiles of measured / predicted, P5 and P95 unless widened; called the 80 % band. Each class of 30 rows and more
covers at least 80 % of the shipped rows with their model left out of the fit (`make validate`, a test holds it): dense
TPOT and TTFT were widened to that (P9 and P93), those of llama.cpp are the percentiles of its rows so left out, the
others are the founders' percentiles over more rows. Classes of fewer than 30 rows borrow the metric's largest class,
widened.
"""

from dataclasses import dataclass
from typing import Any

from estimator.constants.bands import BAND_RULES, SPREADS
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
    (0.73, 1.2)
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


def serving_band(layout: RankLayout, *, doubtful: bool, amd: bool = False) -> Band:
    """The band of a calibrated serving engine.

    Args:
        layout: decides the class.
        doubtful: kernels, dtype, link or a model part without evidence: each end is widened by 1.3.
        amd: an Instinct GPU; its rows are of mid-2024 software.
    """
    name = model_class(layout)
    offline = "dense" if name == "dense" else "moe"
    static = "amd" if amd else offline
    ends = {
        "tpot": spread("tpot", name),
        "ttft": spread("ttft", name),
        "tpot_saturated": spread("tpot", "saturated"),
        "offline": spread("max", offline),
        "static": spread("static", static),
    }
    return _band(ends, BAND_RULES.widening if doubtful else 1.0)


def llama_cpp_band(*, doubtful: bool) -> Band:
    """The band of llama.cpp: rates of one stream and of prefill, turned into times."""
    decode, prefill = spread("single_stream", "llama_cpp"), spread("prefill", "llama_cpp")
    tpot, ttft = (1 / decode[1], 1 / decode[0]), (1 / prefill[1], 1 / prefill[0])
    ends = {
        "tpot": tpot,
        "ttft": ttft,
        "tpot_saturated": tpot,
        "offline": decode,
        "static": decode,
    }
    return _band(ends, BAND_RULES.widening if doubtful else 1.0)


def no_band() -> Band:
    """The band of an assumption: low, mid and high are one."""
    names = ("tpot", "ttft", "tpot_saturated", "offline", "static")
    return _band(dict.fromkeys(names, (1.0, 1.0)), 1.0)


def _band(ends: dict[str, tuple[float, float]], widening: float) -> Band:
    """Ends as multipliers that keep the mid inside."""
    values = {}
    for name, (low, high) in ends.items():
        values[f"{name}_low"] = min(low / widening, 1.0)
        values[f"{name}_high"] = max(high * widening, 1.0)
    return Band(**values)
