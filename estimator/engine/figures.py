"""Ceiling and expectation of many rows of one engine kind and mode: seconds, rates, their bands, what binds."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.engine.bands import Band
from estimator.engine.capacity import Capacity, admitted_sequences
from estimator.engine.roofline import (
    Floor,
    floor_compute_s,
    floor_memory_s,
    floor_prefill_compute_s,
    floor_prefill_s,
    floor_step_s,
)
from estimator.engine.serving import Load
from estimator.engine.specs import WorkloadMode

Floats = npt.NDArray[np.float64]
Columns = dict[str, Any]


class Binding(IntEnum):
    """What limits a step, by code; the labels are those of the API."""

    MEMORY_BANDWIDTH = 0
    COMPUTE = 1
    INTERCONNECT = 2
    OVERHEAD = 3
    KV_CACHE = 4

    @property
    def label(self) -> str:
        """Name in the API."""
        return self.name.lower()


class Reason(IntEnum):
    """Why a figure of a row is not said, by code; 0 where all are."""

    NONE = 0
    DOES_NOT_FIT = 1
    MISSING_FIGURE = 2
    KV_SETTINGS_ASSUMED = 3
    QUEUE_GROWS = 4
    NO_QUEUE = 5

    @property
    def label(self) -> str:
        """Name in the API."""
        return {"MISSING_FIGURE": "missing-figure"}.get(self.name, self.name.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The middle of the expectation before its band; seconds, sequences and tokens/s.

    `queue_s` is the wait for a free sequence, apart from `ttft_s`. `parts` are the seconds of one step by Binding.
    """

    admitted: Any
    decoding: Any
    step_s: Any
    tpot_s: Any
    ttft_s: Any
    queue_s: Any
    prefill_s: Any
    tokens_per_s: Any
    parts: dict[Binding, Any]


def micro_batch(sequences: Any, pipeline: Any) -> Any:
    """Sequences of one micro-batch: a batch is cut into as many as there are pipeline stages, never below one."""
    return sequences / np.minimum(pipeline, np.maximum(sequences, 1.0))


def ceiling_columns(
    floor: Floor,
    load: Load,
    sequences: Any,
    admitted: Any,
    *,
    pipeline: Any,
    gpus: Any,
    mode: WorkloadMode,
) -> Columns:
    """The physical ceiling of each row, at as many sequences a step as the expectation decodes.

    Offline the machine must also prefill what it decodes: per token `max(bytes, FLOPs of the step + B/output · FLOPs of
    a prompt)`. Pipeline stages may work on one prompt's pieces at once, so that a prompt takes 1/pp.
    """
    new = load.input_tokens - load.cached_tokens
    micro = micro_batch(sequences, pipeline)
    ttft = floor_prefill_s(floor, new, load.cached_tokens) / pipeline
    tpot = floor_step_s(floor, micro, load.context_tokens)
    e2e = ttft + (load.output_tokens - 1.0) * tpot
    if mode is WorkloadMode.OFFLINE:
        total = admitted / busy_tpot_s(floor, load, admitted, pipeline=pipeline, others=admitted)
    elif mode is WorkloadMode.DECODE_STEP:
        total = admitted / tpot
    else:
        total = admitted * load.output_tokens / e2e
    return _metrics(ttft, tpot, e2e, total, load.output_tokens, gpus, side="ceiling")


def busy_tpot_s(floor: Floor, load: Load, sequences: Any, *, pipeline: Any, others: Any) -> Any:
    """Least mean time per token when `others` prompts are prefilled on the same GPUs per answer of a sequence."""
    micro = micro_batch(sequences, pipeline)
    prompt = floor_prefill_compute_s(floor, load.input_tokens - load.cached_tokens, load.cached_tokens)
    compute = floor_compute_s(floor, micro, load.context_tokens) + others / load.output_tokens * prompt / pipeline
    return np.maximum(floor_memory_s(floor, micro, load.context_tokens), compute)


def expected_columns(
    expected: Expected,
    floor: Floor,
    load: Load,
    band: Band,
    *,
    pipeline: Any,
    gpus: Any,
    mode: WorkloadMode,
) -> Columns:
    """The expectation with its ends, never faster than the ceiling, and what binds the step.

    Ends of end-to-end times are `ttft end + (n − 1) · tpot end`; rates take the reciprocal ends.
    """
    over = load.concurrency / np.maximum(expected.admitted, 1e-9)
    saturated = (over > 1.0 + 1e-9) & (mode is not WorkloadMode.OFFLINE)
    tpot_low = np.where(saturated, band.tpot_saturated_low, band.tpot_low)
    tpot_high = np.where(saturated, band.tpot_saturated_high, band.tpot_high)
    micro = micro_batch(expected.decoding, pipeline)
    least_tpot = floor_step_s(floor, micro, load.context_tokens)
    least_ttft = floor_prefill_s(floor, load.input_tokens - load.cached_tokens, load.cached_tokens) / pipeline
    columns: Columns = {"saturated": saturated, "decoding_sequences": expected.decoding}
    columns["effective_concurrency"] = expected.admitted
    columns["prefill_s"] = np.maximum(expected.prefill_s, least_ttft)
    columns["step_s"] = np.maximum(expected.step_s, least_tpot)
    columns |= _binding(expected.parts, saturated)
    if mode is WorkloadMode.OFFLINE:
        return columns | _offline(expected, floor, load, band, pipeline=pipeline, gpus=gpus)
    if mode is WorkloadMode.DECODE_STEP:
        tpot = columns["step_s"]
        for side, ratio in (("mid", 1.0), ("low", tpot_low), ("high", tpot_high)):
            columns |= _step_metrics(np.maximum(tpot * ratio, least_tpot), expected.admitted, gpus, side=side)
        return columns
    online = mode is not WorkloadMode.STATIC_BATCH
    others = np.maximum(expected.decoding - 1.0, 0.0) if online else 0.0
    tpot = np.maximum(expected.tpot_s, busy_tpot_s(floor, load, expected.decoding, pipeline=pipeline, others=others))
    ttft = np.maximum(expected.ttft_s + expected.queue_s, least_ttft)
    ttft_low = np.where(saturated, band.ttft_saturated_low, band.ttft_low)
    ttft_high = np.where(saturated, band.ttft_saturated_high, band.ttft_high)
    for side, first, each, rate in (
        ("mid", 1.0, 1.0, 1.0),
        ("low", ttft_low, tpot_low, band.static_high),
        ("high", ttft_high, tpot_high, band.static_low),
    ):
        ttft_end = np.maximum(ttft * first, least_ttft)
        tpot_end = np.maximum(tpot * each, least_tpot)
        e2e = ttft_end + (load.output_tokens - 1.0) * tpot_end
        if online:
            total = np.maximum(load.concurrency, expected.admitted) * load.output_tokens / e2e
        else:
            total = expected.tokens_per_s * rate
            e2e = load.concurrency * load.output_tokens / total
        columns |= _metrics(ttft_end, tpot_end, e2e, total, load.output_tokens, gpus, side=side)
    return columns


