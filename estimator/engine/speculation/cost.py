"""What speculation costs on a GPU: verifying several tokens of each sequence in one step, and drafting them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from estimator.engine.forward_pass.launch import eager_s
from estimator.engine.forward_pass.operators import Folded, decode_linear_s, decode_pass_s, slowest_rank
from estimator.engine.forward_pass.roofline import Floor, step_floor
from estimator.engine.serving.steps import micro_batch
from estimator.engine.speculation.gain import speed_up, tokens_per_pass
from estimator.engine.speed.prepared import PreparedKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """Speculative decoding at each number of sequences; `speedup` below 1 slows down.

    `verify_cost_ratio` and `draft_cost_ratio` are times over a plain decode step: of one pass that verifies, and of one
    drafted token.
    """

    tokens_per_pass: float
    speedup: Any
    verify_cost_ratio: Any
    draft_cost_ratio: Any


def verify_step_s(folded: Folded, sequences: Any, drafted: float, context_tokens: Any) -> Any:
    """Seconds of a step over `drafted + 1` tokens of each sequence: products grow, the cache is read once.

    Args:
        folded: constants of the target model.
        sequences: sequences of the replica.
        drafted: drafted tokens of each.
        context_tokens: cached tokens of each.

    Equation: docs/model.md, eq. (50). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> folded = worked_key.folded()
    >>> plain_s = verify_step_s(folded, 8.0, 0.0, 1000.0)
    >>> round(float(verify_step_s(folded, 8.0, 3.0, 1000.0) / plain_s), 3)
    1.021
    """
    micro = micro_batch(sequences, folded.pipeline)
    tokens = micro * (drafted + 1.0)
    linear = decode_linear_s(folded, context_tokens)
    cache = linear - folded.decode_token_s
    once = folded.decode_token_s + cache / (drafted + 1.0)
    # The host samples and checks every verified token, so that its time is per token here.
    gpu = eager_s(decode_pass_s(folded, tokens, once), folded.step_launch_s)
    return gpu + folded.step_s + folded.per_sequence_s * slowest_rank(folded, tokens)


def _verify_floor_s(floor: Floor, sequences: Any, drafted: float, context_tokens: Any, share: Any) -> Any:
    """The same on the roofline: FLOPs of every token, bytes of one pass that touches the experts of all tokens."""
    one = step_floor(floor, sequences, context_tokens)
    many = step_floor(floor, sequences * (drafted + 1.0), context_tokens)
    empty = step_floor(floor, sequences, 0.0)
    weights = step_floor(floor, sequences * (drafted + 1.0), 0.0)
    memory = one.memory_s + (weights.memory_s - empty.memory_s)
    return np.maximum(memory, many.compute_s / share)


def plain_step_s(prepared: PreparedKey, sequences: Any, context_tokens: Any) -> Any:
    """Seconds of a decode step of a key whatever its kind; the ceiling's where nothing else is known.

    Equation: docs/model.md, eq. (50). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> from estimator.engine.specs import EngineProfile, IdealConstants, Parallelism, Precision
    >>> from estimator.engine.speed.prepared import Key, prepare
    >>> key = Key(
    ...     architecture=worked_key.model(),
    ...     gpu=worked_key.H100,
    ...     engine=EngineProfile(slug="ideal", engine="ideal", kind="ideal", ideal=IdealConstants()),
    ...     precision=Precision(),
    ...     parallelism=Parallelism(),
    ... )
    >>> round(float(plain_step_s(prepare(key), 1.0, 8000.0)) * 1e3, 2)
    5.11
    """
    if prepared.serving is not None:
        return verify_step_s(prepared.serving, sequences, 0.0, context_tokens)
    share = prepared.key.engine.ideal.decode_compute_efficiency if prepared.key.engine.ideal else 1.0
    return step_floor(prepared.ideal or prepared.ceiling, sequences, context_tokens).time_s(share)


def speculate(
    target: PreparedKey,
    *,
    sequences: Any,
    context_tokens: Any,
    acceptance_rate: float,
    draft_tokens: int,
    draft_cost_ratio: float | None,
    draft: PreparedKey | None = None,
) -> Speculation:
    """Gain of speculation at a number of sequences.

    `tokens_per_pass / (verify + k · draft)`: verify grows with sequences times k once products bind, so that the gain
    falls and reverses as the batch grows.

    Args:
        target: the model that is served.
        sequences: sequences that decode at once.
        context_tokens: cached tokens of each.
        acceptance_rate: chance that one drafted token is accepted.
        draft_tokens: tokens drafted a pass.
        draft_cost_ratio: time of one drafted token over a plain step; None where `draft` gives it.
        draft: the drafting model on the same GPUs.

    Equation: docs/model.md, eq. (49). Source: Leviathan et al. 2023, arXiv 2211.17192.
    """
    plain = plain_step_s(target, sequences, context_tokens)
    if target.serving is not None:
        verify = verify_step_s(target.serving, sequences, float(draft_tokens), context_tokens)
    else:
        share = target.key.engine.ideal.decode_compute_efficiency if target.key.engine.ideal else 1.0
        floor = target.ideal or target.ceiling
        verify = _verify_floor_s(floor, sequences, float(draft_tokens), context_tokens, share)
    cost: Any = draft_cost_ratio if draft_cost_ratio is not None else 0.0
    if draft is not None:
        cost = plain_step_s(draft, sequences, context_tokens) / plain
    ratio = verify / plain
    return Speculation(
        tokens_per_pass=float(tokens_per_pass(acceptance_rate=acceptance_rate, draft_tokens=draft_tokens)),
        speedup=speed_up(
            acceptance_rate=acceptance_rate,
            draft_tokens=draft_tokens,
            draft_cost_ratio=cost,
            verify_cost_ratio=ratio,
        ),
        verify_cost_ratio=ratio,
        draft_cost_ratio=cost,
    )


def reversal_sequences(sequences: Any, speedup: Any) -> int | None:
    """The smallest number of sequences, of those tried in rising order, at which speculation slows down.

    Equation: docs/model.md, eq. (49). Source: Leviathan et al. 2023, theorem 3.8.

    >>> reversal_sequences([1, 8, 64, 256], [1.8, 1.4, 0.9, 0.7])
    64
    """
    slower = np.flatnonzero(np.asarray(speedup) < 1.0)
    return int(np.asarray(sequences)[slower[0]]) if len(slower) else None
