"""Closed loop in closed form: requests come all at once, in waves that widen, or evenly; elementwise over rows.

Wave k of a benchmark holds as many requests as are in flight. They come over D_k seconds (all at once in the first, or
over the client's ramp); their prompts are served one after the other or several to a pass. Their first tokens come over
`F_k = max(D_k, c·s)`, and lengths that differ part them further, so that the next wave comes over
`min(sqrt(F_k² + width²), cycle)`. A service's loop has no waves: requests come over a whole cycle.
The step simulation in `loop` is what it must meet (tests/engine/serving/test_waves.py).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from estimator.constants.launching import LAUNCH
from estimator.engine.elementwise import any_of, choose
from estimator.engine.forward_pass.operators import Folded, decode_linear_s, prefill_attention_s
from estimator.engine.serving.launch import Scheduler
from estimator.engine.serving.load import Load
from estimator.engine.serving.passes import PromptPass, prompt_pass, spared_share
from estimator.engine.serving.steps import step_s

_ROUNDS = 3
# A line that fills its server longer than this is not in balance; what it delays is bounded by conservation instead.
_MOST_LOAD = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """How prompts of a row come into passes: pieces of one, prompts of a full pass, and both passes.

    `alone_s` is one prompt through all its pieces beside nobody.
    """

    pieces: Any
    many: Any
    one: PromptPass
    full: PromptPass
    lanes: Any
    alone_s: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """State of a closed loop; seconds, sequences.

    `first_s` is outside the engine (client, server), `steps_s` waits for the scheduler to look. Of the waves (first,
    second, one that stands for the rest) `waits_s` stand in line, `owns_s` are in passes, `shares` of the requests.
    `net_s` is what a prompt takes from those who decode, `alone_s` a prompt beside nobody.
    """

    ttft_s: Any
    tpot_s: Any
    step_s: Any
    decoding: Any
    net_s: Any
    first_s: Any
    steps_s: Any
    waits_s: tuple[Any, ...]
    owns_s: tuple[Any, ...]
    shares: tuple[Any, ...]
    alone_s: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    """Times of one round: a decode step, a prompt alone and in a full pass, and what they take from decoding."""

    step: Any
    one: Any
    full: Any
    net_one: Any
    net_full: Any


def prompts_of(
    folded: Folded, scheduler: Scheduler, load: Load, admitted: Any, linear_s: Any, decoding: Any = None
) -> Prompts:
    """Passes of prompts of `admitted` requests beside `decoding` sequences, all the others where none is given.

    Equation: docs/model.md, eq. (37).
    """
    lanes = folded.attention_dp * folded.pipeline
    mixed = 1.0 - scheduler.prompts_alone
    new = np.maximum(load.input_tokens - load.cached_tokens, 1.0)
    attention = prefill_attention_s(folded, new, load.cached_tokens)
    beside = mixed * (np.maximum(admitted - 1.0, 0.0) if decoding is None else decoding)
    room = np.maximum(folded.batched_tokens - beside / lanes, 1.0)
    # Of a prompt that is cut the last piece shares its pass with the next prompt, if there is one: pieces are a mean.
    pieces = choose(admitted <= 1.0, np.ceil(new / room), np.maximum(new / room, 1.0))
    fits = choose(new > room, 1.0 / pieces, room / new)
    fits = choose(scheduler.whole_prompts > 0.0, np.maximum(np.floor(fits), 1.0), fits)
    many = np.minimum(fits, np.maximum(admitted / lanes, 1.0))

    def of(prompts: Any, tokens: Any, ranks: Any, decoding: Any = beside) -> PromptPass:
        return prompt_pass(
            folded,
            prompts=prompts,
            tokens=tokens,
            attention_s=attention,
            decoding=decoding,
            linear_s=linear_s,
            ranks=ranks,
        )

    one = of(1.0 / pieces, new / pieces, 1.0)
    ranks = np.minimum(folded.attention_dp, np.maximum(admitted, 1.0))
    full = of(np.maximum(many, 1.0 / pieces), many * new, ranks)
    alone = PromptPass(
        gpu_s=one.gpu_s - one.slope_s * beside, slope_s=one.slope_s, beside=np.zeros(()), tokens=one.tokens
    )
    return Prompts(
        pieces=pieces,
        many=many,
        one=one,
        full=full,
        lanes=lanes,
        alone_s=pieces * alone.seconds(folded, scheduler, 0.0),
    )


def round_at(
    folded: Folded, scheduler: Scheduler, prompts: Prompts, decoding: Any, linear_s: Any, others: Any = np.inf
) -> _Round:
    """Times where `decoding` sequences decode, `others` of them at most beside a prompt, whose own does not yet.

    Where prompts run alone, those who decode wait for the whole pass.
    """
    mixed = 1.0 - scheduler.prompts_alone
    beside = mixed * np.minimum(decoding, others)
    step = step_s(folded, decoding, linear_s)
    one = prompts.pieces * prompts.one.seconds(folded, scheduler, beside)
    full = prompts.full.seconds(folded, scheduler, beside)
    return _Round(
        step=step,
        one=one,
        full=full,
        net_one=np.maximum(one - mixed * prompts.pieces * step, 0.0) / prompts.lanes,
        net_full=np.maximum(full - mixed * step, 0.0) / prompts.many / prompts.lanes,
    )


def closed_loop(folded: Folded, scheduler: Scheduler, load: Load, admitted: Any) -> Loop:
    """Mean TTFT and TPOT of `admitted` requests in flight, and the waves that they come in.

    Three rounds settle how many of them decode.

    Args:
        folded: constants of the key.
        scheduler: settings of the server.
        load: lengths and traffic; `waves` of 0 is a service whose requests come evenly.
        admitted: requests inside the engine.

    Equation: docs/model.md, eq. (38) to eq. (40). Source: docs/model.md, closed loop.
    """
    linear = decode_linear_s(folded, load.context_tokens)
    prompts = prompts_of(folded, scheduler, load, admitted, linear)
    gaps = load.output_tokens - 1.0
    first = outside_s(scheduler, load, admitted)
    decoding, tpot, waited = admitted, None, 0.0
    for _ in range(_ROUNDS):
        now = round_at(folded, scheduler, prompts, decoding, linear, np.maximum(admitted - 1.0, 0.0))
        tpot = now.step if tpot is None else tpot
        cycle = first + waited + now.one + gaps * tpot
        waits, owns, nets, shares = _waves(scheduler, load, prompts, now, admitted, first, cycle, tpot)
        wait, own, net = (_mean(values, shares) for values in (waits, owns, nets))
        steps = (
            _steps_waited(scheduler, load, now.step, cycle, admitted)
            * np.minimum(np.maximum(decoding - 1.0, 0.0), 1.0)
            * now.step
        )
        waited = steps + wait
        taken = (admitted - 1.0) * net
        stolen = np.maximum(taken - wait, LAUNCH.least_stolen_share * taken)
        stolen = np.minimum(stolen, gaps * np.maximum(now.net_full * prompts.many * prompts.lanes, 0.0))
        tpot = now.step + stolen / np.maximum(gaps, 1e-9)
        least = first + admitted * net - stolen
        ttft = np.maximum(first + waited + own, least)
        decoding = np.maximum(admitted * (gaps * tpot / (ttft + gaps * tpot)), np.minimum(admitted, 1.0))
    # What conservation adds; without it the difference is one of rounding.
    beyond = np.maximum(least - (first + waited + own), 0.0)
    return Loop(
        ttft_s=ttft,
        tpot_s=tpot,
        step_s=now.step,
        decoding=decoding,
        net_s=net,
        first_s=first,
        steps_s=steps,
        waits_s=tuple(each + beyond for each in waits),
        owns_s=owns,
        shares=shares,
        alone_s=prompts.alone_s,
    )


def outside_s(scheduler: Scheduler, load: Load, admitted: Any) -> Any:
    """Seconds of a first token outside of the engine: the client's, the server's, and those of messages to the others.

    Equation: docs/model.md, eq. (40). Source: docs/constants.md.

    >>> from estimator.engine.serving import worked_loop
    >>> load = Load(input_tokens=2000.0, output_tokens=200.0, concurrency=1.0, context_tokens=2100.0, client_s=0.015)
    >>> round(float(outside_s(worked_loop.scheduler(), load, 1.0)), 4)
    0.0248
    """
    server = scheduler.server_s + scheduler.prompt_token_s * load.input_tokens
    return load.client_s + server + scheduler.chunk_s * admitted


def _mean(values: tuple[Any, ...], shares: tuple[Any, ...]) -> Any:
    total: Any = 0.0
    for value, share in zip(values, shares, strict=True):
        total = total + share * value
    return total


def _steps_waited(scheduler: Scheduler, load: Load, step: Any, cycle: Any, admitted: Any) -> Any:
    """Decode steps until a request that finds others decoding is looked at.

    Equation: docs/model.md, eq. (39).
    """
    between = cycle / np.maximum(admitted, 1.0) / step
    ranks = 0.5 * np.minimum(scheduler.rank_steps, scheduler.rank_prompts * between)
    new = np.maximum(load.input_tokens - load.cached_tokens, 1.0)
    batch = np.minimum(scheduler.batch_steps, scheduler.batch_tokens / new * between)
    return LAUNCH.step_met_share + scheduler.steps_waited + ranks + batch


def _waves(
    scheduler: Scheduler,
    load: Load,
    prompts: Prompts,
    now: _Round,
    admitted: Any,
    first: Any,
    cycle: Any,
    tpot: Any,
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Wait in line, own passes and what is taken from decoding, of each wave, and the waves' shares of requests."""
    if not any_of(load.waves > 0.0):
        wait, own, net = _wave(scheduler, load, prompts, now, admitted, first, cycle, None)
        return (wait,), (own,), (net,), (1.0,)
    count = np.maximum(load.waves, 1.0)
    has = load.waves > 0.0
    width = 2.0 * (1.0 - load.length_ratio) / (1.0 + load.length_ratio) * load.output_tokens * tpot
    shares = (1.0 / count, np.minimum(count - 1.0, 1.0) / count, np.maximum(count - 2.0, 0.0) / count)
    # From the first wave to the second, and from it to the middle of the others.
    jumps: tuple[Any, ...] = (1.0, np.maximum((count + 1.0) / 2.0 - 1.0, 0.0))
    served = admitted * now.full / prompts.many / prompts.lanes
    spread = choose(has, np.minimum(load.ramp_s, cycle), cycle)
    found = []
    for wave in range(len(shares)):
        random = 0.0 if wave == 0 else width * width / (width * width + now.full * now.full)
        chance = np.minimum(width / np.maximum(spread, 1e-9), 1.0)
        found.append(_wave(scheduler, load, prompts, now, admitted, first, spread, (has, random, chance * chance)))
        if wave < len(jumps):
            busy = np.maximum(spread, served)
            spread = choose(has, np.minimum(np.sqrt(busy * busy + jumps[wave] * width * width), cycle), cycle)
    waits, owns, nets = zip(*found, strict=True)
    return waits, owns, nets, shares


