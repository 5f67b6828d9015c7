"""Steady state of a serving engine: what concurrency, prefill interference and queues make of the forward pass."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from estimator.constants.scheduling import SCHEDULING
from estimator.engine.codes import Binding
from estimator.engine.forward_pass.operators import (
    Folded,
    decode_linear_s,
    decode_pass_s,
    offline_ranks,
    prefill_attention_s,
    prefill_body_s,
    prefill_head_s,
    slowest_rank,
    step_parts_s,
)
from estimator.engine.serving.capacity import Capacity, admitted_sequences
from estimator.engine.specs import WorkloadMode

_ITERATIONS = 4
_ONLINE = (WorkloadMode.CLOSED_LOOP, WorkloadMode.OPEN_LOOP, WorkloadMode.SINGLE_STREAM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Load of each row: lengths in tokens, `cached_tokens` of the prompt that a prefix cache holds, concurrency.

    `context_tokens` is the cache length decode is evaluated at. Arrays broadcast with the folded constants.
    """

    input_tokens: Any
    output_tokens: Any
    concurrency: Any
    context_tokens: Any
    cached_tokens: Any = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefill:
    """Prefill times in seconds: latency of one prompt, share of a packed prompt, and what one takes from decode."""

    one_s: Any
    packed_s: Any
    steal_one_s: Any
    steal_packed_s: Any
    packed_prompts: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """Steady state of each row; seconds and sequences.

    `admitted` sequences are inside the engine, `decoding` of them decode, `capacity` is what the cache admits.
    `ttft_s` leaves out the wait for a free sequence, which is `queue_s`; `e2e_s` likewise.
    """

    capacity: Any
    admitted: Any
    decoding: Any
    step_s: Any
    tpot_s: Any
    ttft_s: Any
    queue_s: Any
    e2e_s: Any
    interference_s: Any
    utilization: Any
    prefill: Prefill
    parts: dict[Binding, Any]
    cache_read_s: Any


def context_tokens(input_tokens: Any, output_tokens: Any) -> Any:
    """Mean cache length of a running sequence, `input + output / 2`.

    Equation: docs/model.md, eq. (29). Source: definition.

    >>> context_tokens(1000.0, 200.0)
    1100.0
    """
    return input_tokens + SCHEDULING.mean_share_of_output * output_tokens


def prefix_tokens(input_tokens: Any, hit_rate: Any, block_tokens: int = 16) -> Any:
    """Prompt tokens that a prefix cache spares: the hit share in whole blocks, at least one token left to compute.

    Equation: docs/model.md, eq. (30). Source: prefix caches of engines hold whole blocks.

    >>> float(prefix_tokens(1000.0, 0.5)), float(prefix_tokens(1000.0, 1.0))
    (496.0, 992.0)
    """
    blocks = np.floor(np.asarray(input_tokens) * hit_rate / block_tokens + 1e-9)
    return np.minimum(blocks, np.floor((np.asarray(input_tokens) - 1.0) / block_tokens)) * block_tokens


def prefill_times(folded: Folded, new_tokens: Any, cached_tokens: Any = 0.0) -> Prefill:
    """Times of a prefill alone and packed into one step of `batched_tokens`, with the host's floor and without.

    `sqrt(pass² + floor²) + head + step`; what a prefill takes from decode counts the lower floor of a busy host.

    Equation: docs/model.md, eq. (36).
    """
    prompts = np.maximum(np.floor(folded.batched_tokens / np.maximum(new_tokens, 1.0)), 1.0)
    attention = prefill_attention_s(folded, new_tokens, cached_tokens)
    one = prefill_body_s(folded, 1.0, new_tokens, attention)
    after_one = prefill_head_s(folded, 1.0) + folded.step_s
    packed, after_packed = one, after_one
    if np.any(prompts > 1.0):
        packed = prefill_body_s(folded, prompts, new_tokens, attention)
        after_packed = prefill_head_s(folded, prompts) + folded.step_s
    floor, steal = folded.launch_floor_s**2, folded.steal_floor_s**2
    one, packed = one * one, packed * packed
    return Prefill(
        one_s=np.sqrt(one + floor) + after_one,
        packed_s=(np.sqrt(packed + floor) + after_packed) / prompts,
        steal_one_s=(np.sqrt(one + steal) + after_one) / folded.prefill_spread,
        steal_packed_s=(np.sqrt(packed + steal) + after_packed) / prompts / folded.prefill_spread,
        packed_prompts=prompts,
    )


