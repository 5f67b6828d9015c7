"""How each engine lays out the caches of a rank: pages of tokens, pools of blocks, pools of shares, streams of cells.

Sources: vLLM 0.11 to 0.33 (v1/kv_cache_interface.py, v1/core/kv_cache_utils.py, kv_cache_planning.py), SGLang 0.5.23
(model_executor/pool_configurator.py, mem_cache/kv_cache_configurator.py), llama.cpp of 2026-10-01 (llama-context.cpp,
llama-kv-cache-iswa.cpp, llama-memory-recurrent.cpp); read 2026-11.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

from estimator.engine.memory.block_pools import BlockGroup, BlockPool, BlockRules, block_pool
from estimator.engine.memory.compressed_pools import compressed_pool, has_compressed
from estimator.engine.memory.kv_allocation import KvAllocation
from estimator.engine.memory.layer_caches import CacheBytes, CacheKind, LayerCache, layer_caches
from estimator.engine.memory.policy import CacheLayout, MemoryPolicy
from estimator.engine.memory.weight_parts import FoldedArchitecture

_FP8_ROW_SCALE_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """Settings of a server that decide its caches; None leaves what the engine's version does by default.

    `batched_tokens`: most tokens of one pass (or of a micro-batch), `in_flight_batches` of them at once.
    `whole_windows`: windowed layers are kept as whole ones. `prefix_caching`: whether prefixes are kept.
    `draft_tokens` of speculation and `draft` layers that share the cache. `window_pool_ratio` and `state_pool_ratio`:
    SGLang's `swa_full_tokens_ratio` and `mamba_full_memory_ratio`. `unified`: llama.cpp's slots share one stream.
    `recurrent_element_bytes`: of the recurrent part of states, where the server says its type. `state_mode`: vLLM's
    `mamba_cache_mode` (none, align, all).
    """

    batched_tokens: int = 0
    in_flight_batches: int = 1
    whole_windows: bool = False
    prefix_caching: bool | None = None
    draft_tokens: int = 0
    draft: tuple[LayerCache, ...] = ()
    window_pool_ratio: float | None = None
    state_pool_ratio: float | None = None
    unified: bool = False
    recurrent_element_bytes: int | None = None
    state_mode: str | None = None


def kv_allocation(
    folded: FoldedArchitecture,
    kv_format: str,
    policy: MemoryPolicy,
    *,
    tp: int = 1,
    layers: Sequence[int] | None = None,
    settings: CacheSettings | None = None,
) -> KvAllocation:
    """The allocation of one rank.

    Args:
        folded: the model.
        kv_format: format of keys and values.
        policy: of the engine's version.
        tp: tensor-parallel degree; latent caches are not split.
        layers: number of layers of each group held (a pipeline stage); None means all.
        settings: of the server.
    """
    settings = settings or CacheSettings()
    key = ("kv", kv_format, policy.cache_rules, tp, tuple(layers) if layers is not None else None, settings)
    kept = folded.kept.get(key)
    if isinstance(kept, KvAllocation):
        return kept
    caches = rank_caches(folded, kv_format, policy, tp=tp, layers=layers, settings=settings)
    built = _allocation(caches, kv_format, policy, settings)
    folded.kept[key] = built
    return built


def rank_caches(
    folded: FoldedArchitecture,
    kv_format: str,
    policy: MemoryPolicy,
    *,
    tp: int = 1,
    layers: Sequence[int] | None = None,
    settings: CacheSettings,
) -> tuple[LayerCache, ...]:
    """What the layers of a rank keep, a draft's layers behind the model's."""
    size = CacheBytes(
        kv_format=kv_format,
        tp=tp,
        latent_bytes=policy.fp8_latent_bytes,
        unrotated_latent_bytes=policy.fp8_unrotated_latent_bytes,
        index_bytes=policy.fp8_index_bytes,
        state_element_bytes=policy.state_element_bytes,
        recurrent_element_bytes=settings.recurrent_element_bytes or policy.recurrent_element_bytes,
        draft_tokens=settings.draft_tokens if policy.draft_lengthens_convolution else 0,
    )
    return (*layer_caches(folded.architecture, size, layers=layers), *settings.draft)


def vllm_pool(caches: Sequence[LayerCache], kv_format: str, policy: MemoryPolicy, settings: CacheSettings) -> BlockPool:
    """The pool of blocks of a rank under the rules of the policy's version."""
    if has_compressed(caches):
        return compressed_pool(caches, _row_bytes(caches, kv_format), packed=policy.packed_groups)
    if not policy.hybrid_cache or settings.whole_windows:
        caches = [_without_window(cache) for cache in caches]
    rules = BlockRules(
        block_tokens=policy.block_tokens,
        group_padding=policy.group_padding,
        latent_alignment_tokens=policy.latent_alignment_tokens,
        packed=policy.packed_groups,
    )
    return block_pool(caches, rules)


