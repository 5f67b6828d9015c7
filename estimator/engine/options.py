"""Optional parts of a plan that the engine reads: memory overrides and adapters; what targets are called."""

from dataclasses import dataclass
from enum import StrEnum

STATE_TYPES = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Bytes of an element of a recurrent state by the name that engines give its type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOverrides:
    """Overrides of the engine profile's memory policy; None leaves the profile's value.

    `utilization`: share of the GPU's memory the engine may use, in (0, 1]. `kv_cache_tokens_observed`: what the server
    printed at start, tokens of KV cache of one replica; it beats the model (basis `observed`). The names below it are
    the engines' own: longest sequence of the server (tokens), prefixes kept or not; vLLM's scheduling of steps ahead,
    unlike layers at full length, no captured graphs, graphs up to a batch size or of stated ones; SGLang's shares of
    windows and states; llama.cpp's slots in one stream; the type that states are kept in (`STATE_TYPES`), and of which
    prefixes (vLLM: none, align, all); how many first layers have their experts in host memory (llama.cpp), and
    whether tables of n-grams lie there.
    """

    utilization: float | None = None
    runtime_overhead_bytes: int | None = None
    max_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    kv_cache_tokens_observed: int | None = None
    max_model_len: int | None = None
    enable_prefix_caching: bool | None = None
    async_scheduling: bool | None = None
    disable_hybrid_kv_cache_manager: bool | None = None
    enforce_eager: bool | None = None
    max_cudagraph_capture_size: int | None = None
    cudagraph_capture_sizes: tuple[int, ...] | None = None
    swa_full_tokens_ratio: float | None = None
    mamba_full_memory_ratio: float | None = None
    kv_unified: bool | None = None
    mamba_ssm_cache_dtype: str | None = None
    mamba_cache_mode: str | None = None
    n_cpu_moe: int | None = None
    ple_offload_embedding: bool | None = None


class BandSide(StrEnum):
    """Which end of the error band is held against a target."""

    MID = "mid"
    CONSERVATIVE = "conservative"


TARGETS = ("ttft_s", "tpot_s", "e2e_s")
OPEN_PERCENTILE = 95


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """Adapters held on the GPU at once and their largest rank."""

    max_loras: int
    max_rank: int