def _wave(
    scheduler: Scheduler,
    load: Load,
    prompts: Prompts,
    now: _Round,
    admitted: Any,
    first: Any,
    spread: Any,
    wave: tuple[Any, Any, Any] | None,
) -> tuple[Any, Any, Any]:
    """One wave whose requests come over `spread` seconds: wait in line, own passes, what a prompt takes from decoding.

    `wave`: whether the row has waves, how far chance parts those who ended together, and how random the arrivals are.

    Equation: docs/model.md, eq. (38).
    """
    most = np.maximum(prompts.many, 1.0)
    # Prompts that come while one pass runs, or until the mailbox is read, share the next.
    looked = np.maximum(now.one, choose(scheduler.poll_steps > 1.0, scheduler.poll_steps * now.step, 0.0))
    met = np.minimum(np.maximum(admitted / np.maximum(spread, 1e-9) * looked / prompts.lanes, 1.0), most)
    steady = np.minimum(np.maximum(np.maximum(met, _merged(scheduler, load, prompts, now, admitted, first)), 1.0), most)
    if wave is None:
        together = steady
        chance: Any = 1.0
    else:
        has, random, rare = wave
        together = choose(has, random * steady + (1.0 - random) * most, steady)
        chance = choose(has, rare, 1.0)
    packed = np.minimum(np.maximum((together - 1.0) / np.maximum(prompts.many - 1.0, 1e-9), 0.0), 1.0) * (
        prompts.many > 1.0
    )
    own = now.one + np.maximum(now.full - now.one, 0.0) * packed
    served_full = now.full / prompts.many / prompts.lanes
    spared = spared_share(together, prompts.many)
    one_served = now.one / prompts.lanes
    share = one_served + (served_full - one_served) * spared
    used = np.minimum(admitted * share / np.maximum(spread, 1e-9), _MOST_LOAD)
    line = (admitted - 1.0) * served_full
    beyond = np.maximum(line - spread, 0.0) / 2.0
    random_wait = np.minimum(chance * share * used / (2.0 * (1.0 - used)), line / 2.0)
    net = now.net_one + (now.net_full - now.net_one) * spared
    return np.maximum(beyond, random_wait), own, net