def _without_window(cache: LayerCache) -> LayerCache:
    return replace(cache, kind=CacheKind.FULL, window_tokens=0) if cache.window_tokens else cache


def state_blocks(policy: MemoryPolicy, settings: CacheSettings) -> int:
    """Blocks that one sequence takes of a group of states: 1 + k, or 2 + k where prefixes are kept (k draft tokens)."""
    kept = policy.states_keep_prefixes if settings.prefix_caching is None else settings.prefix_caching
    if settings.state_mode is not None:
        kept = settings.state_mode != "none"
    return (policy.state_blocks_with_prefixes if kept else 1) + settings.draft_tokens


def _allocation(
    caches: Sequence[LayerCache], kv_format: str, policy: MemoryPolicy, settings: CacheSettings
) -> KvAllocation:
    if not caches:
        return KvAllocation(block_bytes=(), block_tokens=(), resident_blocks=(), chunk_blocks=())
    match policy.cache_layout:
        case CacheLayout.BLOCKS:
            return _blocks(vllm_pool(caches, kv_format, policy, settings), policy, settings)
        case CacheLayout.SHARES:
            return _shares(caches, policy, settings)
        case CacheLayout.CELLS:
            return _cells(caches, policy, settings)
        case CacheLayout.TOKENS:
            return _tokens(caches, policy, settings)


def _row_bytes(caches: Sequence[LayerCache], kv_format: str) -> int:
    """Bytes of a key/value row: 8-bit values but for 64 elements of position in 16 bits, with scales."""
    elements = max(cache.entry_elements for cache in caches)
    if kv_format != "fp8":
        return int(max(cache.token_bytes for cache in caches))
    return elements + 64 + _FP8_ROW_SCALE_BYTES


def _blocks(pool: BlockPool, policy: MemoryPolicy, settings: CacheSettings) -> KvAllocation:
    """Groups of a pool: ⌈t/b⌉ blocks of whole layers, ⌈min(W - 1 + in flight, t)/b⌉ + 1 of windows, states constant."""
    in_flight = settings.batched_tokens * settings.in_flight_batches
    unit = float(pool.block_bytes)
    kinds: list[tuple[float, float, float, float]] = []
    fixed = 0.0
    for group in pool.groups:
        size = unit * group.groups
        if group.kind is CacheKind.STATE:
            if settings.state_mode == "all" and pool.printed_block_tokens:
                kinds.append((size, float(pool.printed_block_tokens), inf, 0.0))  # a state for each block of tokens
            else:
                fixed += size * state_blocks(policy, settings)
            continue
        if group.kind is CacheKind.RING:
            fixed += size
            continue
        resident, chunk = _kept_blocks(group, in_flight)
        kinds.append((size, float(group.block_tokens), resident, chunk))
        if group.kind is CacheKind.WINDOW:
            fixed += size
    return _built(kinds, fixed=fixed, unit=unit)


