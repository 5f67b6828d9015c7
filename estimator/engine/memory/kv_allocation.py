"""What an engine allocates for the caches of sequences on a rank: blocks, chunks, windows, states."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, inf
from typing import Any

import numpy as np

from estimator.engine.memory.policy import MemoryPolicy
from estimator.engine.memory.weights import FoldedArchitecture
from estimator.engine.model.cache import kv_layout

UNLIMITED_TOKENS = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class KvAllocation:
    """Cache of sequences on one rank as the engine allocates it; bytes and tokens, numbers or arrays of many keys.

    Every one of N sequences of t tokens, r = ⌈t/block⌉ · block, takes
    bytes_per_token · r + fixed + Σ window_bytes_i · min(r, resident_i + chunk_i / N).
    `resident_tokens` is what a windowed group keeps while it decodes (the window, in blocks), infinite where the engine
    keeps everything. `chunk_tokens` is what one pass adds beside it: a pass has so many tokens for all sequences
    together, since blocks that have left the window are freed before a pass takes new ones. Windows ascend.
    """

    block_tokens: Any
    bytes_per_token: Any
    window_bytes: tuple[Any, ...]
    resident_tokens: tuple[Any, ...]
    chunk_tokens: tuple[Any, ...]
    fixed_bytes: Any

    @property
    def kept_tokens(self) -> tuple[float, ...]:
        """What a windowed group keeps of one sequence alone: window and chunk."""
        return tuple(kept + chunk for kept, chunk in zip(self.resident_tokens, self.chunk_tokens, strict=True))

    def sequence_bytes(self, tokens: Any) -> Any:
        """Bytes the engine allocates for one sequence of `tokens` tokens alone."""
        return self.load_bytes(1, tokens)

    def load_bytes(self, sequences: Any, tokens: Any) -> Any:
        """Bytes of `sequences` (1 or more) sequences of `tokens` tokens each."""
        rounded = up(tokens / self.block_tokens) * self.block_tokens
        each = self.bytes_per_token * rounded + self.fixed_bytes
        for cost, kept, chunk in zip(self.window_bytes, self.resident_tokens, self.chunk_tokens, strict=True):
            each = each + cost * least(rounded, kept + chunk / sequences)
        return sequences * each

    def sequences_within(self, budget_bytes: Any, tokens: Any) -> Any:
        """Most whole sequences that fit into `budget_bytes` when each has `tokens` tokens; 0 where not one does.

        The one count of sequences a cache holds: memory fit, speed, sizing and sweeps all take it.
        """
        found = down(self.mean_sequences_within(budget_bytes, tokens))
        if not self.window_bytes:
            return found
        # Blocks round the chunks of windows apart: the count may fall one short.
        return found + (self.load_bytes(found + 1, tokens) <= budget_bytes)

    def mean_sequences_within(self, budget_bytes: Any, tokens: Any) -> Any:
        """Sequences that fill `budget_bytes` when they have `tokens` tokens in the mean, some fewer and some more.

        Not rounded; rounded down it is `sequences_within`. The load takes the least of what it would take with a chunk
        of its own beside every window for each sequence, with one chunk of the smallest window shared by all, of the
        next, and so on: the most of what fits by each.
        """
        each = most(self.load_bytes(1, tokens), 1.0)
        found = most(budget_bytes, 0.0) / each
        if not self.window_bytes:
            return found
        rounded, shared = up(tokens / self.block_tokens) * self.block_tokens, 0.0
        for cost, kept, chunk in zip(self.window_bytes, self.resident_tokens, self.chunk_tokens, strict=True):
            each = most(each - cost * (least(rounded, kept + chunk) - least(rounded, kept)), 1.0)
            shared = shared + cost * chunk
            found = most(found, (budget_bytes - shared) / each)
        return found

    def longest_tokens(self, budget_bytes: float, sequences: int = 1) -> int:
        """The longest length (a whole number of blocks) at which so many sequences fit; at most 2^40 tokens."""
        left = budget_bytes / sequences - self.fixed_bytes
        if left < 0:
            return 0
        kept = [
            (resident + chunk / sequences, cost)
            for resident, chunk, cost in zip(self.resident_tokens, self.chunk_tokens, self.window_bytes, strict=True)
        ]
        slope = self.bytes_per_token + sum(self.window_bytes)
        reached, spent = 0.0, 0.0
        for limit, cost in [*sorted(kept), (inf, 0.0)]:
            if slope <= 0:
                return UNLIMITED_TOKENS
            end = reached + (left - spent) / slope
            if end <= limit:
                blocks = int(end / self.block_tokens + 1e-9)
                return min(blocks * int(self.block_tokens), UNLIMITED_TOKENS)
            spent += (limit - reached) * slope
            reached, slope = limit, slope - cost
        return UNLIMITED_TOKENS


def least(one: Any, other: Any) -> Any:
    """The smaller of two numbers or arrays; numpy costs ten times as much for two numbers."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.minimum(one, other)
    return min(one, other)


