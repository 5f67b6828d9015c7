"""How many sequences the KV cache of a replica holds."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from estimator.engine.forward_pass.traffic import RankLayout
from estimator.engine.specs import ServingConstants, WorkloadMode

# Share of its output that a running sequence has written on average.
MEAN_SHARE_OF_OUTPUT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """What a sequence keeps on the rank that holds it: bytes per token within each window (inf for none), and state.

    `attention_dp` ranks hold different sequences; the engine runs at most `max_sequences` on all of them. A sequence
    needs room for `reserved_share` of its output: the mean 0.5 of those running, or all where the engine never evicts.
    """

    windows: tuple[Any, ...]
    bytes_per_token: tuple[Any, ...]
    state_bytes: Any
    attention_dp: Any
    max_sequences: Any
    budget_bytes: Any
    reserved_share: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Sequences of the mean length that the cache admits, and the engine's own limit of running sequences."""

    cache_sequences: Any
    max_sequences: Any


def kv_budget_bytes(
    serving: ServingConstants, *, memory_bytes: Any, weight_bytes: Any, utilization: float | None = None
) -> Any:
    """Bytes of one rank that the engine gives to the cache where no start-up log tells the engine's own figures.

    `u·memory − weights − reserve`, or `u·(memory − weights − reserve)` for engines whose setting is a share of the
    free memory. Negative where the weights do not fit. `utilization` overrides the profile's u.

    Source: 03-engine 1.4; TensorRT-LLM, `kv_cache_free_gpu_mem_fraction` in docs/source/performance/perf-overview.md.
    """
    share = serving.memory_utilization if utilization is None else utilization
    if serving.utilization_of_free_memory:
        return share * (memory_bytes - weight_bytes - serving.memory_reserve_bytes)
    return share * memory_bytes - weight_bytes - serving.memory_reserve_bytes


def storage(
    layout: RankLayout, *, budget_bytes: float, max_num_seqs: int, reserved_share: float = MEAN_SHARE_OF_OUTPUT
) -> Storage:
    """The storage of one key.

    Args:
        layout: what one rank holds.
        budget_bytes: bytes of one rank that the engine gives to the cache; 0 or less admits nothing.
        max_num_seqs: the engine's limit of running sequences on one attention-data rank.
        reserved_share: part of the output that a running sequence must have room for (0.5 mean, 1 never evicted).
    """
    slots: dict[float, float] = {inf: 0.0}
    for group in layout.caches:
        window = group.stored_window_tokens
        slots[window] = slots.get(window, 0.0) + group.layers * group.stored_bytes_per_token
        slots[inf] += group.layers * group.index_bytes_per_token
    stages = layout.parallelism.pp
    return Storage(
        windows=tuple(slots),
        bytes_per_token=tuple(value / stages for value in slots.values()),
        state_bytes=layout.state_bytes_per_sequence / stages,
        attention_dp=float(layout.parallelism.dp),
        max_sequences=float(max_num_seqs * layout.parallelism.dp),
        budget_bytes=budget_bytes,
        reserved_share=reserved_share,
    )


def stored_bytes_per_sequence(store: Storage, context_tokens: Any) -> Any:
    """Cache and state bytes of one sequence with `context_tokens` cached: `state + Σ bytes · min(context, window)`."""
    total = store.state_bytes
    for window, stored in zip(store.windows, store.bytes_per_token, strict=True):
        total = total + stored * np.minimum(context_tokens, window)
    return total


def capacity(store: Storage, context_tokens: Any, output_tokens: Any = 0.0) -> Capacity:
    """Sequences that fit, `dp · budget / bytes per sequence`, not rounded; none where a rank has no room for one.

    Args:
        store: what a sequence keeps, and the budget.
        context_tokens: mean cached tokens of a running sequence.
        output_tokens: output whose reserved share beyond the mean half must find room too.
    """
    held = context_tokens + (store.reserved_share - MEAN_SHARE_OF_OUTPUT) * output_tokens
    stored = np.maximum(stored_bytes_per_sequence(store, held), 1e-6)
    room = np.maximum(store.budget_bytes, 0.0) / stored
    # A sequence lives on one attention-data rank: the parts that several ranks have left do not add up to one.
    room = np.where(room * (1.0 + 1e-9) < 1.0, 0.0, room)
    return Capacity(
        cache_sequences=store.attention_dp * np.minimum(room, 1e12),
        max_sequences=store.max_sequences,
    )


def admitted_sequences(limits: Capacity, concurrency: Any, mode: WorkloadMode) -> Any:
    """Sequences inside the engine: the load asked for, the cache and the engine's limit, whichever is least.

    Offline fills what the cache admits. Source: 03-engine 1.4 (`Bc`).
    """
    wanted = limits.cache_sequences if mode is WorkloadMode.OFFLINE else concurrency
    return np.minimum(np.minimum(wanted, limits.cache_sequences), limits.max_sequences)
