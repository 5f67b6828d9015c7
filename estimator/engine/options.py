"""Optional parts of a plan that the engine reads: memory overrides and adapters; what targets are called."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOverrides:
    """Overrides of the engine profile's memory policy; None leaves the profile's value.

    `utilization`: share of the GPU's memory the engine may use, in (0, 1]. `kv_cache_tokens_observed`: what the server
    printed at start, tokens of KV cache of one replica; it beats the model (basis `observed`). `max_model_len`: the
    longest sequence the server takes, tokens. `prefix_caching`: whether prefixes are kept. `window_pool_ratio` and
    `state_pool_ratio`: SGLang's `swa_full_tokens_ratio` and `mamba_full_memory_ratio`. `unified_slots`: llama.cpp's
    slots share one stream (`--kv-unified`).
    """

    utilization: float | None = None
    runtime_overhead_bytes: int | None = None
    max_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    kv_cache_tokens_observed: int | None = None
    max_model_len: int | None = None
    prefix_caching: bool | None = None
    window_pool_ratio: float | None = None
    state_pool_ratio: float | None = None
    unified_slots: bool = False


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