def _merged(scheduler: Scheduler, load: Load, prompts: Prompts, now: _Round, admitted: Any, first: Any) -> Any:
    """Prompts of a pass in a loop that never rests: groups that wait merge, and those of one pass never part.

    A pass takes `d + b·m`, and a cycle `K + d + b·m` holds c/m of them: the root of `b·m² + (K + d − c·b)·m − c·d`.

    Equation: docs/model.md, eq. (38).
    """
    each = np.maximum(now.full - now.one, 1e-9) / np.maximum(prompts.many - 1.0, 1e-9)
    start = np.maximum(now.one - each, 1e-9)
    on_lane = admitted / prompts.lanes
    rest = first + scheduler.steps_waited * now.step + (load.output_tokens - 1.0) * now.step
    half = rest + start - on_lane * each
    return (np.sqrt(half * half + 4.0 * each * on_lane * start) - half) / (2.0 * each)


def quantiles_s(loop: Loop, shares: tuple[float, ...]) -> tuple[Any, ...]:
    """Quantiles of TTFT at these shares: in each wave waits are anything from none to twice their mean.

    The mixture of their uniform distributions, exactly: piecewise linear between the ends; seconds.

    Equation: docs/model.md, eq. (40). Source: step simulation, P99 within a tenth (tests/engine/serving).

    >>> from estimator.engine.forward_pass import worked_key
    >>> from estimator.engine.serving import worked_loop
    >>> load = Load(input_tokens=2000.0, output_tokens=200.0, concurrency=8.0, context_tokens=2100.0)
    >>> loop = closed_loop(worked_key.folded(), worked_loop.scheduler(), load, np.float64(8.0))
    >>> [round(float(seconds) * 1e3) for seconds in (loop.ttft_s, *quantiles_s(loop, (0.5, 0.99)))]
    [70, 70, 86]
    """
    lows = [loop.first_s + own for own in loop.owns_s]
    spans = [np.maximum(2.0 * (loop.steps_s + wait), 1e-12) for wait in loop.waits_s]
    if len(lows) == 1:
        return tuple(lows[0] + spans[0] * share for share in shares)
    ends = np.sort(np.stack(np.broadcast_arrays(*lows, *(a + b for a, b in zip(lows, spans, strict=True)))), axis=0)
    below = sum(
        weight * np.clip((ends - low) / span, 0.0, 1.0)
        for weight, low, span in zip(loop.shares, lows, spans, strict=True)
    )
    found = []
    for share in shares:
        value = ends[-1]
        for at in range(len(ends) - 1, 0, -1):
            step = np.maximum(below[at] - below[at - 1], 1e-12)
            inside = ends[at - 1] + (ends[at] - ends[at - 1]) * np.clip((share - below[at - 1]) / step, 0.0, 1.0)
            value = choose(below[at] >= share, inside, value)
        found.append(value)
    return tuple(found)
