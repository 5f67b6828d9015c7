"""The memory of one GPU as a ledger: weights, runtime, activations, graphs and cache of the worst rank, and slack."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.engine.errors import InvalidInputError
from estimator.engine.memory.engine_caches import CacheSettings, kv_allocation
from estimator.engine.memory.kv_allocation import KvAllocation
from estimator.engine.memory.layer_caches import LayerCache
from estimator.engine.memory.policy import MemoryPolicy
from estimator.engine.memory.weights import (
    FoldedArchitecture,
    MxfpPadding,
    Placement,
    RankWeights,
    component_format,
    fold,
    rank_weights,
)
from estimator.engine.model.spec import Architecture, Component
from estimator.engine.options import STATE_TYPES, Lora, MemoryOverrides
from estimator.engine.specs import Parallelism, Precision


class MemoryTerm(StrEnum):
    """The terms of the budget in the order in which they are taken from it."""

    WEIGHTS = "weights"
    RUNTIME_OVERHEAD = "runtime_overhead"
    ACTIVATION = "activation"
    CUDA_GRAPH = "cuda_graph"
    KV_CACHE = "kv_cache"
    MAX_NUM_SEQS = "max_num_seqs"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """What decides the memory of a replica besides its load.

    `memory_bytes` is what the profile counts with (CUDA's figure, or the vendor's for `ideal`); `longest_tokens` the
    longest sequence the server is to take. `stored_weight_bytes` is the checkpoint of the format asked for, and
    `stored_by_format` what is known of others, for suggestions. `draft_weight_bytes` and `draft_caches` are those of a
    draft model, or of the model's own prediction layers, on every rank; `draft_tokens` are drafted in a step.
    """

    architecture: Architecture
    memory_bytes: int
    policy: MemoryPolicy
    precision: Precision
    gpu_family: str | None = None
    parallelism: Parallelism = field(default_factory=Parallelism)
    overrides: MemoryOverrides = field(default_factory=MemoryOverrides)
    longest_tokens: int = 1
    stored_weight_bytes: int | None = None
    stored_by_format: tuple[tuple[str, int], ...] = ()
    lora: Lora | None = None
    mtp_layers_loaded: int = 0
    draft_weight_bytes: float = 0.0
    draft_caches: tuple[LayerCache, ...] = ()
    draft_tokens: int = 0
    # What follows from the plan alone, such as its ranks; `replace` starts it anew.
    kept: dict[object, object] = field(init=False, repr=False, compare=False, default_factory=dict)


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


def batched_tokens_of(plan: MemoryPlan) -> int:
    """Most tokens of one forward pass: as asked, else the policy's default for this GPU and length."""
    asked = plan.overrides.max_batched_tokens
    return (
        asked
        if asked is not None
        else plan.policy.batched_tokens(plan.memory_bytes, plan.gpu_family, plan.longest_tokens)
    )


def share_of_memory(plan: MemoryPlan) -> float:
    """The share of a GPU's memory that the engine uses: as asked, else the policy's default for this GPU."""
    asked, degrees = plan.overrides.utilization, plan.parallelism
    if asked is not None:
        return asked
    return plan.policy.share_of_memory(plan.memory_bytes, tp=degrees.tp, pp=degrees.pp)


def sequences_limit_of(plan: MemoryPlan) -> int:
    """Most sequences at once on one attention-data rank: as asked, else the policy's default for this GPU."""
    asked = plan.overrides.max_num_seqs
    if asked is not None:
        return asked
    policy = plan.policy
    if not policy.sequences_by_free_gib:
        return policy.sequences_limit(plan.memory_bytes, plan.gpu_family)
    share = share_of_memory(plan)
    held = rank_weights(fold(plan.architecture), plan.precision, plan.parallelism).total_bytes
    return policy.sequences_limit(plan.memory_bytes, plan.gpu_family, share * plan.memory_bytes - held)


def mlp_width(architecture: Architecture, tp: int) -> float:
    """The widest active MLP of a layer on a rank: ff/tp, or k·expert width + shared width over tp."""
    widest = 0.0
    for group in architecture.layer_groups:
        feed = group.feed_forward
        if feed is None:
            continue
        experts = feed.experts_per_token * feed.expert_intermediate_size if feed.experts else 0
        shared = feed.shared_intermediate_size
        widest = max(widest, float(feed.intermediate_size if not feed.experts else 0), float(experts + shared))
    return widest / tp


def expert_workspace_bytes(plan: MemoryPlan) -> float:
    """Workspace of fused expert kernels on a rank: T·k·(max(2n, d) + n)·2 bytes; none for dense models and mxfp4.

    Source: observed activation peaks of DeepSeek-V2-Lite (1.93 GiB) and Qwen1.5-MoE (2.47 GiB), 0.42 and 0.23 above the
    logits; this gives 0.39 and 0.26. gpt-oss with its mxfp4 kernels shows none (vLLM 0.19 accuracy report, 2026-04).
    """
    copies = plan.policy.expert_workspace_copies
    if not copies or component_format(plan.precision, Component.ROUTED_EXPERTS) == "mxfp4":
        return 0.0
    hidden = plan.architecture.hidden_size
    widest = 0.0
    for group in plan.architecture.layer_groups:
        feed = group.feed_forward
        if feed is not None and feed.experts:
            width = feed.expert_intermediate_size / (1 if plan.parallelism.ep > 1 else plan.parallelism.tp)
            widest = max(widest, feed.experts_per_token * (max(2 * width, hidden) + width))
    return copies * batched_tokens_of(plan) * widest * 2.0


