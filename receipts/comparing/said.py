"""Each figure of a run beside what is said of it: the middle, the band, the ceiling, and where the difference sits."""

from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.errors import EngineError
from estimator.estimates.throughput.compute import Throughput, estimate_throughput
from estimator.resolvers.facts import Facts
from receipts.checks import Flaw
from receipts.comparing.asked import ReceiptRequest
from receipts.comparing.setting import plan_of, statistic_of, workload_of
from receipts.comparing.where import where_of
from receipts.reading.receipt import Figure, Receipt, Run

COMPARED = ("ttft_s", "tpot_s", "e2e_s", "output_tokens_per_s", "requests_per_s", "tokens_per_s_per_gpu",
            "prefill_tokens_per_s", "decode_tokens_per_s")  # fmt: skip
_ENGINE_NAMES = {"output_tokens_per_s": "tokens_per_s_total", "decode_tokens_per_s": "tokens_per_s_per_user"}
_BEYOND = 0.01


def run_said(
    run: Run, asked: ReceiptRequest, receipt: Receipt, body: dict[str, Any], facts: Facts
) -> tuple[dict[str, Any], list[Flaw]]:
    """What is said of a run, and what of it passes the physical ceiling.

    Raises:
        ResolutionError: a load that no server takes.
    """
    workload = workload_of(run, asked, receipt)
    if workload is None:
        return _unsaid(run, workload, _("The file does not say how many requests were in flight, nor their rate.")), []
    try:
        result = estimate_throughput(plan_of(body, workload, facts))
    except EngineError as error:
        return _unsaid(run, workload, str(error)), []
    faults = [fault for name in COMPARED for fault in _beyond(name, run, result, asked)]
    figures = [one for name in COMPARED if (one := _figure(name, run, result)) is not None]
    answer = {
        "place": run.place,
        "workload": workload,
        "figures": figures,
        "where": where_of(run, result, figures),
        "unsaid": None,
    }
    return answer, faults


def measured_of(name: str, run: Run) -> Figure | None:
    """The figure that is compared: the mean where there is one, else the median."""
    return run.figure(name, *(("mean", "median") if name != "ttft_s" or statistic_of(run) == "mean" else ("median",)))


def beside(
    name: str,
    statistic: str,
    measured: float,
    unit: str,
    *,
    said: float | None = None,
    low: float | None = None,
    high: float | None = None,
    ceiling: float | None = None,
    inside: bool | None = None,
) -> dict[str, Any]:
    """A measured figure beside what is said of it, all in its unit; None where nothing is said."""
    return {
        "name": name,
        "statistic": statistic,
        "measured": measured,
        "unit": unit,
        "said": said,
        "low": low,
        "high": high,
        "ceiling": ceiling,
        "ratio": measured / said if said else None,
        "inside_band": inside,
    }


def inside_band(low: float | None, measured: float, high: float | None) -> bool | None:
    """Whether a figure lies in its band; None without one."""
    return None if low is None or high is None else low <= measured <= high


def _unsaid(run: Run, workload: dict[str, Any] | None, why: str) -> dict[str, Any]:
    figures = [
        beside(name, found.statistic, found.value, found.unit)
        for name in COMPARED
        if (found := measured_of(name, run)) is not None
    ]
    return {"place": run.place, "workload": workload, "figures": figures, "where": [], "unsaid": why}


def _figure(name: str, run: Run, result: Throughput) -> dict[str, Any] | None:
    found = measured_of(name, run)
    if found is None:
        return None
    low, said, high = _triple(name, result)
    return beside(
        name, found.statistic, found.value, found.unit, said=said, low=low, high=high,
        ceiling=_ceiling(name, result), inside=inside_band(low, found.value, high),
    )  # fmt: skip


def _triple(name: str, result: Throughput) -> tuple[float | None, float | None, float | None]:
    """Low, middle and high; the rate of a prompt is its tokens over the time to its first token."""
    if name == "prefill_tokens_per_s":
        triple, tokens = result.figures.expected["ttft_s"], float(result.workload.input_tokens)
        ends = [tokens / value if value else None for value in (triple.high, triple.mid, triple.low)]
        return ends[0], ends[1], ends[2]
    engine_name = _ENGINE_NAMES.get(name, name)
    triple = result.figures.expected[engine_name]
    ends = [triple.low, triple.mid, triple.high]
    known = [value for value in ends if value is not None]
    return (min(known), ends[1], max(known)) if len(known) == len(ends) else (None, ends[1], None)


def _ceiling(name: str, result: Throughput) -> float | None:
    if name == "prefill_tokens_per_s":
        first = result.figures.ceiling["ttft_s"]
        return float(result.workload.input_tokens) / first if first else None
    return result.figures.ceiling[_ENGINE_NAMES.get(name, name)]


def _beyond(name: str, run: Run, result: Throughput, asked: ReceiptRequest) -> list[Flaw]:
    """The fault of a figure that is better than physics allows."""
    found, ceiling = measured_of(name, run), _ceiling(name, result)
    if found is None or not ceiling:
        return []
    value = found.value
    rate = name.endswith("per_s") or name.endswith("per_gpu")
    if (value > ceiling * (1.0 + _BEYOND)) if rate else (value < ceiling * (1.0 - _BEYOND)):
        detail = _("%(name)s is %(value)s, the ceiling of %(gpu)s is %(ceiling)s") % {
            "name": name, "value": f"{value:.4g}", "ceiling": f"{ceiling:.4g}", "gpu": result.plan.gpu.name,
        }  # fmt: skip
        if name in ("ttft_s", "e2e_s", "prefill_tokens_per_s") and not asked.prefix_cache_hit_rate:
            detail += _("; where prompts were found in a prefix cache, state prefix_cache_hit_rate")
        return [Flaw(code="above_ceiling", field=found.field, detail=detail)]
    return []
