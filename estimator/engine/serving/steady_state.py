"""Steady state of a serving engine: what concurrency, prompts beside decoding and queues make of the forward pass."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from estimator.constants.scheduling import SCHEDULING
from estimator.engine.codes import Binding
from estimator.engine.elementwise import any_of
from estimator.engine.forward_pass.operators import (
    Folded,
    decode_linear_s,
    offline_ranks,
    prefill_attention_s,
    prefill_body_s,
    prefill_head_s,
    step_parts_s,
)
from estimator.engine.serving.capacity import Capacity, admitted_sequences
from estimator.engine.serving.launch import Scheduler
from estimator.engine.serving.load import Load, answer_time_s, turns_of
from estimator.engine.serving.passes import PromptPass
from estimator.engine.serving.steps import micro_batch
from estimator.engine.serving.waves import Loop, closed_loop, outside_s
from estimator.engine.specs import WorkloadMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefill:
    """Seconds of one prompt alone in a pass, and of its share of a full pass of `packed_prompts`."""

    one_s: Any
    packed_s: Any
    packed_prompts: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """Steady state of each row; seconds and sequences.

    `admitted` sequences are inside the engine, `decoding` of them decode. `ttft_s` leaves out the wait for a free
    sequence, which is `queue_s`; `e2e_s` likewise; of a static batch it is that of the last first token. `prefill_s` is
    one prompt alone. `loop` holds the waits of a closed loop, `prefill` the passes of the other modes.
    """

    admitted: Any
    decoding: Any
    step_s: Any
    tpot_s: Any
    ttft_s: Any
    queue_s: Any
    e2e_s: Any
    prefill_s: Any
    parts: dict[Binding, Any]
    cache_read_s: Any
    prefill: Prefill | None = None
    loop: Loop | None = None


def prefill_times(folded: Folded, scheduler: Scheduler, new_tokens: Any, cached_tokens: Any = 0.0) -> Prefill:
    """Times of a prompt alone in its passes, and packed with others into one of `batched_tokens`.

    Equation: docs/model.md, eq. (36).
    """
    prompts = np.maximum(np.floor(folded.batched_tokens / np.maximum(new_tokens, 1.0)), 1.0)
    attention = prefill_attention_s(folded, new_tokens, cached_tokens)
    one = packed = _prompts_s(folded, scheduler, 1.0, new_tokens, attention)
    if any_of(prompts > 1.0):
        packed = _prompts_s(folded, scheduler, prompts, new_tokens, attention)
    return Prefill(one_s=one, packed_s=packed / prompts, packed_prompts=prompts)


def _prompts_s(folded: Folded, scheduler: Scheduler, prompts: Any, new_tokens: Any, attention_s: Any) -> Any:
    """Seconds of prompts that share one pass, or of one that is cut into pieces of `batched_tokens`; nobody decodes."""
    pieces = np.ceil(np.maximum(new_tokens, 1.0) / np.maximum(folded.batched_tokens, 1.0))
    prompts, tokens = prompts / pieces, prompts * new_tokens / pieces
    gpu = prefill_body_s(folded, prompts, new_tokens, attention_s) + prefill_head_s(folded, prompts)
    alone = PromptPass(gpu_s=gpu, slope_s=np.zeros(()), beside=np.zeros(()), tokens=tokens)
    return pieces * alone.seconds(folded, scheduler, 0.0)


def batch_prefill_s(folded: Folded, scheduler: Scheduler, load: Load, prefill: Prefill, sequences: Any) -> Any:
    """Seconds to prefill the prompts of a batch that starts together: one pass of them all where it takes them.

    A batch of one takes what a prompt alone does; beyond `packed_prompts` passes are full.

    Equation: docs/model.md, eq. (41). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> from estimator.engine.serving import worked_loop
    >>> folded, scheduler = worked_key.folded(), worked_loop.scheduler()
    >>> load = Load(input_tokens=2000.0, output_tokens=100.0, concurrency=8.0, context_tokens=2050.0)
    >>> prefill = prefill_times(folded, scheduler, 2000.0)
    >>> round(float(batch_prefill_s(folded, scheduler, load, prefill, 8.0)), 3)
    0.328
    """
    together = np.minimum(np.maximum(sequences, 1.0), prefill.packed_prompts)
    new = load.input_tokens - load.cached_tokens
    attention = prefill_attention_s(folded, new, load.cached_tokens)
    return _prompts_s(folded, scheduler, together, new, attention) * np.maximum(sequences, 1.0) / together


def unhidden_prefill_s(folded: Folded, prefill: Prefill, step: Any) -> Any:
    """Seconds that a prompt of a full pass takes from those who decode offline: all but half of the step beside it.

    Half of it at least is not hidden.

    Equation: docs/model.md, eq. (42). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> folded = worked_key.folded()
    >>> from estimator.engine.serving import worked_loop
    >>> prefill = prefill_times(folded, worked_loop.scheduler(), 2000.0)
    >>> round(float(unhidden_prefill_s(folded, prefill, 0.01)) * 1e3, 1)
    39.8
    """
    stolen = prefill.packed_s / folded.prefill_spread
    beside = step / prefill.packed_prompts
    return np.maximum(stolen - SCHEDULING.hidden_step_share * beside, SCHEDULING.least_unhidden_share * stolen)


def steady_state(folded: Folded, scheduler: Scheduler, load: Load, capacity: Capacity, mode: WorkloadMode) -> Steady:
    """The steady state of a workload without arrivals at a rate.

    Args:
        folded: constants of the key, broadcast over rows.
        scheduler: settings of the server.
        load: lengths, concurrency and traffic.
        capacity: sequences the cache and the engine admit.
        mode: closed_loop, single_stream, offline, static_batch, decode_step.

    Source: docs/model.md, closed loop.

    Equation: docs/model.md, eq. (38) and eq. (42).
    """
    admitted = admitted_sequences(capacity, load.concurrency, mode)
    if mode in (WorkloadMode.CLOSED_LOOP, WorkloadMode.SINGLE_STREAM):
        return _online(folded, scheduler, load, admitted)
    if mode is WorkloadMode.OFFLINE:
        folded = offline_ranks(folded)
    prefill = prefill_times(folded, scheduler, load.input_tokens - load.cached_tokens, load.cached_tokens)
    linear = decode_linear_s(folded, load.context_tokens)
    step, parts, cache = step_parts_s(folded, micro_batch(admitted, folded.pipeline), linear)
    tpot = step + admitted * unhidden_prefill_s(folded, prefill, step) / load.output_tokens / folded.pipeline
    ttft = prefill.one_s + (admitted - 1.0) / 2.0 * prefill.packed_s
    if mode is WorkloadMode.STATIC_BATCH:
        ttft = outside_s(scheduler, load, admitted) + batch_prefill_s(folded, scheduler, load, prefill, admitted)
    e2e = answer_time_s(ttft, tpot, load.output_tokens)
    return Steady(
        admitted=admitted,
        decoding=admitted,
        step_s=step,
        tpot_s=tpot,
        ttft_s=ttft,
        queue_s=0.0 * e2e,
        e2e_s=e2e,
        prefill_s=prefill.one_s,
        parts=parts,
        cache_read_s=cache,
        prefill=prefill,
    )


def _online(folded: Folded, scheduler: Scheduler, load: Load, admitted: Any) -> Steady:
    loop = closed_loop(folded, scheduler, load, admitted)
    linear = decode_linear_s(folded, load.context_tokens)
    step, parts, cache = step_parts_s(folded, micro_batch(loop.decoding, folded.pipeline), linear)
    e2e = answer_time_s(loop.ttft_s, loop.tpot_s, load.output_tokens)
    return Steady(
        admitted=admitted,
        decoding=loop.decoding,
        step_s=step,
        tpot_s=loop.tpot_s,
        ttft_s=loop.ttft_s,
        queue_s=(turns_of(load.concurrency, admitted) - 1.0) * e2e,
        e2e_s=e2e,
        prefill_s=loop.alone_s,
        parts=parts,
        cache_read_s=cache,
        loop=loop,
    )


def offline_tokens_per_s(folded: Folded, state: Steady) -> Any:
    """Output tokens per second with the cache full, `B / TPOT`, less the bubble of pipeline stages.

    Equation: docs/model.md, eq. (42). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> room = Capacity(cache_sequences=64.0, engine_sequences=256.0, full_length_sequences=64.0)
    >>> load = Load(input_tokens=2000.0, output_tokens=200.0, concurrency=64.0, context_tokens=2100.0)
    >>> from estimator.engine.serving import worked_loop
    >>> folded, scheduler = worked_key.folded(), worked_loop.scheduler()
    >>> round(float(offline_tokens_per_s(folded, steady_state(folded, scheduler, load, room, WorkloadMode.OFFLINE))))
    2493
    """
    return state.admitted / state.tpot_s / folded.pipeline_bubble