def batch_prefill_s(folded: Folded, load: Load, prefill: Prefill, sequences: Any) -> Any:
    """Seconds to prefill the prompts of a batch that starts together: one pass of them all where it takes them.

    A batch of one takes what a prompt alone does; beyond `packed_prompts` passes are full.

    Equation: docs/model.md, eq. (41). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> folded = worked_key.folded()
    >>> load = Load(input_tokens=2000.0, output_tokens=100.0, concurrency=8.0, context_tokens=2050.0)
    >>> round(float(batch_prefill_s(folded, load, prefill_times(folded, 2000.0), 8.0)), 3)
    0.329
    """
    together = np.clip(sequences, 1.0, prefill.packed_prompts)
    new = load.input_tokens - load.cached_tokens
    body = prefill_body_s(folded, together, new, prefill_attention_s(folded, new, load.cached_tokens))
    after = prefill_head_s(folded, together) + folded.step_s
    return (np.sqrt(body * body + folded.launch_floor_s**2) + after) * np.maximum(sequences, 1.0) / together


def micro_batch(sequences: Any, pipeline: Any) -> Any:
    """Sequences of one micro-batch: a batch is cut into as many as there are pipeline stages, never below one.

    Equation: docs/model.md, eq. (33). Source: definition.

    >>> float(micro_batch(64.0, 4.0)), float(micro_batch(2.0, 4.0))
    (16.0, 1.0)
    """
    return sequences / np.minimum(pipeline, np.maximum(sequences, 1.0))


def has_gaps(output_tokens: Any) -> Any:
    """Whether an answer has a second token: without one TPOT, (e2e − ttft) / (n − 1), is nothing over nothing.

    Equation: docs/model.md, eq. (34). Source: definition.

    >>> bool(has_gaps(1.0)), bool(has_gaps(2.0))
    (False, True)
    """
    return np.asarray(output_tokens, dtype=np.float64) > 1.0


def answer_time_s(ttft_s: Any, tpot_s: Any, output_tokens: Any) -> Any:
    """Seconds to the last of n tokens, `ttft + (n − 1)·tpot`: the first token is in the TTFT.

    Equation: docs/model.md, eq. (34). Source: definition.

    >>> answer_time_s(0.5, 0.02, 101.0)
    2.5
    """
    return ttft_s + (output_tokens - 1.0) * tpot_s


def turns_of(concurrency: Any, admitted: Any) -> Any:
    """Turns in which a batch is served where the cache admits fewer than ask, at least one.

    Equation: docs/model.md, eq. (35). Source: definition.

    >>> float(turns_of(128.0, 64.0)), float(turns_of(8.0, 64.0))
    (2.0, 1.0)
    """
    return np.maximum(concurrency / np.maximum(admitted, 1e-9), 1.0)


def unhidden_prefill_s(prefill: Prefill, decoding: Any, step: Any, output_tokens: Any) -> Any:
    """Seconds that one prompt takes from those who decode: what half a step beside it does not hide, half at least.

    With many sequences several prompts share a step, one for each sixteen that decode. A prompt has no more than
    `(output − 1) / decoding` steps beside it, and nothing to hide behind where answers have one token: while each of
    the sequences is prefilled once there are `output − 1` steps. Source: docs/model.md, prefill
    beside decode.

    Equation: docs/model.md, eq. (37).

    >>> from estimator.engine.forward_pass import worked_key
    >>> prefill = prefill_times(worked_key.folded(), 2000.0)
    >>> round(float(unhidden_prefill_s(prefill, 8.0, 0.01, 200.0)) * 1e3, 1)  # 43.8 ms less half a step of 10 ms
    38.8
    """
    packing = np.minimum(np.maximum(decoding / SCHEDULING.decoding_sequences_per_prompt, 1.0), prefill.packed_prompts)
    stolen = np.where(packing > 1.0, prefill.steal_packed_s, prefill.steal_one_s)
    steps = np.minimum(1.0 / packing, (output_tokens - 1.0) / np.maximum(decoding, 1.0))
    return _beyond_half(stolen, step * steps)


