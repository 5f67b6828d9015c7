"""What decides the memory of a replica besides its load, and what follows from it before a byte is counted."""

from dataclasses import dataclass, field

from estimator.engine.memory.engine_caches import CacheSettings
from estimator.engine.memory.layer_caches import LayerCache
from estimator.engine.memory.policy import MemoryPolicy
from estimator.engine.memory.weight_parts import fold
from estimator.engine.memory.weights import Placement, rank_weights
from estimator.engine.model.spec import Architecture
from estimator.engine.options import STATE_TYPES, Lora, MemoryOverrides
from estimator.engine.specs import Parallelism, Precision


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


def placement_of(plan: MemoryPlan) -> Placement:
    """Where the engine puts parts of the model."""
    policy = plan.policy
    return Placement(
        host_embedding=policy.input_embedding_on_host,
        head_is_layer=policy.head_counts_as_layer,
        host_expert_layers=(plan.overrides.n_cpu_moe or 0) if policy.experts_on_host else 0,
        host_tables=policy.tables_on_host and bool(plan.overrides.ple_offload_embedding),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMemory:
    """Weights of a replica that its engine keeps in host memory, bytes: routed experts, input embedding, n-grams.

    `expert_layers`: layers whose experts lie there, count.
    """

    expert_bytes: int
    embedding_bytes: int
    table_bytes: int
    expert_layers: int


def host_memory(plan: MemoryPlan) -> HostMemory | None:
    """What the engine keeps in host memory of the whole replica; None where it keeps all on its GPUs."""
    placement = placement_of(plan)
    if not (placement.host_embedding or placement.host_expert_layers or placement.host_tables):
        return None
    folded = fold(plan.architecture)
    whole = rank_weights(folded, plan.precision, Parallelism(), placement=placement)
    stored = plan.stored_weight_bytes
    counted = rank_weights(folded, plan.precision, Parallelism()).total_bytes
    scale = stored / counted if stored is not None and counted else 1.0
    return HostMemory(
        expert_bytes=round(whole.host_expert_bytes * scale),
        embedding_bytes=round(whole.host_embedding_bytes * scale),
        table_bytes=round(whole.host_table_bytes * scale),
        expert_layers=_host_expert_layers(plan, placement),
    )


def holds_experts_on_host(plan: MemoryPlan) -> bool:
    """Whether a plan has routed experts in host memory."""
    return _host_expert_layers(plan, placement_of(plan)) > 0


def holds_tables_on_host(plan: MemoryPlan) -> bool:
    """Whether a plan has tables of n-grams in host memory."""
    return placement_of(plan).host_tables and plan.architecture.split_lookup_parameters > 0


def _host_expert_layers(plan: MemoryPlan, placement: Placement) -> int:
    """Of the first layers whose experts stay in host memory, those that have any."""
    groups = plan.architecture.layer_groups
    feeds = (groups[index].feed_forward for index in fold(plan.architecture).order[: placement.host_expert_layers])
    return sum(feed is not None and feed.experts > 0 for feed in feeds)


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