def _offline(expected: Expected, floor: Floor, load: Load, band: Band, *, pipeline: Any, gpus: Any) -> Columns:
    """Maximum throughput: a queue that never empties, so that neither TTFT nor end-to-end time is a property of it."""
    least = busy_tpot_s(floor, load, expected.admitted, pipeline=pipeline, others=expected.admitted)
    bound = expected.admitted / least
    middle = np.minimum(expected.tokens_per_s, bound)
    unsaid = np.full(np.shape(middle), np.nan)
    columns: Columns = {}
    for side, ratio in (("mid", 1.0), ("low", band.offline_high), ("high", band.offline_low)):
        total = np.minimum(middle * ratio, bound)
        tpot = np.maximum(expected.tpot_s, least) * (middle / total)
        columns |= _metrics(unsaid, tpot, unsaid, total, load.output_tokens, gpus, side=side)
    return columns


def _step_metrics(tpot: Any, sequences: Any, gpus: Any, *, side: str) -> Columns:
    unsaid = np.full(np.shape(tpot), np.nan)
    return _metrics(unsaid, tpot, unsaid, sequences / tpot, unsaid, gpus, side=side)


_RATE_SIDE = {"low": "high", "high": "low", "mid": "mid", "ceiling": "ceiling"}


def _metrics(ttft: Any, tpot: Any, e2e: Any, total: Any, output: Any, gpus: Any, *, side: str) -> Columns:
    """Columns of one end: the low end of a time is the high end of a rate."""
    rate = _RATE_SIDE[side]
    return {
        f"ttft_s_{side}": ttft,
        f"tpot_s_{side}": tpot,
        f"e2e_s_{side}": e2e,
        f"tokens_per_s_per_user_{rate}": 1.0 / tpot,
        f"tokens_per_s_total_{rate}": total,
        f"tokens_per_s_per_gpu_{rate}": total / gpus,
        f"requests_per_s_{rate}": total / output,
    }


def _binding(parts: dict[Binding, Any], saturated: Any) -> Columns:
    """The largest part of a step; the KV cache where it, not the step, limits."""
    names = list(parts)
    best, code = parts[names[0]], np.full(np.shape(parts[names[0]]), int(names[0]), dtype=np.int8)
    for name in names[1:]:
        larger = parts[name] > best
        best = np.where(larger, parts[name], best)
        code = np.where(larger, np.int8(name), code)
    columns: Columns = {f"step_{name.label}_s": value for name, value in parts.items()}
    columns["binding_term"] = np.where(saturated, np.int8(Binding.KV_CACHE), code)
    return columns


def ideal_expected(
    floor: Floor,
    load: Load,
    limits: Capacity,
    *,
    pipeline: Any,
    prefill_share: Any,
    decode_share: Any,
    mode: WorkloadMode,
) -> Expected:
    """The teaching profile: the roofline with a share of the peak, whole sequences, no queue and no overhead."""
    whole = Capacity(cache_sequences=np.floor(limits.cache_sequences + 1e-9), max_sequences=limits.max_sequences)
    admitted = admitted_sequences(whole, load.concurrency, mode)
    micro = micro_batch(admitted, pipeline)
    step = floor_step_s(floor, micro, load.context_tokens, decode_share)
    prefill = floor_prefill_s(floor, load.input_tokens - load.cached_tokens, load.cached_tokens, prefill_share)
    memory = floor_memory_s(floor, micro, load.context_tokens)
    compute = floor_compute_s(floor, micro, load.context_tokens) / decode_share
    turns = np.maximum(load.concurrency / np.maximum(admitted, 1e-9) - 1.0, 0.0)
    e2e = prefill + (load.output_tokens - 1.0) * step
    if mode is WorkloadMode.STATIC_BATCH:
        turn = prefill * admitted + (load.output_tokens - 1.0) * step
        total = load.concurrency * load.output_tokens / (np.maximum(turns + 1.0, 1.0) * turn)
    else:
        total = admitted / step
    return Expected(
        admitted=admitted,
        decoding=admitted,
        step_s=step,
        tpot_s=step,
        ttft_s=prefill,
        queue_s=turns * e2e,
        prefill_s=prefill,
        tokens_per_s=total,
        parts={Binding.MEMORY_BANDWIDTH: memory, Binding.COMPUTE: compute},
    )
