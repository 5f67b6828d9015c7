"""Does it fit, for how many sequences of what length, what binds, and what setting nearby would fit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from estimator.engine.memory.kv_allocation import UNLIMITED_TOKENS
from estimator.engine.memory.ledger import MemoryPlan, MemoryTerm, RankMemory, ranks

FITS_SHARE = 0.95
"""Above this share of its capacity the cache counts as tight (02-api)."""
_MOST_TOKENS = 1 << 24
_CURVE = (1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576)


Held = tuple[RankMemory, float]
"""A rank and the bytes of its cache."""


class Verdict(StrEnum):
    """Fits with room, tight (95 to 100 % of the cache capacity), or not at all."""

    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does_not_fit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Where the memory of the worst rank goes; the terms sum exactly to `memory_bytes`."""

    memory_bytes: int
    usable_bytes: int
    unmanaged_bytes: int
    weights_bytes: int
    runtime_overhead_bytes: int
    activation_bytes: int
    cuda_graph_bytes: int
    kv_cache_bytes: int
    slack_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """At this context length so many sequences fit into one replica."""

    context_tokens: int
    sequences: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFit:
    """The answer for one load on one replica.

    `needed_bytes` and `capacity_bytes` are those of the worst rank; sequences and tokens are those of the replica.
    `effective_tokens` is what the cache holds when every sequence has the chosen length. `max_context_tokens` is at
    the asked number of sequences, `max_sequences` at the asked length (cache alone, not the engine's own limit).
    """

    verdict: Verdict
    feasible: bool
    binding_term: MemoryTerm
    rank: RankMemory
    ledger: Ledger
    sequences: int
    context_tokens: int
    bytes_per_sequence: float
    needed_bytes: int
    capacity_bytes: int
    capacity_tokens: int
    effective_tokens: int
    max_sequences: int
    max_context_tokens: int
    engine_sequences_limit: int
    observed: bool
    curve: tuple[CurvePoint, ...]


