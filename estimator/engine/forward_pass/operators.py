"""The calibrated operator model of one forward pass, with everything that does not depend on the load folded once."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimator.engine.codes import Binding
from estimator.engine.elementwise import any_of, choose
from estimator.engine.forward_pass.launch import eager_s
from estimator.engine.forward_pass.roofline import expert_coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """A key (architecture, GPU, engine, precision, parallelism) folded to seconds; fields are numbers or arrays.

    Tuples are slots: each distinct shape of matrix product, of experts, and each distinct attention window has one.
    Names in `_s2` are squares of seconds: transfer and products of one kernel overlap as the root of their squares.
    """

    gemm_memory_s2: tuple[Any, ...]
    gemm_token_s2: tuple[Any, ...]
    expert_memory_s2: tuple[Any, ...]
    expert_token_s2: tuple[Any, ...]
    log_miss: tuple[Any, ...]
    expert_moved_token_s: Any
    routing_exponent: Any
    head_memory_s2: Any
    head_token_s2: Any
    windows: tuple[Any, ...]
    cache_read_s: tuple[Any, ...]
    prefill_attention_s: tuple[Any, ...]
    long_prefill_attention_s: tuple[Any, ...]
    decode_fixed_s: Any
    decode_token_s: Any
    prefill_fixed_s: Any
    prefill_token_s: Any
    head_fixed_s: Any
    link_fixed_s: Any
    link_token_s: Any
    prefill_half_length_tokens: Any
    attention_dp: Any
    unevenness: Any
    all_rank_token_s: Any
    prefill_spread: Any
    offline_prefill_spread: Any
    pipeline: Any
    launch_s: Any
    launch_pieces_s: Any
    step_launch_s: Any
    step_s: Any
    per_sequence_s: Any
    pipeline_bubble: Any
    batched_tokens: Any


def decode_linear_s(folded: Folded, context_tokens: Any) -> Any:
    """Seconds of a decode pass per sequence of a rank: cache reads at this context, elementwise work, links, state.

    Equation: docs/model.md, eq. (20). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> round(float(decode_linear_s(worked_key.folded(), 1000.0)) * 1e6, 1)
    47.7
    """
    linear = folded.decode_token_s
    for window, read in zip(folded.windows, folded.cache_read_s, strict=True):
        linear = linear + read * np.minimum(context_tokens, window)
    return linear


def decode_pass_s(folded: Folded, tokens: Any, linear_s: Any) -> Any:
    """Seconds of one decode pass over `tokens` sequences of all attention-data ranks, n of them on the slowest (68).

    `fixed + n·linear + Σ sqrt(read² + (product·n)²)` over matrix products, head and touched experts; `linear_s` is
    `decode_linear_s` at the context.

    Equation: docs/model.md, eq. (21). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> folded = worked_key.folded()
    >>> round(float(decode_pass_s(folded, 8.0, decode_linear_s(folded, 1000.0))) * 1e3, 2)
    6.47
    """
    own = slowest_rank(folded, tokens)
    square = own * own
    total = folded.decode_fixed_s + own * linear_s + np.sqrt(folded.head_memory_s2 + folded.head_token_s2 * square)
    for memory, token in zip(folded.gemm_memory_s2, folded.gemm_token_s2, strict=True):
        total = total + np.sqrt(memory + token * square)
    return with_experts_s(folded, total, tokens)


def slowest_rank(folded: Folded, sequences: Any) -> Any:
    """Sequences on the fullest of the data-parallel ranks: the mean n and `u·sqrt(2·ln(dp)·n)` more, all at most.

    Equation: docs/model.md, eq. (68). Source: the largest of dp Poisson counts, with a fitted share u.

    >>> from estimator.engine.forward_pass import worked_key
    >>> float(slowest_rank(worked_key.folded(), 8.0))
    8.0
    """
    own = sequences / folded.attention_dp
    return np.minimum(own + folded.unevenness * np.sqrt(own), sequences)


def offline_ranks(folded: Folded) -> Folded:
    """The constants with prompts spread over the ranks as with the cache always full."""
    return replace(folded, prefill_spread=folded.offline_prefill_spread)


def prefill_attention_s(folded: Folded, new_tokens: Any, cached_tokens: Any = 0.0) -> Any:
    """Seconds of attention of one prompt of `new_tokens` behind `cached_tokens`: each new token over the mean context.

    `4·(l + 400)·min(cached + l/2, window)·width / (share·peak)`: short prompts reach less of the peak, `l / (l + 400)`.
    Sparse latent attention multiplies in the latent space, over blocks of heads, where the prompt is longer than what
    its index picks.

    Equation: docs/model.md, eq. (22). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> round(float(prefill_attention_s(worked_key.folded(), 2000.0)) * 1e3, 2)
    1.69
    """
    middle = cached_tokens + 0.5 * new_tokens
    attention: Any = 0.0
    end = cached_tokens + new_tokens
    slots = zip(folded.windows, folded.prefill_attention_s, folded.long_prefill_attention_s, strict=True)
    for window, short, long in slots:
        attention = attention + choose(end > window, long, short) * np.minimum(middle, window)
    return attention * (new_tokens + folded.prefill_half_length_tokens)


def prefill_body_s(folded: Folded, prompts: Any, new_tokens: Any, attention_s: Any) -> Any:
    """Seconds of one prefill of `prompts` prompts whose attention takes `attention_s` each.

    Without the head and without the host's launch floor.

    Equation: docs/model.md, eq. (23). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> folded = worked_key.folded()
    >>> attention_s = prefill_attention_s(folded, 2000.0)
    >>> round(float(prefill_body_s(folded, 1.0, 2000.0, attention_s)) * 1e3, 1)
    41.9
    """
    tokens = prompts * new_tokens
    square = tokens * tokens
    linear = folded.prefill_token_s + folded.all_rank_token_s * folded.prefill_spread
    total = folded.prefill_fixed_s + tokens * linear + prompts * attention_s
    for memory, token in zip(folded.gemm_memory_s2, folded.gemm_token_s2, strict=True):
        total = total + np.sqrt(memory + token * square)
    return with_experts_s(folded, total, tokens * folded.prefill_spread)


def prefill_head_s(folded: Folded, prompts: Any) -> Any:
    """Seconds of the head over the last position of each prompt.

    Equation: docs/model.md, eq. (24). Source: Reference calibration of 2026-11; constants in docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> round(float(prefill_head_s(worked_key.folded(), 1.0)) * 1e6)
    360
    """
    return folded.head_fixed_s + np.sqrt(folded.head_memory_s2 + folded.head_token_s2 * prompts * prompts)


def with_experts_s(folded: Folded, total: Any, tokens: Any) -> Any:
    """Adds the routed experts over `tokens` of all ranks: those touched read, pairs multiplied, activations moved.

    Equation: docs/model.md, eq. (67). Source: constants of docs/constants.md.

    >>> from estimator.engine.forward_pass import worked_key
    >>> float(with_experts_s(worked_key.folded(), 0.01, 8.0))  # a dense model has none
    0.01
    """
    for read, product in _expert_squares(folded, tokens):
        total = total + np.sqrt(read + product)
    return total + folded.expert_moved_token_s * tokens


def _expert_squares(folded: Folded, tokens: Any) -> list[tuple[Any, Any]]:
    """Squares of the seconds to read touched experts and to multiply, by slot; `tokens^g` choose independently."""
    if not folded.log_miss:
        return []
    independent = np.maximum(tokens, 1e-9)
    if any_of(folded.routing_exponent != 1.0):
        independent = np.power(independent, folded.routing_exponent)
    found = []
    for memory, token, miss in zip(folded.expert_memory_s2, folded.expert_token_s2, folded.log_miss, strict=True):
        touched = expert_coverage(miss, independent)
        found.append((memory * touched * touched, token * tokens * tokens))
    return found


def step_parts_s(folded: Folded, sequences: Any, linear_s: Any) -> tuple[Any, dict[Binding, Any], Any]:
    """Seconds of one decode step of a micro-batch, its parts by what they wait for, and the cache reads among them.

    A kernel counts wholly to memory or to compute, whichever is longer; the parts add up to the step.

    Equation: docs/model.md, eq. (21).
    """
    own = slowest_rank(folded, sequences)
    square = own * own
    elementwise = folded.decode_token_s - folded.link_token_s
    cache = own * (linear_s - folded.decode_token_s)
    memory = cache + own * elementwise + folded.expert_moved_token_s * sequences
    compute: Any = 0.0
    pairs = [(folded.head_memory_s2, folded.head_token_s2 * square)]
    pairs += [(m, t * square) for m, t in zip(folded.gemm_memory_s2, folded.gemm_token_s2, strict=True)]
    pairs += _expert_squares(folded, sequences)
    for read, product in pairs:
        both = np.sqrt(read + product)
        by_memory = both * (read >= product)
        memory = memory + by_memory
        compute = compute + (both - by_memory)
    overhead = folded.decode_fixed_s - folded.link_fixed_s + folded.step_s + folded.per_sequence_s * own
    link = folded.link_fixed_s + own * folded.link_token_s
    parts = {
        Binding.MEMORY_BANDWIDTH: memory,
        Binding.COMPUTE: compute,
        Binding.INTERCONNECT: link,
        Binding.OVERHEAD: overhead,
    }
    step = memory + compute + link + overhead
    if any_of(folded.step_launch_s):
        host = folded.step_s + folded.per_sequence_s * own
        launched = eager_s(step - host, folded.step_launch_s) + host
        longer = choose(folded.step_launch_s > 0.0, launched, step)
        parts[Binding.OVERHEAD] = overhead + (longer - step)
        step = longer
    return step, parts, cache
