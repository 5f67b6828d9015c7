"""Steady state under open load: how many sequences decode at a rate, and how long a request waits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from estimator.constants.launching import LAUNCH
from estimator.constants.scheduling import SCHEDULING
from estimator.engine.elementwise import choose
from estimator.engine.forward_pass.operators import Folded, decode_linear_s
from estimator.engine.forward_pass.roofline import Floor, floor_prefill_s, floor_step_s
from estimator.engine.serving.launch import Scheduler
from estimator.engine.serving.load import Load, answer_time_s
from estimator.engine.serving.passes import spared_share
from estimator.engine.serving.queueing import slot_wait_s, wait_in_services
from estimator.engine.serving.steps import micro_batch, step_s
from estimator.engine.serving.waves import Prompts, prompts_of, round_at

_ROUNDS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """Seconds where so many sequences decode: of a step, of a token, of a prompt's own pass.

    `met_s` is what is left of a pass of prompts that a request meets beyond a step. `least_net_s` is what a prompt of
    a full pass takes from those who decode, `service_s` its part of that pass.
    """

    step_s: Any
    tpot_s: Any
    own_s: Any
    met_s: Any
    least_net_s: Any
    service_s: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What `at(sequences)` takes, `full` with every place taken, and what of a first token no others change.

    `first_s` is outside the engine, `steps_waited` decode steps pass until a request that meets others is looked at.
    """

    at: Callable[[Any], Instant]
    full: Instant
    first_s: Any
    steps_waited: Any
    prefill_s: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenState:
    """Steady state at a rate; seconds, sequences, requests/s. At a `utilization` of 1 or above the queue grows.

    `waits_s` holds mean, p50, p90, p95, p99 of the wait on its last axis; TTFT is `base_ttft_s` plus the wait.
    """

    decoding: Any
    step_s: Any
    tpot_s: Any
    first_s: Any
    base_ttft_s: Any
    steps_s: Any
    waits_s: Any
    utilization: Any
    max_stable_requests_per_s: Any


def serving_pace(folded: Folded, scheduler: Scheduler, load: Load, requests_per_s: Any, places: Any) -> Pace:
    """The pace of a calibrated engine: steps, passes and launches of the closed loop.

    Passes are linear in those who decode beside them: around few at `requests_per_s`, and apart around all `places`.
    """
    linear = decode_linear_s(folded, load.context_tokens)
    lightest = np.asarray(requests_per_s) * load.output_tokens * step_s(folded, 1.0, linear)
    few = np.minimum(np.minimum(lightest, places), folded.batched_tokens / 2.0)
    prompts, crowded = (
        prompts_of(folded, scheduler, load, np.inf, linear, decoding=beside) for beside in (few, places)
    )
    at, full = (partial(_instant, folded, scheduler, load, each, linear) for each in (prompts, crowded))
    # The client's time holds no place of the server: it is added to the first token alone.
    first = scheduler.server_s + scheduler.prompt_token_s * load.input_tokens
    return Pace(
        at=at,
        full=full(places),
        first_s=first,
        steps_waited=LAUNCH.step_met_share + scheduler.steps_waited,
        prefill_s=prompts.alone_s,
    )


def _instant(
    folded: Folded, scheduler: Scheduler, load: Load, prompts: Prompts, linear: Any, sequences: Any
) -> Instant:
    """Seconds where `sequences` decode. Prompts that come while a pass runs share the next: `m = rate · pass(m)`."""
    now = round_at(folded, scheduler, prompts, np.maximum(sequences, 1.0), linear)
    others = np.maximum(sequences - 1.0, 0.0) / load.output_tokens
    least_net = np.minimum(now.net_full, now.net_one)
    rate = sequences / (load.output_tokens * (now.step + others * least_net)) / prompts.lanes
    beyond = np.maximum(prompts.many - 1.0, 1e-9)
    each = np.maximum(now.full - now.one, 0.0) / beyond
    met = rate * (now.one - each) / np.maximum(1.0 - rate * each, 1e-9)
    met = np.minimum(np.maximum(met, 1.0), np.maximum(prompts.many, 1.0))
    packed = (met - 1.0) / beyond
    own = now.one + np.maximum(now.full - now.one, 0.0) * packed
    return Instant(
        step_s=now.step,
        tpot_s=now.step + others * (now.net_one + (least_net - now.net_one) * spared_share(met, prompts.many)),
        own_s=own,
        met_s=LAUNCH.step_met_share * np.maximum(own - now.step, 0.0) * np.minimum(rate * own / met, 1.0),
        least_net_s=least_net,
        service_s=np.minimum(now.full / prompts.many, now.one) / prompts.lanes,
    )


