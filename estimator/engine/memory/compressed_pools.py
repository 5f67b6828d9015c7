"""Blocks of DeepSeek V4 in vLLM: windows, compressed entries and the states of the compressors in one pool.

Every layer keeps a window; a layer with ratio r keeps one entry for r tokens, and its compressor a fp32 state that acts
like a short window. DeepSeek V4.1 keeps entries and index on a few layers, and the state of its compressor in a ring of
one block. Source: vLLM 0.20 to 0.33, models/deepseek_v4/compressor.py and attention.py,
v1/attention/backends/mla/sparse_swa.py, v1/core/kv_cache_utils.py (0.21), kv_cache_planning.py (0.33); read 2026-11.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from estimator.engine.memory.block_pools import BlockGroup, BlockPool
from estimator.engine.memory.layer_caches import CacheKind, LayerCache

_PACKED_ALIGNMENT_BYTES, _PLAIN_ALIGNMENT_BYTES = 576, 512
_PACKED_ROW_BYTES = 584
"""Pages of fp8 rows (448 + 64 · 2 + 8 of scales) are multiples of 576 bytes, those of 16-bit rows of 512."""
_BLOCK_TOKENS = 256
_WINDOW_BLOCK_TOKENS = 64
_LIGHT_RATIO, _HEAVY_RATIO = 4, 128
# Tokens of a block of compressor states, and the window they reach: two windows of 4 overlap, one of 128 does not.
_LIGHT_STATE_BLOCK, _LIGHT_STATE_WINDOW, _LIGHT_STATE_ROWS = 4, 8, 4
_HEAVY_STATE_BLOCK, _HEAVY_STATE_WINDOW, _HEAVY_STATE_ROWS = 8, 128, 2
_STATE_BYTES_PER_ELEMENT = 4
_SCALE_BYTES_PER_INDEX_BLOCK = 4
_INDEX_BLOCK_ELEMENTS = 128


@dataclass(frozen=True, slots=True)
class _Pages:
    """Bytes of a block of each kind, and how many layers have it."""

    window: int
    light_entry: int
    light_index: int
    heavy_entry: int
    light_state: int
    index_state: int
    heavy_state: int
    windows: int
    light: int
    heavy: int
    others: int
    rings: bool


def has_compressed(caches: Sequence[LayerCache]) -> bool:
    """Whether the layers keep compressed entries."""
    return any(cache.compressed for cache in caches)


def compressed_pool(caches: Sequence[LayerCache], row_bytes: int, *, packed: bool) -> BlockPool:
    """The pool of a rank that holds layers of DeepSeek V4.

    Args:
        caches: what the layers of the rank keep; draft layers have a window only.
        row_bytes: bytes of a key/value row of one token (584 in the engine's fp8 layout: 448 + 64 · 2 + 8 of scales).
        packed: groups of different pages share one block as wide as the widest group (from 0.28), else tuples of one
            page of each kind are repeated.
    """
    pages = _pages(caches, row_bytes)
    if packed:
        width = max(_group_bytes(pages).values())
        light, heavy = int(pages.light > 0), int(pages.heavy > 0)
        per_window = -(-pages.windows // _packed_repeats(pages))
    else:
        tuples = _least_padding((max(pages.light, pages.heavy), pages.windows, pages.light, pages.heavy))
        per_window, light, heavy = (-(-layers // tuples) for layers in (pages.windows, pages.light, pages.heavy))
        longest = max(
            pages.light,
            pages.heavy,
            *(-(-layers // per) for layers, per in ((pages.windows, per_window), (pages.light, light)) if per),
        )
        width = (pages.heavy_entry + pages.light_index + pages.light_entry) * longest
    groups = (
        BlockGroup(kind=CacheKind.FULL, groups=1, block_tokens=_BLOCK_TOKENS),
        _window_group(per_window, _WINDOW_BLOCK_TOKENS, caches[0].window_tokens),
        _window_group(light, _LIGHT_STATE_BLOCK, _LIGHT_STATE_WINDOW),
        _window_group(heavy, _HEAVY_STATE_BLOCK, _HEAVY_STATE_WINDOW),
        BlockGroup(kind=CacheKind.RING, groups=int(pages.rings), block_tokens=0),
    )
    return BlockPool(block_bytes=width, groups=tuple(group for group in groups if group.groups))


def _window_group(groups: int, block_tokens: int, window_tokens: int) -> BlockGroup:
    return BlockGroup(kind=CacheKind.WINDOW, groups=groups, block_tokens=block_tokens, window_tokens=window_tokens)


def _pages(caches: Sequence[LayerCache], row_bytes: int) -> _Pages:
    light = sum(cache.layers for cache in caches if cache.compress_ratio == _LIGHT_RATIO)
    heavy = sum(cache.layers for cache in caches if cache.compress_ratio == _HEAVY_RATIO)
    head = max(cache.entry_elements for cache in caches)
    index = max((cache.index_elements for cache in caches if cache.compress_ratio), default=0)
    index_row = index + index // _INDEX_BLOCK_ELEMENTS * _SCALE_BYTES_PER_INDEX_BLOCK
    state = _STATE_BYTES_PER_ELEMENT
    page = partial(
        _aligned, alignment=_PACKED_ALIGNMENT_BYTES if row_bytes == _PACKED_ROW_BYTES else _PLAIN_ALIGNMENT_BYTES
    )
    return _Pages(
        window=page(_WINDOW_BLOCK_TOKENS * row_bytes),
        light_entry=page(_BLOCK_TOKENS // _LIGHT_RATIO * row_bytes),
        light_index=page(_BLOCK_TOKENS // _LIGHT_RATIO * index_row),
        heavy_entry=page(_BLOCK_TOKENS // _HEAVY_RATIO * row_bytes),
        light_state=page(_LIGHT_STATE_BLOCK * _LIGHT_STATE_ROWS * head * state),
        index_state=page(_LIGHT_STATE_BLOCK * _LIGHT_STATE_ROWS * index * state),
        heavy_state=page(_HEAVY_STATE_BLOCK * _HEAVY_STATE_ROWS * head * state),
        windows=sum(cache.layers for cache in caches),
        light=light,
        heavy=heavy,
        others=sum(_other_entries(cache, row_bytes, index_row, page) for cache in caches),
        rings=any(cache.compress_ratio > 1 and not _is_of_v4(cache) for cache in caches),
    )


def _is_of_v4(cache: LayerCache) -> bool:
    return cache.compress_ratio in (_LIGHT_RATIO, _HEAVY_RATIO)


def _other_entries(cache: LayerCache, row_bytes: int, index_row: int, page: Callable[[int], int]) -> int:
    """Bytes of a block of entries and index of layers with another ratio (DeepSeek V4.1)."""
    if not cache.compress_ratio or _is_of_v4(cache):
        return 0
    rows = _BLOCK_TOKENS // cache.compress_ratio
    index = page(rows * index_row) if cache.index_elements else 0
    return cache.layers * (page(rows * row_bytes) + index)


def _packed_repeats(pages: _Pages) -> int:
    counts = tuple(layers for layers in (pages.windows, pages.light, pages.heavy) if layers)
    return _least_padding((pages.light or min(counts), *counts))


def group_bytes(caches: Sequence[LayerCache], row_bytes: int) -> dict[str, int]:
    """Bytes of the packed groups of a rank: entries with their index, a group of windows, states of each compressor.

    Args:
        caches: what the layers of the rank keep.
        row_bytes: bytes of a key/value row of one token.
    """
    return _group_bytes(_pages(caches, row_bytes))


def _group_bytes(pages: _Pages) -> dict[str, int]:
    windows = -(-pages.windows // -(-pages.windows // _packed_repeats(pages)))
    return {
        "entries": pages.others
        + pages.heavy * pages.heavy_entry
        + pages.light * (pages.light_index + pages.light_entry),
        "windows": windows * pages.window,
        "light_states": pages.light * (pages.light_state + pages.index_state),
        "heavy_states": pages.heavy * pages.heavy_state,
    }


def _least_padding(counts: Sequence[int]) -> int:
    """The number from the first count on that pads the other counts least to its multiples; the largest of equals."""
    low, values = max(counts[0], 1), [count for count in counts if count]
    return min(
        range(low, max(values, default=low) + 1),
        key=lambda number: (sum(-count % number for count in values), -number),
    )


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
