"""Where the difference of a run sits: prefill, step, wait or cache. Each part in seconds of one request."""

from typing import Any

from django.utils.translation import gettext as _

from estimator.estimates.throughput.compute import Throughput
from receipts.reading.receipt import Run

_SMALL = 0.02


def where_of(run: Run, result: Throughput, figures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts in which measured and said differ, the largest first.

    A step's part is of all further tokens of an answer. A first token is prefill and wait: what it differs by is the
    prefill's where nobody is beside the request or where it came sooner than the prefill alone, else the wait's. Where
    more were in flight than the cache holds, the wait is for the cache.
    """
    by = {one["name"]: one for one in figures if one["said"] is not None}
    parts: dict[str, float] = {}
    tokens = max(float(result.workload.output_tokens) - 1.0, 0.0)
    if "tpot_s" in by:
        parts["step"] = tokens * (by["tpot_s"]["measured"] - by["tpot_s"]["said"])
    elif "decode_tokens_per_s" in by:
        one = by["decode_tokens_per_s"]
        parts["step"] = tokens * (1.0 / one["measured"] - 1.0 / one["said"]) if one["measured"] else 0.0
    parts |= _first_token(run, result, by)
    whole = sum(abs(value) for value in parts.values())
    return [
        {"part": name, "seconds": value, "share": abs(value) / whole, "text": _TEXTS[name]()}
        for name, value in sorted(parts.items(), key=lambda item: -abs(item[1]))
        if whole and abs(value) > _SMALL * whole
    ]


def _first_token(run: Run, result: Throughput, by: dict[str, dict[str, Any]]) -> dict[str, float]:
    first = by.get("ttft_s")
    prefill = result.figures.prefill_s
    if first is None or prefill is None:
        return {}
    waited, worked = run.figure("queue_s", "mean"), run.figure("prefill_s", "mean")
    if waited is not None and worked is not None:
        said_wait = max(first["said"] - prefill, 0.0)
        return {"prefill": worked.value - prefill, "wait": waited.value - said_wait}
    difference = first["measured"] - first["said"]
    alone = float(result.workload.concurrency or 1) <= 1.0
    if alone:
        return {"prefill": difference}
    in_prefill = min(first["measured"] - prefill, 0.0)
    wait = "cache" if result.waits_for == "cache" else "wait"
    return {"prefill": in_prefill, wait: difference - in_prefill}


_TEXTS = {
    "step": lambda: _("Decode steps: kernels, launches or what runs beside them."),
    "prefill": lambda: _("Work on the prompt."),
    "wait": lambda: _("Waits before the first token: the queue, other prompts, the client."),
    "cache": lambda: _("Waits for room in the KV cache."),
}