def _kept_blocks(group: BlockGroup, in_flight_tokens: int) -> tuple[float, float]:
    """Blocks that a kind keeps while it decodes, and those that a pass adds."""
    if group.kind is CacheKind.FULL:
        return inf, 0.0
    first = 1 if group.kind is CacheKind.WINDOW else 0
    resident = -(-group.window_tokens // group.block_tokens)
    kept = -(-(group.window_tokens - first + in_flight_tokens) // group.block_tokens)
    return float(resident), float(max(kept - resident, 0))


def _tokens(caches: Sequence[LayerCache], policy: MemoryPolicy, settings: CacheSettings) -> KvAllocation:
    """Pages of tokens without padding: windowed layers keep window and pass, in whole blocks and one more."""
    block = policy.block_tokens
    uniform = len({(cache.kind, cache.window_tokens) for cache in caches}) == 1
    whole = settings.whole_windows or not policy.hybrid_cache or (uniform and not policy.uniform_window)
    kinds: dict[tuple[float, float], Fraction] = {}
    fixed = Fraction(0)
    for cache in caches:
        fixed += cache.layers * cache.state_bytes
        key = (inf, 0.0) if whole else _kept_tokens(cache, policy, settings.batched_tokens)
        if cache.token_bytes and not (cache.compressed and not cache.window_tokens):
            kinds[key] = kinds.get(key, Fraction(0)) + cache.layers * cache.token_bytes
        if cache.compress_ratio:
            kinds[inf, 0.0] = kinds.get((inf, 0.0), Fraction(0)) + _entry_bytes(cache)
    return _built(
        [(float(size * block), float(block), resident, chunk) for (resident, chunk), size in kinds.items()],
        fixed=float(fixed),
    )


def _entry_bytes(cache: LayerCache) -> Fraction:
    """Mean bytes a token of compressed entries and their index, in the format of the cache."""
    element = cache.token_bytes / cache.entry_elements
    return cache.layers * element * (cache.entry_elements + cache.index_elements) / cache.compress_ratio


def _kept_tokens(cache: LayerCache, policy: MemoryPolicy, batched_tokens: int) -> tuple[float, float]:
    """Blocks that a windowed kind keeps of a sequence while it decodes, and those that one pass adds."""
    if cache.kind not in (CacheKind.WINDOW, CacheKind.CHUNK):
        return inf, 0.0
    block = policy.block_tokens
    extra = max(batched_tokens - 1, 0) if policy.window_adds_batched_tokens else 0
    if block == 1:
        return float(cache.window_tokens), float(extra)
    resident, kept = (-(-tokens // block) + 1 for tokens in (cache.window_tokens, cache.window_tokens + extra))
    return float(resident), float(kept - resident)


def _shares(caches: Sequence[LayerCache], policy: MemoryPolicy, settings: CacheSettings) -> KvAllocation:
    """SGLang: states have r_s/(1 + r_s) of the cache, windows r_w tokens for each token of whole layers, in any load.

    A sequence takes t tokens of whole layers, at most its window (and a pass) of windowed ones, and its state slots.
    The cell of a token is the bytes of whole layers and r_w times those of windows.
    """
    window_ratio = settings.window_pool_ratio or policy.window_pool_ratio
    state_ratio = settings.state_pool_ratio or policy.state_pool_ratio
    block = float(policy.block_tokens)
    whole = windows = states = Fraction(0)
    kept: tuple[float, float] = (inf, 0.0)
    for cache in caches:
        states += cache.layers * cache.state_bytes
        if cache.kind is CacheKind.FULL:
            whole += cache.layers * cache.token_bytes
        elif cache.token_bytes:
            windows += cache.layers * cache.token_bytes
            kept = _kept_tokens(cache, policy, settings.batched_tokens)
        if cache.compress_ratio:
            whole += _entry_bytes(cache)
    attending = 1.0 + state_ratio if states and (whole or windows) else 1.0
    only_windows = bool(windows) and not whole
    cell = float(whole) + (1.0 if only_windows else window_ratio) * float(windows)
    kinds = [(cell * attending * block, block, inf, 0.0)] if whole else []
    if windows:
        kinds.append((cell * attending * block / (1.0 if only_windows else window_ratio), block, *kept))
    slots = state_slots(policy, settings)
    share = attending / state_ratio if attending > 1.0 else 1.0
    return _built(kinds, fixed=float(states) * slots * share, pooled=1.0 if len(kinds) > 1 or states else 0.0)


def state_slots(policy: MemoryPolicy, settings: CacheSettings) -> int:
    """State slots of one request in SGLang: 3 where the radix cache keeps prefixes, else 1, and one a draft token."""
    kept = policy.states_keep_prefixes if settings.prefix_caching is None else settings.prefix_caching
    return (policy.state_blocks_with_prefixes if kept else 1) + settings.draft_tokens


def _cells(caches: Sequence[LayerCache], policy: MemoryPolicy, settings: CacheSettings) -> KvAllocation:
    """llama.cpp: ⌈context of a slot⌉ cells, windows at most window and micro-batch, in multiples of the block.

    With one unified stream the micro-batch counts once for all slots. States are kept for each slot, and once more for
    each token of a draft.
    """
    block = policy.block_tokens
    kinds: list[tuple[float, float, float, float]] = []
    fixed = Fraction(0)
    for cache in caches:
        fixed += cache.layers * cache.state_bytes * (1 + settings.draft_tokens)
        size = float(cache.layers * cache.token_bytes * block)
        if cache.kind is CacheKind.FULL:
            kinds.append((size, float(block), inf, 0.0))
        elif cache.token_bytes:
            batch = settings.batched_tokens
            split = -(-(cache.window_tokens + batch) // block)
            resident = cache.window_tokens / block if settings.unified else float(split)
            kinds.append((size, float(block), resident, batch / block if settings.unified else 0.0))
        if cache.compress_ratio:
            span = float(block * cache.compress_ratio)
            kinds.append((float(_entry_bytes(cache) * Fraction(span)), span, inf, 0.0))
    return _built(kinds, fixed=float(fixed))


def _built(
    kinds: Sequence[tuple[float, float, float, float]], *, fixed: float, unit: float = 0.0, pooled: float = 0.0
) -> KvAllocation:
    """The allocation of kinds (bytes of a block, its tokens, blocks kept, blocks of a pass), windows ascending."""
    ordered = sorted(kinds, key=lambda kind: (kind[2] != inf, kind[2] * kind[1], kind[3]))
    columns: list[tuple[float, ...]] = list(zip(*ordered, strict=True)) or [(), (), (), ()]
    return KvAllocation(
        block_bytes=columns[0],
        block_tokens=columns[1],
        resident_blocks=columns[2],
        chunk_blocks=columns[3],
        fixed_bytes=fixed,
        unit_bytes=unit,
        pooled=pooled,
    )