def up(value: Any) -> Any:
    """A number or array rounded up."""
    return np.ceil(value) if isinstance(value, np.ndarray) else ceil(value)


def down(value: Any) -> Any:
    """A number or array rounded down."""
    return np.floor(value) if isinstance(value, np.ndarray) else floor(value)


def most(one: Any, other: Any) -> Any:
    """The larger of two numbers or arrays."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.maximum(one, other)
    return max(one, other)


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

    A windowed group of one sequence keeps min(W − 1 + batched tokens, t) tokens and one block more; with the hybrid
    cache off, or a window that the engine does not apply, the whole sequence. Sparse latent attention has a layout of
    its own where the policy knows it: 132 bytes of index a token in fp8 whatever the cache format is, and 656 bytes of
    latent with scales and a 16-bit rope part in fp8.

    Source: vLLM v1 kv_cache_interface (SlidingWindowSpec.max_memory_usage_bytes); the SGLang log of DeepSeek-V3.2
    (48,072 bytes a token measured, 61 × 788 = 48,068).
    """
    # Of the policy what is read below: the hash of all of it would cost a quarter of a memory fit.
    rules = (
        policy.block_tokens, policy.hybrid_cache, policy.uniform_window, policy.window_adds_batched_tokens,
        policy.state_copies, policy.fp8_latent_bytes, policy.fp8_index_bytes,
    )  # fmt: skip
    key = ("kv", kv_format, rules, tp, tuple(layers) if layers is not None else None, batched_tokens)
    kept = folded.kept.get(key)
    if isinstance(kept, KvAllocation):
        return kept
    layout = kv_layout(folded.architecture, kv_format, tp=tp, layers=layers)
    uniform = not layout.growth_bytes_per_token and len({cost.window_tokens for cost in layout.windows}) == 1
    whole = not policy.hybrid_cache or (uniform and not policy.uniform_window)
    windows = sorted(
        (
            *((inf, 0.0) if whole else _kept_tokens(policy, cost.window_tokens, batched_tokens)),
            float(cost.bytes_per_token),
        )
        for cost in layout.windows
    )
    per_token = float(layout.growth_bytes_per_token)
    latent = any(
        group.attention is not None and group.attention.latent_rank for group in folded.architecture.layer_groups
    )
    if latent and layout.index_bytes_per_token and policy.fp8_index_bytes:
        per_token = _sparse_latent(folded, policy, layers, kv_format, per_token - float(layout.index_bytes_per_token))
    built = KvAllocation(
        block_tokens=policy.block_tokens,
        bytes_per_token=per_token,
        window_bytes=tuple(cost for _, _, cost in windows),
        resident_tokens=tuple(resident for resident, _, _ in windows),
        chunk_tokens=tuple(chunk for _, chunk, _ in windows),
        fixed_bytes=float(layout.state_bytes) * policy.state_copies,
    )
    folded.kept[key] = built
    return built


def _kept_tokens(policy: MemoryPolicy, window_tokens: int, batched_tokens: int) -> tuple[float, float]:
    """Tokens that a windowed group keeps of a sequence while it decodes, and those that one pass adds."""
    block = policy.block_tokens
    extra = max(batched_tokens - 1, 0) if policy.window_adds_batched_tokens else 0
    if block == 1:
        return float(window_tokens), float(extra)
    resident, kept = ((-(-tokens // block) + 1) * block for tokens in (window_tokens, window_tokens + extra))
    return float(resident), float(kept - resident)


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
