"""The KV cache of a replica: bytes of each rank, and how many sequences of a length it holds.

The one place where a capacity in sequences is counted; memory fit, speed, sizing, sweeps, calibration and the accuracy
table all ask here, so that they cannot say different things of the same load.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from estimator.engine.memory.kv_allocation import KvAllocation, least
from estimator.engine.memory.ledger import RankMemory, ranks
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.memory.policy import MemoryPolicy
from estimator.engine.memory.startup_lines import bytes_of_printed
from estimator.engine.options import MemoryOverrides


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCache:
    """The cache of one rank: its bytes (0 or less hold nothing) and how sequences take them."""

    budget_bytes: Any
    allocation: KvAllocation


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaCache:
    """The cache of a replica of `attention_dp` ranks that hold different sequences, by pipeline stage.

    `engine_sequences` is the engine's own limit of sequences at once (`max_num_seqs` of every rank together), whatever
    the cache holds. `observed`: the bytes follow from what a server printed.
    """

    stages: tuple[RankCache, ...]
    attention_dp: int
    engine_sequences: int
    observed: bool = False

    def sequences(self, tokens: Any) -> Any:
        """Most sequences that the replica's cache holds when each has `tokens` tokens."""
        return whole_sequences(self.stages, self.attention_dp, tokens)


def whole_sequences(stages: Sequence[RankCache], attention_dp: Any, tokens: Any) -> Any:
    """`dp · min over stages of ⌊budget / bytes⌋`; numbers, or arrays of many replicas.

    A sequence lives on one attention-data rank: what several ranks have left does not add up to one.
    """
    return attention_dp * reduce(least, (one.allocation.sequences_within(one.budget_bytes, tokens) for one in stages))


def mean_sequences(stages: Sequence[RankCache], attention_dp: Any, tokens: Any) -> Any:
    """`dp · min over stages of budget / bytes`: how many run in the mean when they have `tokens` tokens in the mean."""
    held = (one.allocation.mean_sequences_within(one.budget_bytes, tokens) for one in stages)
    return attention_dp * reduce(least, held)


def replica_cache(plan: MemoryPlan) -> ReplicaCache:
    """The cache of a plan: what the ledger leaves for it, or what the server printed at start.

    Raises:
        InvalidInputError: an unknown format, or degrees below 1.
    """
    found = plan.kept.get("cache")
    if not isinstance(found, ReplicaCache):
        found = plan.kept["cache"] = cache_of(plan, ranks(plan))
    return found


def cache_of(plan: MemoryPlan, held: Sequence[RankMemory]) -> ReplicaCache:
    """The same from ranks that are known already."""
    stages = tuple(RankCache(budget_bytes=cache_bytes(plan, rank), allocation=rank.allocation) for rank in held)
    return ReplicaCache(
        stages=stages,
        attention_dp=plan.parallelism.dp,
        engine_sequences=min(_started_sequences(plan, held[0], stage) for stage in stages) * plan.parallelism.dp,
        observed=plan.overrides.kv_cache_tokens_observed is not None,
    )


def _started_sequences(plan: MemoryPlan, rank: RankMemory, stage: RankCache) -> int:
    """`max_num_seqs` of a server that starts: where the engine refuses more than it has blocks, at most those.

    Source: vLLM 0.20 to 0.33, config/compilation.py; only models with states and captured graphs are asked.
    """
    unit, limit = stage.allocation.unit_bytes, rank.max_num_seqs
    asked = plan.policy.sequences_within_blocks and not plan.overrides.enforce_eager
    if not asked or not unit or not any(group.state is not None for group in plan.architecture.layer_groups):
        return limit
    return max(min(limit, int(max(stage.budget_bytes, 0.0) // unit)), 1)


def cache_bytes(plan: MemoryPlan, rank: RankMemory) -> float:
    """Bytes of the cache on a rank: what the ledger leaves, or what the server printed (tokens of the replica).

    A server that printed its cache holds its weights, whatever the ledger says of them.
    """
    observed = plan.overrides.kv_cache_tokens_observed
    if observed is None:
        return float(rank.kv_budget_bytes)
    return bytes_of_printed(plan, rank, observed / plan.parallelism.dp)


def with_longest(plan: MemoryPlan, longest_tokens: int) -> MemoryPlan:
    """The plan for a server that takes sequences of this length."""
    return replace(plan, longest_tokens=longest_tokens)


def length_decides(policy: MemoryPolicy, overrides: MemoryOverrides) -> bool:
    """Whether the memory before any load depends on the longest sequence that the server takes.

    It does where passes follow the prompts, and where tokens that a server printed are read without the length that it
    was started with.
    """
    read_by_length = overrides.kv_cache_tokens_observed is not None and overrides.max_model_len is None
    return grows_with_prompt(policy, overrides) or read_by_length


def grows_with_prompt(policy: MemoryPolicy, overrides: MemoryOverrides) -> bool:
    """Whether the length of the prompts decides how many tokens one pass takes, and so the activations."""
    return policy.batched_tokens_follow_context and overrides.max_batched_tokens is None