def activation_bytes(plan: MemoryPlan, *, has_head: bool, width: float | None = None) -> float:
    """Peak of activations of a rank in bytes.

    max(T·2·(3f + 3d) + c0, κ·S·V·4) + expert workspace; a stage without the head: T·2·(3f + 3d) + c0 + stage constant +
    expert workspace. The logits of the sampler's dry run are fp32 and not split over tp.
    Models with states: T·2·(2f + 4d) + c1 + κ·S·V·4 + expert workspace.

    Source: vLLM start-up logs (docs/model.md, memory); of models with states vLLM issue 52872 (peaks at four sizes of a
    pass, on one line), pull request 30515 and the logs of a server with 1 and with 16 sequences.
    """
    policy, architecture = plan.policy, plan.architecture
    if not policy.activation_mlp_copies and not policy.logits_copies:
        return float(policy.activation_constant_bytes)
    f = mlp_width(architecture, plan.parallelism.tp) if width is None else width
    if adds_up(plan):
        per_token = policy.hybrid_mlp_copies * f + policy.hybrid_hidden_copies * architecture.hidden_size
        passing = batched_tokens_of(plan) * 2.0 * per_token + policy.hybrid_activation_bytes
        sampled = _logits_bytes(plan) if has_head else float(policy.stage_activation_bytes)
        return passing + sampled + expert_workspace_bytes(plan)
    per_token = policy.activation_mlp_copies * f + policy.activation_hidden_copies * architecture.hidden_size
    passing = batched_tokens_of(plan) * 2.0 * per_token + policy.activation_constant_bytes
    workspace = expert_workspace_bytes(plan)
    if not has_head:
        return passing + policy.stage_activation_bytes + workspace
    return max(passing, _logits_bytes(plan)) + workspace


def adds_up(plan: MemoryPlan) -> bool:
    """Whether the peak is the sum of its parts: that of models with states, where the engine's logs say so."""
    states = any(group.state is not None for group in plan.architecture.layer_groups)
    return bool(plan.policy.hybrid_activation_bytes) and states


def _logits_bytes(plan: MemoryPlan) -> float:
    """Logits of the sampler's dry run: κ·S·V·4."""
    return plan.policy.logits_copies * sequences_limit_of(plan) * plan.architecture.vocab_size * 4.0


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


def _graphs(plan: MemoryPlan) -> int:
    """Bytes of the graphs that a plan captures; none where it runs eagerly."""
    if plan.overrides.enforce_eager:
        return 0
    asked = plan.overrides
    return graph_bytes(
        plan.policy, sequences_limit_of(plan), asked.max_cudagraph_capture_size, asked.cudagraph_capture_sizes
    )


def graph_bytes(
    policy: MemoryPolicy, max_num_seqs: int, largest: int | None = None, stated: Sequence[int] | None = None
) -> int:
    """Bytes of captured graphs: those of the first, and `cuda_graph_size_bytes` for each captured batch size.

    Batch sizes 1, 2, 4, every 8th to 256 and every 16th to 512 are captured: for mixed passes up to twice
    `max_num_seqs`, for decode alone up to `max_num_seqs`, and none above `largest` where that is set. `stated` sizes
    are captured in place of these, for decode those of them up to `max_num_seqs`.
    Source: vLLM config/vllm.py (0.20 to 0.33); eight sequences make 9 graphs, 256 make 86, as the logs say.

    >>> graph_bytes(MemoryPolicy(cuda_graph_bytes=0, cuda_graph_size_bytes=1), 8)
    9
    >>> graph_bytes(MemoryPolicy(cuda_graph_bytes=0, cuda_graph_size_bytes=1), 256)
    86
    """
    if not policy.cuda_graph_size_bytes:
        return policy.cuda_graph_bytes
    if stated is not None:
        own = set(stated)
        return policy.cuda_graph_bytes + policy.cuda_graph_size_bytes * (
            len(own) + sum(size <= max_num_seqs for size in own)
        )
    most = 512 if largest is None else largest
    sizes = _captured_sizes(min(2 * max_num_seqs, most)) + _captured_sizes(min(max_num_seqs, most))
    return policy.cuda_graph_bytes + sizes * policy.cuda_graph_size_bytes


def _captured_sizes(most: int) -> int:
    """How many of 1, 2, 4, 8, 16 … 256, 272 … 512 are at most `most`."""
    return sum(size <= most for size in (1, 2, 4)) + min(most, 256) // 8 + max(min(most, 512) - 256, 0) // 16


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
        placement=Placement(host_embedding=policy.input_embedding_on_host, head_is_layer=policy.head_counts_as_layer),
    )
    model = _stored_share(plan, folded, weights)
    last = stage == degrees.pp - 1
    adapters = lora_bytes(plan.architecture, plan.lora, degrees.tp, layers=weights.layers)
    prediction = _mtp_bytes(plan) if last else 0.0
    held = round(model + adapters + prediction + plan.draft_weight_bytes)
    overhead = runtime_overhead(policy, plan.overrides, degrees)
    activation = round(activation_bytes(plan, has_head=last))
    graphs = _graphs(plan)
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


def cache_settings(plan: MemoryPlan) -> CacheSettings:
    """The settings of a plan that decide its caches."""
    asked = plan.overrides
    return CacheSettings(
        batched_tokens=batched_tokens_of(plan),
        prefix_caching=asked.enable_prefix_caching,
        in_flight_batches=1 if asked.async_scheduling is False else plan.policy.in_flight_batches,
        whole_windows=bool(asked.disable_hybrid_kv_cache_manager),
        draft_tokens=plan.draft_tokens,
        draft=plan.draft_caches,
        window_pool_ratio=asked.swa_full_tokens_ratio,
        state_pool_ratio=asked.mamba_full_memory_ratio,
        unified=bool(asked.kv_unified),
        recurrent_element_bytes=STATE_TYPES.get(asked.mamba_ssm_cache_dtype or ""),
        state_mode=asked.mamba_cache_mode,
    )


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
