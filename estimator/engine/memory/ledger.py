"""The memory of one GPU as a ledger: weights, runtime, activations, graphs and cache of the worst rank, and slack."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.engine.errors import InvalidInputError
from estimator.engine.memory.activations import activation_bytes
from estimator.engine.memory.engine_caches import kv_allocation
from estimator.engine.memory.graphs import graphs_of
from estimator.engine.memory.kv_allocation import KvAllocation
from estimator.engine.memory.plan import (
    MemoryPlan,
    batched_tokens_of,
    cache_settings,
    placement_of,
    sequences_limit_of,
    share_of_memory,
)
from estimator.engine.memory.policy import MemoryPolicy
from estimator.engine.memory.weight_parts import FoldedArchitecture, MxfpPadding, fold
from estimator.engine.memory.weights import RankWeights, rank_weights
from estimator.engine.model.spec import Architecture
from estimator.engine.options import Lora, MemoryOverrides
from estimator.engine.specs import Parallelism


class MemoryTerm(StrEnum):
    """The terms of the budget in the order in which they are taken from it."""

    WEIGHTS = "weights"
    RUNTIME_OVERHEAD = "runtime_overhead"
    ACTIVATION = "activation"
    CUDA_GRAPH = "cuda_graph"
    KV_CACHE = "kv_cache"
    MAX_NUM_SEQS = "max_num_seqs"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankMemory:
    """One rank before any load: bytes by term, the budget left for the cache, and how the cache is allocated.

    `unmanaged_bytes + weights + runtime_overhead + activation + cuda_graph + kv_budget = memory_bytes`; the budget is
    negative where the rest does not fit. `outside_bytes` are activations and graphs the engine pays from unmanaged.
    """

    stage: int
    memory_bytes: int
    usable_bytes: int
    weights_bytes: int
    lora_bytes: int
    mtp_bytes: int
    draft_bytes: int
    runtime_overhead_bytes: int
    activation_bytes: int
    cuda_graph_bytes: int
    outside_activation_bytes: int
    outside_graph_bytes: int
    kv_budget_bytes: int
    allocation: KvAllocation
    weights: RankWeights
    max_num_seqs: int
    batched_tokens: int

    @property
    def unmanaged_bytes(self) -> int:
        """What the engine leaves to others."""
        return self.memory_bytes - self.usable_bytes


def lora_bytes(architecture: Architecture, lora: Lora | None, tp: int, *, layers: tuple[int, ...]) -> float:
    """Adapters held in advance: max_loras · Σ max_rank · (in + out) · 2 bytes over attention and dense MLP matrices.

    Source: vLLM allocates max_loras × max_rank for every adapted module at start; the output side is split over tp.
    """
    if lora is None:
        return 0.0
    total = 0.0
    for group, held in zip(architecture.layer_groups, layers, strict=True):
        sides = sum(
            matrix.columns + matrix.rows / tp
            for matrix in group.matrices
            if matrix.component.value in ("attention", "mlp") and matrix.quantisable
        )
        total += sides * held
    return lora.max_loras * lora.max_rank * total * 2.0


def runtime_overhead(policy: MemoryPolicy, overrides: MemoryOverrides, parallelism: Parallelism) -> int:
    """Bytes of the runtime and its communication buffers on a rank (non-torch memory), by kind of split."""
    if overrides.runtime_overhead_bytes is not None:
        return overrides.runtime_overhead_bytes
    if parallelism.tp > 1 or parallelism.dp > 1:
        return policy.runtime_overhead_tp_bytes or policy.runtime_overhead_bytes
    if parallelism.pp > 1 and policy.runtime_overhead_pp_bytes is not None:
        return policy.runtime_overhead_pp_bytes
    return policy.runtime_overhead_bytes


def rank_memory(plan: MemoryPlan, *, stage: int = 0) -> RankMemory:
    """The memory of a rank of one pipeline stage before any load.

    Args:
        plan: model, GPU memory, policy, formats, degrees and overrides.
        stage: pipeline stage, from 0.

    Returns:
        Bytes by term; the cache budget is what is left and may be negative.

    Raises:
        InvalidInputError: an unknown format, or a stage that does not exist.
    """
    policy, degrees = plan.policy, plan.parallelism
    if not 0 <= stage < degrees.pp:
        raise InvalidInputError(f"stage must be below {degrees.pp}", field="parallelism.pp")
    folded = fold(plan.architecture)
    weights = rank_weights(
        folded,
        plan.precision,
        degrees,
        stage=stage,
        nominal=policy.nominal_weights,
        padding=MxfpPadding(columns=policy.mxfp4_pad_columns, hidden=policy.mxfp4_pad_hidden),
        placement=placement_of(plan),
    )
    model = _stored_share(plan, folded, weights)
    last = stage == degrees.pp - 1
    adapters = lora_bytes(plan.architecture, plan.lora, degrees.tp, layers=weights.layers)
    prediction = _mtp_bytes(plan) if last else 0.0
    held = round(model + adapters + prediction + plan.draft_weight_bytes)
    overhead = runtime_overhead(policy, plan.overrides, degrees)
    activation = round(activation_bytes(plan, has_head=last))
    graphs = graphs_of(plan)
    inside_activation = activation if policy.activation_in_budget else 0
    inside_graphs = graphs if policy.graphs_in_budget else 0
    taken = held + overhead + inside_activation + inside_graphs
    usable = _usable_bytes(plan, taken)
    batched = batched_tokens_of(plan)
    return RankMemory(
        stage=stage,
        memory_bytes=plan.memory_bytes,
        usable_bytes=usable,
        weights_bytes=held,
        lora_bytes=round(adapters),
        mtp_bytes=round(prediction),
        draft_bytes=round(plan.draft_weight_bytes),
        runtime_overhead_bytes=overhead,
        activation_bytes=inside_activation,
        cuda_graph_bytes=inside_graphs,
        outside_activation_bytes=activation - inside_activation,
        outside_graph_bytes=graphs - inside_graphs,
        kv_budget_bytes=usable - taken,
        allocation=_allocation(plan, folded, weights),
        weights=weights,
        max_num_seqs=sequences_limit_of(plan),
        batched_tokens=batched,
    )


def _usable_bytes(plan: MemoryPlan, taken_bytes: int) -> int:
    """What the engine may use: its share of the memory, or all but the rest of what is free beside `taken_bytes`."""
    share = share_of_memory(plan)
    if not plan.policy.utilization_of_free:
        return round(share * plan.memory_bytes)
    free = plan.memory_bytes - taken_bytes
    return plan.memory_bytes - max(round((1 - share) * free), 0)


def _allocation(plan: MemoryPlan, folded: FoldedArchitecture, weights: RankWeights) -> KvAllocation:
    """The cache of a rank."""
    return kv_allocation(
        folded,
        plan.precision.kv_cache,
        plan.policy,
        tp=plan.parallelism.tp,
        layers=weights.layers if plan.parallelism.pp > 1 else None,
        settings=cache_settings(plan),
    )


def _stored_share(plan: MemoryPlan, folded: FoldedArchitecture, weights: RankWeights) -> float:
    """Bytes of a rank by the formula, scaled to the bytes the checkpoint's files hold when those are known."""
    stored = plan.stored_weight_bytes
    if stored is None or plan.policy.nominal_weights:
        return weights.total_bytes
    whole = rank_weights(folded, plan.precision, Parallelism(), nominal=False).total_bytes
    return weights.total_bytes * stored / whole if whole else weights.total_bytes


