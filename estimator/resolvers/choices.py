"""What a caller chose, before the catalog is asked: slugs or inline values of one plan. JSON-free and API-free."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from estimator.engine.options import Lora, MemoryOverrides, Power, ServiceLevel, Speculative
from estimator.engine.specs import Parallelism, Precision, WorkloadMode

DEFAULT_ENGINE = "vllm"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOverride:
    """Attention fields of a catalog model replaced for a what-if; None keeps the model's own."""

    kv_heads: int | None = None
    window_tokens: int | None = None
    latent_rank: int | None = None
    latent_rope_dim: int | None = None
    context_window_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """A model given by its shape: parameters, layers and widths (elements). Missing widths follow from the others."""

    parameters: int
    layers: int
    heads: int
    hidden_size: int | None = None
    active_parameters: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int | None = None
    vocab_size: int | None = None
    window_tokens: int | None = None
    latent_rank: int | None = None
    latent_rope_dim: int | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    expert_intermediate_size: int | None = None
    tied_embeddings: bool = False
    context_window_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A catalog model (`slug`, perhaps with `override`), a config.json (`config`), or a `shape`: exactly one."""

    slug: str | None = None
    override: ModelOverride | None = None
    config: Mapping[str, Any] | None = None
    shape: ModelShape | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuShape:
    """A GPU given by its figures: bytes, bytes/s, dense FLOP/s by dtype; the link is per direction."""

    memory_bytes: int
    memory_bandwidth_bytes_per_s: float
    peak_flops_per_s: Mapping[str, float]
    name: str | None = None
    kernel_family: str | None = None
    link: str | None = None
    link_bytes_per_s_per_direction: float | None = None
    scale_up_gpus: int = 8
    tdp_w: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuChoice:
    """A catalog GPU (`slug`) or one given by its figures (`shape`)."""

    slug: str | None = None
    shape: GpuShape | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadChoice:
    """Mean lengths (tokens) and load as asked for; what a mode needs is checked by the resolver."""

    mode: WorkloadMode = WorkloadMode.CLOSED_LOOP
    input_tokens: float | None = None
    output_tokens: float | None = None
    context_tokens: float | None = None
    concurrency: int | None = None
    requests_per_s: float | None = None
    burstiness_cv: float = 1.0
    prefix_cache_hit_rate: float = 0.0
    batch_sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionChoice:
    """Formats as chosen; without `weights` those of the model's own files."""

    weights: str | None = None
    kv_cache: str = "bf16"
    attention_weights: str | None = None
    expert_weights: str | None = None
    activations: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChoice:
    """Everything a plan is made of, as chosen; `resolve_plan` turns it into a `Plan`."""

    model: ModelChoice
    gpu: GpuChoice
    engine: str = DEFAULT_ENGINE
    parallelism: Parallelism = field(default_factory=Parallelism)
    precision: PrecisionChoice | Precision = field(default_factory=PrecisionChoice)
    memory: MemoryOverrides = field(default_factory=MemoryOverrides)
    workload: WorkloadChoice | None = None
    slo: ServiceLevel | None = None
    speculative: Speculative | None = None
    lora: Lora | None = None
    mtp_layers_loaded: int = 0
    power: Power | None = None