def ideal_pace(floor: Floor, load: Load, *, places: Any, pipeline: Any, prefill_share: Any, decode_share: Any) -> Pace:
    """The pace of the teaching profile: prompts and steps at the roofline, each prompt on its own."""
    prefill = floor_prefill_s(floor, load.input_tokens - load.cached_tokens, load.cached_tokens, prefill_share)

    def at(sequences: Any) -> Instant:
        running = np.maximum(sequences, 1.0)
        step = floor_step_s(floor, micro_batch(running, pipeline), load.context_tokens, decode_share)
        others = np.maximum(sequences - 1.0, 0.0)
        net = prefill / pipeline
        return Instant(
            step_s=step,
            tpot_s=step + others / load.output_tokens * net,
            own_s=prefill,
            met_s=0.0,
            least_net_s=net,
            service_s=net,
        )

    return Pace(at=at, full=at(places), first_s=0.0, steps_waited=0.0, prefill_s=prefill)


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
    full = pace.full
    answer = answer_time_s(pace.first_s + full.own_s + pace.steps_waited * full.step_s, full.tpot_s, load.output_tokens)
    stable = places / np.maximum(answer, cycle_s(places, full.least_net_s, full.step_s, load.output_tokens))
    decoding = _sequences_at(pace, load, places, rate)
    now = pace.at(decoding)
    # A request that finds the replica idle meets no running step.
    steps = pace.steps_waited * now.step_s * np.minimum(decoding, 1.0) + now.met_s
    base = pace.first_s + steps + now.own_s
    answer = answer_time_s(base, now.tpot_s, load.output_tokens)
    busy = rate / np.maximum(stable, 1e-300)
    queue = wait_in_services(np.clip(rate * now.service_s, 0.0, SCHEDULING.open_loop_load_limit), variation)
    waits = np.expand_dims(np.asarray(now.service_s), -1) * queue
    waits = waits + slot_wait_s(load=busy, servers=places, service_s=answer, variation=variation)
    return OpenState(
        decoding=decoding,
        step_s=now.step_s,
        tpot_s=now.tpot_s,
        first_s=pace.first_s + 0.0 * base,
        base_ttft_s=base,
        steps_s=steps,
        waits_s=waits,
        utilization=busy,
        max_stable_requests_per_s=stable,
    )


def cycle_s(places: Any, net_s: Any, step: Any, output_tokens: Any) -> Any:
    """Seconds in which a replica serves each of `places` sequences once: what prompts take, and `output − 1` steps.

    By Little's law no mean answer time is shorter.

    Equation: docs/model.md, eq. (44). Source: Little 1961, doi 10.1287/opre.9.3.383.

    >>> round(cycle_s(8.0, 0.05, 0.01, 100.0), 2)
    1.39
    """
    return places * net_s + (output_tokens - 1.0) * step


def _sequences_at(pace: Pace, load: Load, places: Any, rate: Any) -> Any:
    """Root of `rate · output · TPOT(B) = B` in [0, places] that a replica reaches from empty.

    False position, the end that stays halved in value (Illinois): without that short answers, whose TPOT is bent where
    prompts begin to share a step, leave it far from the root. One sequence alone is slowed by none, so that what it
    asks for bounds the root from below, and is the root where it is at most one.
    """

    def excess(sequences: Any) -> Any:
        return rate * load.output_tokens * pace.at(sequences).tpot_s - sequences

    high = np.zeros(np.broadcast_shapes(np.shape(rate), np.shape(places))) + places
    low = np.minimum(np.maximum(excess(np.zeros_like(high)), 0.0), high)
    over_low, over_high = excess(low), excess(high)
    middle = high
    was_more = np.zeros(np.shape(high))
    for _ in range(_ROUNDS):
        share = over_low / np.maximum(over_low - over_high, 1e-300)
        middle = np.minimum(np.maximum(low + (high - low) * share, low), high)
        over = excess(middle)
        more = over > 0.0
        over_low = choose(more, over, choose(was_more < 0.0, over_low / 2.0, over_low))
        over_high = choose(more, choose(was_more > 0.0, over_high / 2.0, over_high), over)
        low, high = choose(more, middle, low), choose(more, high, middle)
        was_more = choose(more, 1.0, -1.0)
    return middle