def memory_fit(
    plan: MemoryPlan,
    *,
    sequences: int,
    context_tokens: int,
    window_tokens: int | None = None,
    with_curve: bool = True,
) -> MemoryFit:
    """Fit `sequences` sequences of `context_tokens` tokens into one replica.

    Args:
        plan: model, GPU memory, policy, formats, degrees and overrides.
        sequences: sequences at once in the replica.
        context_tokens: length each of them reaches.
        window_tokens: the model's longest context; bounds `max_context_tokens` and the curve.
        with_curve: False leaves the curve empty (for trying settings out).

    Returns:
        Verdict, ledger of the worst rank, capacities and the curve of length against sequences.
    """
    candidates = ranks(plan)
    dp = plan.parallelism.dp
    share = -(-sequences // dp)
    budgets = [_capacity(plan, rank) for rank in candidates]
    needs = [share * rank.allocation.sequence_bytes(context_tokens) for rank in candidates]
    index = min(range(len(candidates)), key=lambda i: budgets[i] - needs[i])
    rank, capacity, need = candidates[index], budgets[index], needs[index]
    each = rank.allocation.sequence_bytes(context_tokens)
    weights_fit = rank.kv_budget_bytes >= 0
    feasible = weights_fit and need <= capacity
    limit = rank.max_num_seqs * dp
    room = min(
        int(max(budget, 0) // max(candidate.allocation.sequence_bytes(context_tokens), 1.0)) * dp
        for candidate, budget in zip(candidates, budgets, strict=True)
    )
    held = list(zip(candidates, budgets, strict=True))
    longest = longest_context(plan, sequences=sequences, at_most=window_tokens, held=held)
    return MemoryFit(
        verdict=_verdict(feasible, need, capacity),
        feasible=feasible,
        binding_term=_binding(rank, feasible, need, capacity, room, limit, weights_fit),
        rank=rank,
        ledger=_ledger(rank, round(need)),
        sequences=sequences,
        context_tokens=context_tokens,
        bytes_per_sequence=each,
        needed_bytes=round(need),
        capacity_bytes=max(round(capacity), 0),
        capacity_tokens=_tokens(plan, rank, capacity, context_tokens) * dp,
        effective_tokens=room * context_tokens,
        max_sequences=room,
        max_context_tokens=longest,
        engine_sequences_limit=limit,
        observed=plan.overrides.kv_cache_tokens_observed is not None,
        curve=_curve(plan, held, window_tokens, context_tokens) if with_curve else (),
    )


def longest_context(
    plan: MemoryPlan, *, sequences: int, at_most: int | None = None, held: Sequence[Held] | None = None
) -> int:
    """The longest length in tokens at which so many sequences fit, 0 when none does.

    Where a whole prompt is one batch the activations grow with it, and an engine that starts to chunk above a length
    takes longer sequences than just below it: the longest length is looked for above that point first.

    Args:
        plan: model, GPU memory, policy, formats, degrees and overrides.
        sequences: sequences at once in the replica.
        at_most: the model's window, or the length not to pass; None for no limit.
        held: the plan's ranks with their cache bytes, where they are known already.
    """
    share = -(-sequences // plan.parallelism.dp)
    if not grows_with_prompt(plan):
        found = _longest_held(held if held is not None else _held(plan), share)
        return found if at_most is None else min(found, at_most)
    top = UNLIMITED_TOKENS if at_most is None else at_most
    turn = plan.policy.chunk_above_tokens
    if turn is not None and top > turn:
        found = _longest_held(_held(with_longest(plan, turn + 1)), share)
        if found > turn:
            return min(found, top)
        top = turn
    return _longest_unchunked(plan, sequences, min(top, _MOST_TOKENS))


def grows_with_prompt(plan: MemoryPlan) -> bool:
    """Whether the length of the prompts decides how many tokens one pass takes, and so the activations."""
    return plan.policy.batched_tokens_follow_context and plan.overrides.max_batched_tokens is None


def _longest_unchunked(plan: MemoryPlan, sequences: int, top: int) -> int:
    """The longest whole prompt that fits: both cache and activations grow with it, so bisection finds it."""
    low, high = 0, top + 1
    while high - low > 1:
        middle = (low + high) // 2
        if shortfall_bytes(with_longest(plan, middle), sequences=sequences, context_tokens=middle) <= 0:
            low = middle
        else:
            high = middle
    return low


def shortfall_bytes(plan: MemoryPlan, *, sequences: int, context_tokens: int) -> float:
    """Bytes that the worst rank lacks for the load, 0 where it fits; the first question of `memory_fit` alone."""
    share = -(-sequences // plan.parallelism.dp)
    lacking = 0.0
    for rank in ranks(plan):
        needed = share * rank.allocation.sequence_bytes(context_tokens)
        lacking = max(lacking, needed - _capacity(plan, rank), -float(rank.kv_budget_bytes))
    return lacking


def _capacity(plan: MemoryPlan, rank: RankMemory) -> float:
    """Bytes of the cache on a rank: the budget, or what the server printed (tokens of the replica)."""
    observed = plan.overrides.kv_cache_tokens_observed
    if observed is None:
        return float(rank.kv_budget_bytes)
    per_rank = observed / plan.parallelism.dp
    whole = rank.allocation.bytes_per_token + sum(rank.allocation.window_bytes)
    if not rank.allocation.window_bytes:
        return per_rank * rank.allocation.bytes_per_token
    # a hybrid cache prints the tokens of sequences of the longest length the server takes
    longest = max(plan.longest_tokens, 1)
    return min(per_rank / longest * rank.allocation.sequence_bytes(longest), per_rank * whole)


def _tokens(plan: MemoryPlan, rank: RankMemory, capacity: float, context_tokens: int) -> int:
    """Tokens the cache holds on a rank: whole blocks, or with windows and states those of sequences of this length."""
    observed = plan.overrides.kv_cache_tokens_observed
    if observed is not None:
        return observed // plan.parallelism.dp
    allocation = rank.allocation
    if capacity <= 0:
        return 0
    if not allocation.window_bytes and not allocation.fixed_bytes and allocation.bytes_per_token:
        block = allocation.block_tokens
        return int(capacity / (block * allocation.bytes_per_token)) * block
    each = allocation.sequence_bytes(context_tokens)
    slots = -(-context_tokens // allocation.block_tokens) * allocation.block_tokens
    return int(capacity / each * slots) if each else UNLIMITED_TOKENS


def _verdict(feasible: bool, need: float, capacity: float) -> Verdict:
    if not feasible:
        return Verdict.DOES_NOT_FIT
    return Verdict.FITS if need <= FITS_SHARE * capacity else Verdict.TIGHT


def _ledger(rank: RankMemory, need: int) -> Ledger:
    """The ledger with this much cache; the slack closes the sum exactly."""
    return Ledger(
        memory_bytes=rank.memory_bytes,
        usable_bytes=rank.usable_bytes,
        unmanaged_bytes=rank.unmanaged_bytes,
        weights_bytes=rank.weights_bytes,
        runtime_overhead_bytes=rank.runtime_overhead_bytes,
        activation_bytes=rank.activation_bytes,
        cuda_graph_bytes=rank.cuda_graph_bytes,
        kv_cache_bytes=need,
        slack_bytes=rank.kv_budget_bytes - need,
    )


def _binding(
    rank: RankMemory, feasible: bool, need: float, capacity: float, room: int, limit: int, weights_fit: bool
) -> MemoryTerm:
    """What limits: the first term whose running sum passes the usable bytes, else what growing load exhausts first."""
    if feasible:
        return MemoryTerm.KV_CACHE if room <= limit else MemoryTerm.MAX_NUM_SEQS
    if weights_fit:
        return MemoryTerm.KV_CACHE
    running = 0
    for term, size in (
        (MemoryTerm.WEIGHTS, rank.weights_bytes),
        (MemoryTerm.RUNTIME_OVERHEAD, rank.runtime_overhead_bytes),
        (MemoryTerm.ACTIVATION, rank.activation_bytes),
        (MemoryTerm.CUDA_GRAPH, rank.cuda_graph_bytes),
    ):
        running += size
        if running > rank.usable_bytes:
            return term
    return MemoryTerm.KV_CACHE


def _curve(plan: MemoryPlan, held: Sequence[Held], window: int | None, context: int) -> tuple[CurvePoint, ...]:
    """Sequences against length, at powers of two up to the model's window, and at the asked length."""
    longest = window if window is not None else max(131_072, context)
    lengths = sorted({length for length in (*_CURVE, context, longest) if length <= longest} or {context})
    grows = grows_with_prompt(plan)
    points = []
    for length in lengths:
        fitting = min(
            int(max(budget, 0) // max(rank.allocation.sequence_bytes(length), 1.0)) * plan.parallelism.dp
            for rank, budget in (_held(with_longest(plan, length)) if grows else held)
        )
        points.append(CurvePoint(context_tokens=length, sequences=fitting))
    return tuple(points)


def _held(plan: MemoryPlan) -> list[Held]:
    return [(rank, _capacity(plan, rank)) for rank in ranks(plan)]


def _longest_held(held: Sequence[Held], share: int) -> int:
    return min(rank.allocation.longest_tokens(max(budget, 0) / share) for rank, budget in held)


def with_longest(plan: MemoryPlan, longest_tokens: int) -> MemoryPlan:
    """The plan for a server that takes sequences of this length."""
    return replace(plan, longest_tokens=longest_tokens)
