"""Blocks of vLLM: unlike layers share one pool of equal blocks, in groups that each take blocks of their own.

Source: vLLM 0.11 to 0.33, v1/core/kv_cache_utils.py, kv_cache_planning.py, platforms/interface.py (read 2026-11).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from estimator.engine.memory.layer_caches import CacheKind, LayerCache


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRules:
    """What decides the blocks of one engine version; tokens and factors.

    `group_padding`: groups are as large as the largest kind of layer where it has fewer than this many times the layers
    of the smallest, else as the smallest. `state_alignment_tokens` and `latent_alignment_tokens`: what the block of
    attention is a multiple of where it must hold a state. `packed`: pages of different size lie beside each other in a
    block, so that the index of sparse attention does not make the block of a state smaller.
    """

    block_tokens: int = 16
    group_padding: float = 1.0
    state_alignment_tokens: int = 16
    latent_alignment_tokens: int = 64
    packed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockGroup:
    """`groups` groups of layers that take blocks alike: of `block_tokens` tokens, or of one state (0 tokens)."""

    kind: CacheKind
    groups: int
    block_tokens: int
    window_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPool:
    """A pool of equal blocks of `block_bytes` bytes on a rank, and the groups that take them."""

    block_bytes: int
    groups: tuple[BlockGroup, ...]

    @property
    def group_count(self) -> int:
        """Groups in all."""
        return sum(group.groups for group in self.groups)

    @property
    def printed_block_tokens(self) -> int:
        """Tokens of the smallest block, as the engine prints it (0 where only states are kept)."""
        return min((group.block_tokens for group in self.groups if group.block_tokens), default=0)


@dataclass(frozen=True, slots=True)
class _Page:
    """A kind of layer with the block its kernel takes and the bytes of that block."""

    cache: LayerCache
    block_tokens: int
    page_bytes: Fraction


def state_block_tokens(state_bytes: Fraction, token_bytes: Fraction, alignment_tokens: int) -> int:
    """Tokens of an attention block whose page holds a state: a · ⌈state bytes / (a · bytes of a token)⌉.

    Args:
        state_bytes: bytes of the largest state of a layer, above 0.
        token_bytes: bytes of a token in one attention layer, above 0.
        alignment_tokens: tokens a that the block is a multiple of, 1 or more.

    Source: vLLM platforms/interface.py, `_align_hybrid_block_size`.

    >>> from fractions import Fraction
    >>> state_block_tokens(Fraction(2_146_304), Fraction(1024), 16)  # Qwen3.6-35B-A3B in fp8; the log says 2,096
    2096
    """
    return alignment_tokens * ceil(state_bytes / (alignment_tokens * token_bytes))


def block_pool(caches: Sequence[LayerCache], rules: BlockRules) -> BlockPool:
    """The pool of a rank.

    Layers of one type are one group whose page is the sum of theirs. Else every page is made as large as the largest:
    by a larger block where it divides, else by padding; layers alike are split into groups of one size. A second
    state of a layer, and the tokens that wait for the next key of an index, are groups of their own.

    Args:
        caches: what the layers of the rank keep, at least one.
        rules: of the engine's version.
    """
    alone = tuple(BlockGroup(kind=CacheKind.STATE, groups=1, block_tokens=0) for cache in caches if cache.apart)
    if rules.packed and any(cache.index_ratio > 1 for cache in caches):
        alone += (BlockGroup(kind=CacheKind.RING, groups=1, block_tokens=0),)
    pool = _grouped([cache for cache in caches if not cache.apart], rules)
    return replace(pool, groups=pool.groups + alone) if alone else pool


def _grouped(caches: Sequence[LayerCache], rules: BlockRules) -> BlockPool:
    if _uniform(caches):
        return _one_group(caches, rules)
    pages = _pages(caches, rules)
    largest = max(page.page_bytes for page in pages)
    buckets: dict[tuple[CacheKind, int, int], int] = {}
    for page in pages:
        tokens = page.block_tokens
        if tokens and not largest % page.page_bytes:
            tokens *= int(largest / page.page_bytes)
        key = (page.cache.kind, tokens, page.cache.window_tokens)
        buckets[key] = buckets.get(key, 0) + page.cache.layers
    size = _group_size(list(buckets.values()), rules.group_padding)
    return BlockPool(
        block_bytes=ceil(largest * size),
        groups=tuple(
            BlockGroup(kind=kind, groups=-(-layers // size), block_tokens=tokens, window_tokens=window)
            for (kind, tokens, window), layers in buckets.items()
        ),
    )


def _uniform(caches: Sequence[LayerCache]) -> bool:
    """Whether all layers have one type: all whole, or windows or chunks of one length, or states of one size."""
    first = caches[0]
    return all(
        cache.kind is first.kind
        and cache.window_tokens == first.window_tokens
        and (cache.kind is not CacheKind.STATE or cache.state_bytes == first.state_bytes)
        for cache in caches
    )


def _one_group(caches: Sequence[LayerCache], rules: BlockRules) -> BlockPool:
    first = caches[0]
    if first.kind is CacheKind.STATE:
        each = sum((cache.state_bytes * cache.layers for cache in caches), Fraction(0))
        tokens = 0
    else:
        each = sum((cache.token_bytes * cache.layers for cache in caches), Fraction(0)) * rules.block_tokens
        tokens = rules.block_tokens
    group = BlockGroup(kind=first.kind, groups=1, block_tokens=tokens, window_tokens=first.window_tokens)
    return BlockPool(block_bytes=ceil(each), groups=(group,))


def _pages(caches: Sequence[LayerCache], rules: BlockRules) -> list[_Page]:
    """Each kind of layer with its block; beside states the block of attention is as large as the largest state."""
    attending = [cache for cache in caches if cache.kind is not CacheKind.STATE]
    states = [cache.state_bytes for cache in caches if cache.kind is CacheKind.STATE]
    block = rules.block_tokens
    if states and attending:
        latent = any(cache.latent for cache in attending)
        alignment = rules.latent_alignment_tokens if latent else rules.state_alignment_tokens
        each = max(cache.token_bytes - (cache.index_token_bytes if rules.packed else 0) for cache in attending)
        block = max(state_block_tokens(max(states), each, alignment), rules.block_tokens)
    return [
        _Page(cache, 0, cache.state_bytes)
        if cache.kind is CacheKind.STATE
        else _Page(cache, block, cache.token_bytes * block)
        for cache in caches
    ]


def _group_size(layers: Sequence[int], padding: float) -> int:
    """Layers of a group: those of the largest kind where they are below `padding` times the smallest, else of that."""
    return max(layers) if max(layers) < min(layers) * padding else min(layers)
