"""Does it fit, for how many sequences of what length, what binds, and what setting nearby would fit."""

from dataclasses import dataclass
from enum import StrEnum

from estimator.engine.memory.kv_allocation import UNLIMITED_TOKENS
from estimator.engine.memory.ledger import MemoryTerm, RankMemory, ranks
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.memory.replica_cache import (
    ReplicaCache,
    cache_bytes,
    grows_with_prompt,
    replica_cache,
    with_longest,
)
from estimator.engine.memory.startup_lines import printed_tokens

# Above this share of its capacity the cache counts as tight.
FITS_SHARE = 0.95
_MOST_TOKENS = 1 << 24
_CURVE = (1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576)


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
    worst = _worst(plan, sequences, context_tokens)
    rank, capacity, need, room, cache = worst.rank, worst.capacity, worst.need, worst.room, worst.cache
    feasible = sequences <= room
    return MemoryFit(
        verdict=_verdict(feasible, need, capacity),
        feasible=feasible,
        binding_term=_binding(rank, feasible, capacity, room, cache.engine_sequences),
        rank=rank,
        ledger=_ledger(rank, round(need)),
        sequences=sequences,
        context_tokens=context_tokens,
        bytes_per_sequence=rank.allocation.sequence_bytes(context_tokens),
        needed_bytes=round(need),
        capacity_bytes=max(round(capacity), 0),
        capacity_tokens=_tokens(plan, rank, capacity, context_tokens) * cache.attention_dp,
        effective_tokens=room * context_tokens,
        max_sequences=room,
        max_context_tokens=longest_context(plan, sequences=sequences, at_most=window_tokens, cache=cache),
        engine_sequences_limit=cache.engine_sequences,
        observed=cache.observed,
        curve=_curve(plan, cache, window_tokens, context_tokens) if with_curve else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefFit:
    """What a suggestion says of a plan, as `MemoryFit` does."""

    verdict: Verdict
    max_sequences: int
    max_context_tokens: int


def brief_fit(
    plan: MemoryPlan, *, sequences: int, context_tokens: int, window_tokens: int | None = None
) -> BriefFit | None:
    """The fit of a plan in three figures, None where the load does not fit; the same figures as `memory_fit` says."""
    if shortfall_bytes(plan, sequences=sequences, context_tokens=context_tokens) > 0:
        return None
    worst = _worst(plan, sequences, context_tokens)
    return BriefFit(
        verdict=_verdict(sequences <= worst.room, worst.need, worst.capacity),
        max_sequences=worst.room,
        max_context_tokens=longest_context(plan, sequences=sequences, at_most=window_tokens, cache=worst.cache),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worst:
    """The rank that has least left, with the bytes that its cache has and that the load needs, and the replica's room.

    `room`: sequences of this length that the cache of the replica holds.
    """

    rank: RankMemory
    capacity: float
    need: float
    room: int
    cache: ReplicaCache


def _worst(plan: MemoryPlan, sequences: int, context_tokens: int) -> _Worst:
    candidates, cache = ranks(plan), replica_cache(plan)
    share = -(-sequences // cache.attention_dp)
    budgets = [stage.budget_bytes for stage in cache.stages]
    needs = [rank.allocation.load_bytes(share, context_tokens) for rank in candidates]
    index = min(range(len(candidates)), key=lambda i: budgets[i] - needs[i])
    room = int(cache.sequences(context_tokens))
    return _Worst(rank=candidates[index], capacity=budgets[index], need=needs[index], room=room, cache=cache)


def longest_context(
    plan: MemoryPlan, *, sequences: int, at_most: int | None = None, cache: ReplicaCache | None = None
) -> int:
    """The longest length in tokens at which so many sequences fit, 0 when none does.

    Where a whole prompt is one batch the activations grow with it, and an engine that starts to chunk above a length
    takes longer sequences than just below it: the longest length is looked for above that point first.

    Args:
        plan: model, GPU memory, policy, formats, degrees and overrides.
        sequences: sequences at once in the replica.
        at_most: the model's window, or the length not to pass; None for no limit.
        cache: the plan's cache, where it is known already.
    """
    share = -(-sequences // plan.parallelism.dp)
    if not grows_with_prompt(plan.policy, plan.overrides):
        found = _longest_held(cache or replica_cache(plan), share)
        return found if at_most is None else min(found, at_most)
    top = UNLIMITED_TOKENS if at_most is None else at_most
    turn = plan.policy.chunk_above_tokens
    if turn is not None and top > turn:
        found = _longest_held(replica_cache(with_longest(plan, turn + 1)), share)
        if found > turn:
            return min(found, top)
        top = turn
    return _longest_unchunked(plan, sequences, min(top, _MOST_TOKENS))


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
    lacking = (rank.allocation.load_bytes(share, context_tokens) - cache_bytes(plan, rank) for rank in ranks(plan))
    return float(max(0.0, *lacking))


def _tokens(plan: MemoryPlan, rank: RankMemory, capacity: float, context_tokens: int) -> int:
    """Tokens the cache holds on a rank as its engine prints them, or those of sequences of this length."""
    observed = plan.overrides.kv_cache_tokens_observed
    if observed is not None:
        return observed // plan.parallelism.dp
    if capacity <= 0:
        return 0
    longest = plan.overrides.max_model_len or context_tokens
    printed = printed_tokens(plan, rank, available_bytes=capacity, max_model_len=longest)
    if printed is not None:
        return printed
    held = float(rank.allocation.mean_sequences_within(capacity, context_tokens))
    return min(int(held * context_tokens), UNLIMITED_TOKENS)


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


def _binding(rank: RankMemory, feasible: bool, capacity: float, room: int, limit: int) -> MemoryTerm:
    """What limits: the first term whose running sum passes the usable bytes, else what growing load exhausts first."""
    if feasible:
        return MemoryTerm.KV_CACHE if room <= limit else MemoryTerm.MAX_NUM_SEQS
    if capacity >= 0:
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


def _curve(plan: MemoryPlan, cache: ReplicaCache, window: int | None, context: int) -> tuple[CurvePoint, ...]:
    """Sequences against length, at powers of two up to the model's window, and at the asked length."""
    longest = window if window is not None else max(131_072, context)
    lengths = sorted({length for length in (*_CURVE, context, longest) if length <= longest} or {context})
    return tuple(_curve_point(plan, cache, length, kept=length in _CURVE or length == window) for length in lengths)


def _curve_point(plan: MemoryPlan, cache: ReplicaCache, length: int, *, kept: bool) -> CurvePoint:
    """Sequences of a length; those of the lengths that every curve has are counted once a plan."""
    found = plan.kept.get(("curve", length))
    if isinstance(found, CurvePoint):
        return found
    if grows_with_prompt(plan.policy, plan.overrides):
        cache = replica_cache(with_longest(plan, length))
    point = CurvePoint(context_tokens=length, sequences=int(cache.sequences(length)))
    if kept:
        plan.kept["curve", length] = point
    return point


def _longest_held(cache: ReplicaCache, share: int) -> int:
    return min(stage.allocation.longest_tokens(max(stage.budget_bytes, 0), share) for stage in cache.stages)
