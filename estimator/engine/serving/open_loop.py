"""Steady state under open load: how many sequences decode at a rate, and how long a request waits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from estimator.constants.scheduling import SCHEDULING
from estimator.engine.forward_pass.operators import Folded, decode_linear_s
from estimator.engine.forward_pass.roofline import Floor, floor_prefill_s, floor_step_s
from estimator.engine.serving.queueing import slot_wait_s, wait_in_services
from estimator.engine.serving.steady_state import (
    Load,
    answer_time_s,
    micro_batch,
    prefill_times,
    shortest_cycle_s,
    step_s,
    unhidden_prefill_s,
)

_ROUNDS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """TPOT as a function of the sequences that decode, and the time of a prompt without and behind others.

    `at(sequences)` gives seconds of a step, of a token, and of the prefill that is not hidden behind decode steps;
    `shared_s` is the prefill of a prompt that shares its pass with as many as one takes.
    """

    at: Callable[[Any], tuple[Any, Any, Any]]
    first_s: Any
    half_step_share: float
    service_s: Any
    shared_s: Any
    prefill_s: Any
    pipeline: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenState:
    """Steady state at a rate; seconds, sequences, requests/s. At a `utilization` of 1 or above the queue grows.

    `waits_s` holds mean, p50, p90, p95, p99 of the wait on its last axis; TTFT is `base_ttft_s` plus the wait.
    """

    decoding: Any
    step_s: Any
    tpot_s: Any
    base_ttft_s: Any
    waits_s: Any
    utilization: Any
    max_stable_requests_per_s: Any


def serving_pace(folded: Folded, load: Load) -> Pace:
    """The pace of a calibrated engine; the same terms as in a closed loop, without its start-up burst."""
    prefill = prefill_times(folded, load.input_tokens - load.cached_tokens, load.cached_tokens)
    linear = decode_linear_s(folded, load.context_tokens)

    def at(sequences: Any) -> tuple[Any, Any, Any]:
        running = np.maximum(sequences, 1.0)
        step = step_s(folded, running, linear)
        ext = unhidden_prefill_s(prefill, running, step, load.output_tokens)
        others = np.maximum(sequences - 1.0, 0.0)
        return step, step + others / load.output_tokens * ext / folded.pipeline, ext

    return Pace(
        at=at,
        first_s=folded.ttft0_s + prefill.one_s,
        half_step_share=SCHEDULING.step_met_share,
        service_s=prefill.packed_s,
        shared_s=prefill.steal_packed_s,
        prefill_s=prefill.one_s,
        pipeline=folded.pipeline,
    )


def ideal_pace(floor: Floor, load: Load, *, pipeline: Any, prefill_share: Any, decode_share: Any) -> Pace:
    """The pace of the teaching profile: prompts and steps at the roofline, each prompt on its own."""
    prefill = floor_prefill_s(floor, load.input_tokens - load.cached_tokens, load.cached_tokens, prefill_share)

    def at(sequences: Any) -> tuple[Any, Any, Any]:
        running = np.maximum(sequences, 1.0)
        step = floor_step_s(floor, micro_batch(running, pipeline), load.context_tokens, decode_share)
        others = np.maximum(sequences - 1.0, 0.0)
        return step, step + others / load.output_tokens * prefill / pipeline, prefill

    return Pace(
        at=at,
        first_s=prefill,
        half_step_share=0.0,
        service_s=prefill,
        shared_s=prefill,
        prefill_s=prefill,
        pipeline=pipeline,
    )


def open_state(pace: Pace, load: Load, places: Any, requests_per_s: Any, variation: Any) -> OpenState:
    """The state at `requests_per_s` with gaps of coefficient of variation `variation`.

    Sequences decoding follow from Little's law, `B = rate · output · TPOT(B)`; the rate is stable below what the
    replica serves with every one of its `places` taken, `places / e2e`, no answer being shorter than the cycle in
    which it serves all of them. Prompts wait as in GI/D/1 with load `rate · ext`, at most that of prompts which share
    their passes, and near full places for a free one.

    Source: docs/model.md, open loop; `queueing`.

    Equation: docs/model.md, eq. (44).
    """
    rate = np.asarray(requests_per_s, dtype=np.float64)
    step, tpot, ext = pace.at(places)
    answer = answer_time_s(pace.first_s + pace.half_step_share * step, tpot, load.output_tokens)
    stable = places / np.maximum(answer, shortest_cycle_s(places, ext, step, load.output_tokens, pace.pipeline))
    decoding = _sequences_at(pace, load, places, rate)
    step, tpot, ext = pace.at(decoding)
    # A request that finds the replica idle meets no running step.
    base = pace.first_s + pace.half_step_share * step * np.minimum(decoding, 1.0)
    answer = answer_time_s(base, tpot, load.output_tokens)
    busy = rate / np.maximum(stable, 1e-300)
    # Prompts that wait share the next pass, however few sequences decode beside them.
    load_of_prompts = rate * np.minimum(ext, pace.shared_s) / pace.pipeline
    queue = wait_in_services(np.clip(load_of_prompts, 0.0, SCHEDULING.open_loop_load_limit), variation)
    waits = np.expand_dims(np.asarray(pace.service_s), -1) * queue
    waits = waits + slot_wait_s(load=busy, servers=places, service_s=answer, variation=variation)
    return OpenState(
        decoding=decoding,
        step_s=step,
        tpot_s=tpot,
        base_ttft_s=base,
        waits_s=waits,
        utilization=busy,
        max_stable_requests_per_s=stable,
    )


def _sequences_at(pace: Pace, load: Load, places: Any, rate: Any) -> Any:
    """Root of `rate · output · TPOT(B) = B` in [0, places] that a replica reaches from empty.

    False position, the end that stays halved in value (Illinois): without that short answers, whose TPOT is bent where
    prompts begin to share a step, leave it far from the root. One sequence alone is slowed by none, so that what it
    asks for bounds the root from below, and is the root where it is at most one.
    """

    def excess(sequences: Any) -> Any:
        return rate * load.output_tokens * pace.at(sequences)[1] - sequences

    high = np.zeros(np.broadcast_shapes(np.shape(rate), np.shape(places))) + places
    low = np.clip(excess(np.zeros_like(high)), 0.0, high)
    over_low, over_high = excess(low), excess(high)
    middle = high
    was_more = np.zeros(np.shape(high))
    for _ in range(_ROUNDS):
        share = over_low / np.maximum(over_low - over_high, 1e-300)
        middle = np.clip(low + (high - low) * share, low, high)
        over = excess(middle)
        more = over > 0.0
        over_low = np.where(more, over, np.where(was_more < 0.0, over_low / 2.0, over_low))
        over_high = np.where(more, np.where(was_more > 0.0, over_high / 2.0, over_high), over)
        low, high = np.where(more, middle, low), np.where(more, high, middle)
        was_more = np.where(more, 1.0, -1.0)
    return middle
