"""What an engine allocates for the cache of a sequence on a rank: blocks, chunks, windows, states."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from estimator.engine.architecture.kv_cache import KvLayout, kv_layout
from estimator.engine.memory.policy import MemoryPolicy
from estimator.engine.memory.weights import FoldedArchitecture

UNLIMITED_TOKENS = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class KvAllocation:
    """Cache bytes of one sequence on one rank as the engine allocates them.

    bytes(t) = per_token · blocks(t) + Σ w_i · min(blocks(t), kept_i) + fixed, blocks(t) = ⌈t/block⌉ · block;
    `kept_tokens[i]` is what a windowed group keeps at most (window, chunk and a block more), infinite where the
    engine keeps everything.
    """

    layout: KvLayout
    block_tokens: int
    bytes_per_token: float
    window_bytes: tuple[float, ...]
    kept_tokens: tuple[float, ...]
    fixed_bytes: float

    def sequence_bytes(self, tokens: float) -> float:
        """Bytes the engine allocates for a sequence of `tokens` tokens."""
        block = self.block_tokens
        rounded = -(-tokens // block) * block
        total = self.bytes_per_token * rounded + self.fixed_bytes
        for cost, kept in zip(self.window_bytes, self.kept_tokens, strict=True):
            total += cost * (rounded if rounded < kept else kept)
        return total

    def sequences_bytes(self, tokens: NDArray[np.float64]) -> NDArray[np.float64]:
        """`sequence_bytes` over an array of lengths."""
        rounded = np.ceil(tokens / self.block_tokens) * self.block_tokens
        total = self.bytes_per_token * rounded + self.fixed_bytes
        for cost, kept in zip(self.window_bytes, self.kept_tokens, strict=True):
            total = total + cost * np.minimum(rounded, kept)
        return total

    def longest_tokens(self, budget_bytes: float) -> int:
        """The longest sequence (a whole number of blocks) that fits into `budget_bytes`; at most 2^40 tokens."""
        left = budget_bytes - self.fixed_bytes
        if left < 0:
            return 0
        kept = sorted(zip(self.kept_tokens, self.window_bytes, strict=True))
        slope = self.bytes_per_token + sum(self.window_bytes)
        reached, spent = 0.0, 0.0
        for limit, cost in [*kept, (inf, 0.0)]:
            if slope <= 0:
                return UNLIMITED_TOKENS
            end = reached + (left - spent) / slope
            if end <= limit:
                blocks = int(end / self.block_tokens + 1e-9)
                return min(blocks * self.block_tokens, UNLIMITED_TOKENS)
            spent += (limit - reached) * slope
            reached, slope = limit, slope - cost
        return UNLIMITED_TOKENS


def kv_allocation(
    folded: FoldedArchitecture,
    kv_format: str,
    policy: MemoryPolicy,
    *,
    tp: int = 1,
    layers: Sequence[int] | None = None,
    batched_tokens: int = 0,
) -> KvAllocation:
    """The allocation of one rank.

    A windowed group keeps min(W − 1 + batched tokens, t) tokens and one block more; with the hybrid cache off it keeps
    the whole sequence. Sparse latent attention has a layout of its own where the policy knows it: 132 bytes of index a
    token in fp8 whatever the cache format is, and 656 bytes of latent with scales and a 16-bit rope part in fp8.

    Source: vLLM v1 kv_cache_interface (SlidingWindowSpec.max_memory_usage_bytes); the SGLang log of DeepSeek-V3.2
    (48,072 bytes a token measured, 61 × 788 = 48,068).
    """
    key = ("kv", kv_format, policy, tp, tuple(layers) if layers is not None else None, batched_tokens)
    kept = folded.kept.get(key)
    if isinstance(kept, KvAllocation):
        return kept
    layout = kv_layout(folded.architecture, kv_format, tp=tp, layers=layers)
    block = policy.block_tokens
    extra = batched_tokens - 1 if policy.window_adds_batched_tokens else 0
    window_bytes, limits = [], []
    for cost in layout.windows:
        window_bytes.append(float(cost.bytes_per_token))
        if not policy.hybrid_cache:
            limits.append(inf)
            continue
        tokens = cost.window_tokens + max(extra, 0)
        limits.append(float((-(-tokens // block) + 1) * block) if block > 1 else float(tokens))
    per_token = float(layout.growth_bytes_per_token)
    latent = any(
        group.attention is not None and group.attention.latent_rank for group in folded.architecture.layer_groups
    )
    if latent and layout.index_bytes_per_token and policy.fp8_index_bytes:
        per_token = _sparse_latent(folded, policy, layers, kv_format, per_token - float(layout.index_bytes_per_token))
    built = KvAllocation(
        layout=layout,
        block_tokens=block,
        bytes_per_token=per_token,
        window_bytes=tuple(window_bytes),
        kept_tokens=tuple(limits),
        fixed_bytes=float(layout.state_bytes) * policy.state_copies,
    )
    folded.kept[key] = built
    return built


def _sparse_latent(
    folded: FoldedArchitecture, policy: MemoryPolicy, layers: Sequence[int] | None, kv_format: str, plain: float
) -> float:
    """Bytes a token of sparse latent attention as the kernels lay it out: the index in fp8 whatever the cache is.

    `plain` are the bytes without the index, which an fp8 cache replaces by its own layout.
    """
    latent = index = 0
    for position, group in enumerate(folded.architecture.layer_groups):
        attention = group.attention
        if attention is None or not attention.latent_rank:
            continue
        held = group.layers if layers is None else layers[position]
        latent += held * policy.fp8_latent_bytes
        if attention.index_head_dim and attention.stores_index:
            index += held * policy.fp8_index_bytes
    return (float(latent) if kv_format == "fp8" and policy.fp8_latent_bytes else plain) + index
