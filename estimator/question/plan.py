"""Base request of everything that needs a plan; `echo` holds the base of its answer."""

from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from estimator.question.fields import (
    SMALLEST,
    WHOLE,
    BytesOrNone,
    Count,
    EngineSlug,
    PositiveShare,
    RequestBody,
    Tokens,
)
from estimator.question.formats import (
    ActivationFormatName,
    CacheFormatName,
    StateModeName,
    StateTypeName,
    WeightFormatName,
)
from estimator.question.gpu import GpuRef
from estimator.question.model import ModelRef
from estimator.question.workload import (
    POWER_CAP_HELP,
    Lora,
    Power,
    PowerCap,
    Speculative,
    Targets,
    Workload,
)

DEFAULT_ENGINE = "vllm"

Degree = Annotated[int, Field(ge=1, le=4096), WHOLE]
MtpLayers = Annotated[int, Field(ge=0, le=64), WHOLE]


class Parallelism(RequestBody):
    """How one replica is split over GPUs; GPUs = tp · pp · dp."""

    tp: Degree = Field(
        default=1,
        description="Tensor parallel degree; divides the query heads, and divides or is a multiple of the KV heads.",
    )
    pp: Degree = Field(default=1, description="Pipeline parallel degree, at most the layers.")
    ep: Degree = Field(default=1, description="Expert parallel degree; divides tp · dp.")
    dp: Degree = Field(default=1, description="Attention data parallel degree inside one replica; copies are replicas.")


class Precision(RequestBody):
    """Formats of weights, KV cache and activations."""

    weights: WeightFormatName | None = Field(
        default=None,
        description=(
            "Format of the weights; int4 is AWQ or GPTQ with groups of 128, q… and iq… are GGUF files as llama.cpp's "
            "quantiser makes them (dynamic mixes of others differ). Left out: the format of the model's own files "
            "where its config states a quantisation, else bf16."
        ),
    )
    kv_cache: CacheFormatName | None = Field(
        default=None,
        description=(
            "Format of the KV cache, bf16 when not given, whatever the weights are stored in; q8_0 to q4_0 are "
            "llama.cpp's blocks of 32 elements with their scale (q8_0: 34 bytes), the others count no scales."
        ),
    )
    attention_weights: WeightFormatName | None = Field(
        default=None, description="Format of the attention's weights; as weights when not given."
    )
    expert_weights: WeightFormatName | None = Field(
        default=None, description="Format of the routed experts' weights; as weights when not given."
    )
    activations: ActivationFormatName | None = Field(
        default=None,
        description="Format the products run in; what the engine's kernels take for these weights when not given.",
    )