def _mtp_bytes(plan: MemoryPlan) -> float:
    """Weights of the MTP layers loaded for speculative decoding, split over tp, in 16 bits."""
    architecture = plan.architecture
    if not plan.mtp_layers_loaded or not architecture.mtp_layers:
        return 0.0
    loaded = min(plan.mtp_layers_loaded, architecture.mtp_layers)
    return architecture.mtp_parameters * loaded / architecture.mtp_layers * 2.0 / plan.parallelism.tp


def ranks(plan: MemoryPlan) -> tuple[RankMemory, ...]:
    """The ranks that can be the worst: first, second and last pipeline stage."""
    found = plan.kept.get("ranks")
    if not isinstance(found, tuple):
        found = plan.kept["ranks"] = _ranks(plan)
    return found


def _ranks(plan: MemoryPlan) -> tuple[RankMemory, ...]:
    if plan.parallelism.pp == 1:
        return (rank_memory(plan),)
    stages = sorted({0, min(1, plan.parallelism.pp - 1), plan.parallelism.pp - 1})
    return tuple(rank_memory(plan, stage=stage) for stage in stages)


LEDGER_COLUMNS = (
    "memory_bytes",
    "unmanaged_bytes",
    "weights_bytes",
    "runtime_overhead_bytes",
    "activation_bytes",
    "cuda_graph_bytes",
    "kv_cache_bytes",
    "slack_bytes",
)


def ledger_columns(plan: MemoryPlan, *, tokens: Any, sequences: Any) -> dict[str, NDArray[np.float64]]:
    """The ledger of the worst rank for many loads at once, as columns.

    Args:
        plan: one distinct key of a sweep.
        tokens: longest length of a sequence in tokens, any shape.
        sequences: sequences at once in the replica, broadcast with `tokens`.

    Returns:
        `LEDGER_COLUMNS` in bytes, slack negative where it does not fit.
    """
    lengths, load = np.broadcast_arrays(np.asarray(tokens, dtype=np.float64), np.asarray(sequences, dtype=np.float64))
    share = np.ceil(load / plan.parallelism.dp)
    worst: dict[str, NDArray[np.float64]] = {}
    for rank in ranks(plan):
        need = rank.allocation.load_bytes(share, lengths)
        slack = rank.kv_budget_bytes - need
        row = {
            "memory_bytes": np.full(lengths.shape, float(rank.memory_bytes)),
            "unmanaged_bytes": np.full(lengths.shape, float(rank.unmanaged_bytes)),
            "weights_bytes": np.full(lengths.shape, float(rank.weights_bytes)),
            "runtime_overhead_bytes": np.full(lengths.shape, float(rank.runtime_overhead_bytes)),
            "activation_bytes": np.full(lengths.shape, float(rank.activation_bytes)),
            "cuda_graph_bytes": np.full(lengths.shape, float(rank.cuda_graph_bytes)),
            "kv_cache_bytes": need,
            "slack_bytes": slack,
        }
        if not worst:
            worst = row
            continue
        worse = slack < worst["slack_bytes"]
        worst = {name: np.where(worse, row[name], worst[name]) for name in row}
    return worst