def _beyond_half(stolen: Any, beside: Any) -> Any:
    """What is left of `stolen` seconds when half of the `beside` seconds hide at most half of them."""
    return np.maximum(stolen - SCHEDULING.hidden_step_share * beside, SCHEDULING.least_unhidden_share * stolen)


def shortest_cycle_s(admitted: Any, unhidden: Any, step: Any, output_tokens: Any, pipeline: Any) -> Any:
    """Seconds in which a replica serves each of `admitted` sequences once: their prompts and `output − 1` steps.

    By Little's law no mean answer time in a closed loop is shorter.

    Equation: docs/model.md, eq. (40). Source: Little 1961, doi 10.1287/opre.9.3.383.

    >>> round(shortest_cycle_s(8.0, 0.05, 0.01, 100.0, 1.0), 2)
    1.39
    """
    return admitted * unhidden / pipeline + (output_tokens - 1.0) * step


def step_s(folded: Folded, sequences: Any, linear_s: Any) -> Any:
    """Seconds of one decode step of a replica: every sequence gets one token.

    With pipeline stages the batch runs as micro-batches; one full round is the pass of a micro-batch. `linear_s` is
    `decode_linear_s` at the context.

    Equation: docs/model.md, eq. (21). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> folded = worked_key.folded()
    >>> round(float(step_s(folded, 8.0, decode_linear_s(folded, 1000.0))) * 1e3, 2)
    6.99
    """
    micro = micro_batch(sequences, folded.pipeline)
    return decode_pass_s(folded, micro, linear_s) + folded.step_s + folded.per_sequence_s * slowest_rank(folded, micro)


def steady_state(folded: Folded, load: Load, capacity: Capacity, mode: WorkloadMode) -> Steady:
    """The steady state of a workload; closed loop unless `mode` says otherwise.

    `TPOT = step + (B − 1)/output · ext / pp`: while one sequence decodes its tokens, each of the others is prefilled
    once, and `ext` of that prefill is not hidden behind the decode step. The sequences that decode are those inside
    the engine less those in prefill; four rounds of that balance are enough (two differ by at most 0.8 %).

    Args:
        folded: constants of the key, broadcast over rows.
        load: lengths and concurrency.
        capacity: sequences the cache and the engine admit.
        mode: closed_loop, open_loop, single_stream (online), offline, static_batch, decode_step.

    Source: docs/model.md, closed loop.

    Equation: docs/model.md, eq. (38) and eq. (39).
    """
    admitted = admitted_sequences(capacity, load.concurrency, mode)
    if mode is WorkloadMode.OFFLINE:
        folded = offline_ranks(folded)
    prefill = prefill_times(folded, load.input_tokens - load.cached_tokens, load.cached_tokens)
    linear = decode_linear_s(folded, load.context_tokens)
    decoding = admitted
    online = mode in _ONLINE
    for _ in range(_ITERATIONS - 1 if online else 0):
        state = _balance(folded, load, prefill, admitted, decoding, step_s(folded, decoding, linear), mode)
        decoding = _decoding(folded, admitted, state)
    micro = micro_batch(decoding, folded.pipeline)
    step, parts, cache = step_parts_s(folded, micro, linear)
    state = _balance(folded, load, prefill, admitted, decoding, step, mode)
    over = turns_of(load.concurrency, admitted) - 1.0
    return Steady(
        capacity=capacity.cache_sequences,
        admitted=admitted,
        decoding=_decoding(folded, admitted, state) if online else decoding,
        step_s=step,
        tpot_s=state.tpot_s,
        ttft_s=state.ttft_s,
        queue_s=over * state.e2e_s if online else 0.0 * state.e2e_s,
        e2e_s=state.e2e_s,
        interference_s=state.interference_s,
        utilization=state.utilization,
        prefill=prefill,
        parts=parts,
        cache_read_s=cache,
    )