class Memory(RequestBody):
    """Overrides of the engine profile's memory settings; null keeps the profile's."""

    utilization: PositiveShare | None = Field(
        default=None, description="Share of the GPU's memory the engine may use, above 0 to 1."
    )
    runtime_overhead_bytes: BytesOrNone | None = Field(
        default=None, description="Bytes of the runtime on each GPU that are neither weights nor cache."
    )
    max_batched_tokens: Tokens | None = Field(
        default=None,
        validation_alias=AliasChoices("max_batched_tokens", "max_num_batched_tokens"),
        description="Most tokens of one forward pass; vLLM's own name, max_num_batched_tokens, is taken too.",
    )
    max_num_seqs: Count | None = Field(default=None, description="Most sequences the engine runs at once, count.")
    kv_cache_tokens_observed: Tokens | None = Field(
        default=None,
        description=(
            "Tokens of KV cache that the server printed at start; beats the model. What vLLM prints for unlike layers "
            "depends on its version and on max_model_len: name both."
        ),
    )
    max_model_len: Tokens | None = Field(
        default=None,
        description="Longest sequence the server takes, tokens; the longest of the load when not given.",
    )
    enable_prefix_caching: bool | None = Field(
        default=None,
        description="Whether prefixes are kept; the version's default for the model when not given. States cost more.",
    )
    async_scheduling: bool | None = Field(
        default=None, description="vLLM from 0.26: false keeps one pass in flight in place of two."
    )
    disable_hybrid_kv_cache_manager: bool | None = Field(
        default=None, description="vLLM: windowed layers are kept at full length."
    )
    enforce_eager: bool | None = Field(default=None, description="vLLM: no graphs are captured.")
    max_cudagraph_capture_size: Count | None = Field(
        default=None, description="vLLM: largest captured batch, count; twice max_num_seqs, at most 512, by default."
    )
    cudagraph_capture_sizes: Annotated[tuple[Count, ...], Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="vLLM: the captured batches themselves, count each; in place of the largest."
    )
    swa_full_tokens_ratio: PositiveShare | None = Field(
        default=None, description="SGLang: tokens of windowed layers for each token of whole ones; 0.8 by default."
    )
    mamba_full_memory_ratio: Annotated[float, Field(ge=SMALLEST, le=1000)] | None = Field(
        default=None, description="SGLang: memory of states over that of tokens; 0.9 by default."
    )
    kv_unified: bool | None = Field(default=None, description="llama.cpp: all slots share one stream of the context.")
    mamba_cache_mode: StateModeName | None = Field(
        default=None,
        description="vLLM: states kept of prefixes: none, align (one block more) or all (one a block of tokens); "
        "follows enable_prefix_caching when not given.",
    )
    mamba_ssm_cache_dtype: StateTypeName | None = Field(
        default=None,
        description="Type of recurrent states (--mamba-ssm-cache-dtype of vLLM, --mamba-ssm-dtype of SGLang); that of "
        "the model or the engine when not given.",
    )
    n_cpu_moe: Annotated[int, Field(ge=0, le=10_000), WHOLE] | None = Field(
        default=None,
        description="llama.cpp: layers, from the first, whose routed experts stay in host memory, count (--n-cpu-moe); "
        "as many as the model has are all (--cpu-moe). Their effect on speed is not modelled.",
    )
    ple_offload_embedding: bool | None = Field(
        default=None,
        description="Tables of n-grams (Qwen 4) stay in host memory: SGLang's --ple-offload-embedding, cpu_offload of "
        "vLLM's --engram-config, --override-tensor per_layer_token_embd=CPU of llama.cpp.",
    )


Launch = Literal["tuned", "default"]
EngineSettings = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=80)], bool | int | float],
    Field(max_length=40, examples=[{"max_num_batched_tokens": 8192, "stream_interval": 10}]),
]


class PlanRequest(RequestBody):
    """Model, GPU, engine and settings of one replica."""

    model: ModelRef
    gpu: GpuRef
    engine: EngineSlug = Field(
        default=DEFAULT_ENGINE,
        description=(
            "Engine profile, such as vllm-0.19, sglang-0.5, tensorrt-llm-1 or llama.cpp; a bare name is the newest of "
            "its kind; ideal is the roofline with the source documents' assumptions."
        ),
    )
    parallelism: Parallelism = Field(
        default=Parallelism(), description="How the replica is split over GPUs; one GPU when left out."
    )
    precision: Precision = Field(default=Precision(), description="Formats of weights, cache and activations.")
    memory: Memory = Field(default=Memory(), description="Overrides of the profile's memory settings.")
    engine_settings: EngineSettings = Field(
        default={},
        description=(
            "Settings of the server by its engine's own names, such as max_num_batched_tokens, chunked_prefill_size or "
            "max_num_tokens; those left out have the version's defaults, and the answer says which were stated."
        ),
    )
    launch: Launch = Field(
        default="tuned",
        description=(
            "tuned: kernels were picked by flags, as launch scripts of the measured rows do; default: a plain start, "
            "whose SGLang kernels were measured a third slower on one source."
        ),
    )
    workload: Workload | None = Field(default=None, description="Lengths and load.")
    slo: Targets | None = Field(default=None, description="Targets of a request.")
    speculative: Speculative | None = Field(default=None, description="Speculative decoding; off when left out.")
    lora: Lora | None = Field(default=None, description="Adapters; none when left out.")
    mtp_layers_loaded: MtpLayers = Field(default=0, description="Multi-token prediction layers held in memory, count.")
    power: Power | None = Field(default=None, description="Price of electricity; not counted when left out.")
    power_cap_w: PowerCap | None = Field(default=None, description=POWER_CAP_HELP)
