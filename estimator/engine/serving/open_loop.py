"""Steady state under open load: how many sequences decode at a rate, and how long a request waits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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

_ROUNDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """TPOT as a function of the sequences that decode, and the time of a prompt without and behind others.

    `at(sequences)` gives seconds of a step, of a token, and of the prefill that is not hidden behind decode steps.
    """

    at: Callable[[Any], tuple[Any, Any, Any]]
    first_s: Any
    half_step_share: float
    service_s: Any
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
        half_step_share=0.5,
        service_s=prefill.packed_s,
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

    return Pace(at=at, first_s=prefill, half_step_share=0.0, service_s=prefill, prefill_s=prefill, pipeline=pipeline)


def open_state(pace: Pace, load: Load, places: Any, requests_per_s: Any, variation: Any) -> OpenState:
    """The state at `requests_per_s` with gaps of coefficient of variation `variation`.

    Sequences decoding follow from Little's law, `B = rate · output · TPOT(B)`; the rate is stable below what the
    replica serves with every one of its `places` taken, `places / e2e`, no answer being shorter than the cycle in
    which it serves all of them. Prompts wait as in GI/D/1 with load `rate · ext`, and near full places for a free one.

    Source: 03-engine 1.4 with w = 0; `queueing`.
    """
    rate = np.asarray(requests_per_s, dtype=np.float64)
    step, tpot, ext = pace.at(places)
    answer = answer_time_s(pace.first_s + pace.half_step_share * step, tpot, load.output_tokens)
    stable = places / np.maximum(answer, shortest_cycle_s(places, ext, step, load.output_tokens, pace.pipeline))
    decoding = _sequences_at(pace, load, places, rate)
    step, tpot, ext = pace.at(decoding)
    base = pace.first_s + pace.half_step_share * step
    answer = answer_time_s(base, tpot, load.output_tokens)
    busy = rate / np.maximum(stable, 1e-300)
    queue = wait_in_services(np.clip(rate * ext / pace.pipeline, 0.0, 0.999), variation)
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
    """Root of `rate · output · TPOT(B) = B` in [0, places], by false position: TPOT is nearly linear in B."""

    def excess(sequences: Any) -> Any:
        return rate * load.output_tokens * pace.at(sequences)[1] - sequences

    low = np.zeros(np.broadcast_shapes(np.shape(rate), np.shape(places)))
    high = low + places
    over_low, over_high = excess(low), excess(high)
    middle = high
    for _ in range(_ROUNDS):
        share = over_low / np.maximum(over_low - over_high, 1e-300)
        middle = np.clip(low + (high - low) * share, low, high)
        over = excess(middle)
        more = over > 0.0
        low, over_low = np.where(more, middle, low), np.where(more, over, over_low)
        high, over_high = np.where(more, high, middle), np.where(more, over_high, over)
    return middle