def _decoding(folded: Folded, admitted: Any, state: "_Round") -> Any:
    """Sequences that decode: those inside the engine less the share of their time that they wait for a first token."""
    waiting = (state.ttft_s - folded.ttft0_s) / state.e2e_s
    return np.maximum(
        admitted * np.minimum(np.maximum(1.0 - waiting, SCHEDULING.least_decoding_share), 1.0),
        np.minimum(admitted, 1.0),
    )


@dataclass(frozen=True, slots=True)
class _Round:
    tpot_s: Any
    ttft_s: Any
    e2e_s: Any
    interference_s: Any
    utilization: Any


def _balance(
    folded: Folded, load: Load, prefill: Prefill, admitted: Any, decoding: Any, step: Any, mode: WorkloadMode
) -> _Round:
    """TPOT, TTFT and end-to-end time when `decoding` of the `admitted` sequences decode in steps of `step` seconds."""
    online = mode in _ONLINE
    if online:
        ext = unhidden_prefill_s(prefill, decoding, step, load.output_tokens)
    else:
        ext = _beyond_half(prefill.steal_packed_s, step / prefill.packed_prompts)
    others = np.maximum(decoding - 1.0, 0.0)
    shared = (others if online else decoding) * ext
    tpot = step + shared / load.output_tokens / folded.pipeline
    after_first = answer_time_s(0.0, tpot, load.output_tokens)
    rho = np.minimum(others * ext / (load.output_tokens * tpot), SCHEDULING.queue_utilization_limit)
    if mode is WorkloadMode.STATIC_BATCH:
        weight: Any = 1.0
    else:
        weight = folded.burst_weight if mode is not WorkloadMode.OPEN_LOOP else 0.0
    queue = np.minimum(weight * others / 2.0 + rho / (2.0 * (1.0 - rho)), others / 2.0)
    # A request meets a running step half way through; one stream alone meets none.
    residual = 0.0 if mode is WorkloadMode.SINGLE_STREAM else SCHEDULING.step_met_share
    ttft = folded.ttft0_s + prefill.one_s + residual * step + prefill.packed_s * queue
    if mode is WorkloadMode.CLOSED_LOOP:
        waiting = folded.first_token_steps * np.minimum(others, 1.0)
        ttft = ttft + folded.burst_per_sequence_s * others + waiting * step
        cycle = shortest_cycle_s(admitted, ext, step, load.output_tokens, folded.pipeline)
        ttft = np.maximum(ttft, cycle - after_first)
    return _Round(tpot, ttft, ttft + after_first, ext, rho)


def offline_tokens_per_s(folded: Folded, state: Steady) -> Any:
    """Output tokens per second with the cache full, `B / TPOT`, less the bubble of pipeline stages.

    Equation: docs/model.md, eq. (42). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> room = Capacity(cache_sequences=64.0, engine_sequences=256.0, full_length_sequences=64.0)
    >>> load = Load(input_tokens=2000.0, output_tokens=200.0, concurrency=64.0, context_tokens=2100.0)
    >>> folded = worked_key.folded()
    >>> round(float(offline_tokens_per_s(folded, steady_state(folded, load, room, WorkloadMode.OFFLINE))))
    2491
    """
    return state.admitted / state.tpot_s / folded.pipeline_bubble


def static_tokens_per_s(folded: Folded, load: Load, state: Steady) -> Any:
    """Output tokens per second of a batch that starts and ends together, in as many turns as the cache needs.

    `C·output / (max(C/B, 1) · (ttft0 + prefill(B) + (output − 1)·step(B)))`.

    Equation: docs/model.md, eq. (43). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> room = Capacity(cache_sequences=64.0, engine_sequences=256.0, full_length_sequences=64.0)
    >>> load = Load(input_tokens=2000.0, output_tokens=200.0, concurrency=8.0, context_tokens=2100.0)
    >>> folded = worked_key.folded()
    >>> state = steady_state(folded, load, room, WorkloadMode.STATIC_BATCH)
    >>> round(float(static_tokens_per_s(folded, load, state)))
    890
    """
    prefill = batch_prefill_s(folded, load, state.prefill, state.admitted)
    turn = answer_time_s(folded.ttft0_s + prefill, state.step_s, load.output_tokens)
    return load.concurrency * load.output_tokens / (turns_of(load.concurrency, state.admitted) * turn)
