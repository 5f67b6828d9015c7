"""What an engine prints of its cache at start, and what a printed figure says of its bytes."""

from dataclasses import dataclass, replace

from estimator.engine.memory.block_pools import BlockPool
from estimator.engine.memory.engine_caches import rank_caches, vllm_pool
from estimator.engine.memory.ledger import RankMemory
from estimator.engine.memory.plan import MemoryPlan, cache_settings
from estimator.engine.memory.policy import CacheLayout
from estimator.engine.memory.weight_parts import fold


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupLines:
    """The lines of a server's start on one rank.

    `kv_cache_tokens` is "GPU KV cache size", `concurrency` is "Maximum concurrency for `max_model_len` tokens per
    request" (both null where the engine prints none, or where it refuses). `longest_tokens` is the longest length that
    starts, `request_bytes` what one request of `max_model_len` takes; `refused` where the cache is smaller than that.
    """

    max_model_len: int
    available_bytes: int
    request_bytes: int
    refused: bool
    longest_tokens: int
    blocks: int | None = None
    block_bytes: int | None = None
    block_tokens: int | None = None
    groups: int | None = None
    kv_cache_tokens: int | None = None
    concurrency: float | None = None


def pool_of(plan: MemoryPlan, layers: tuple[int, ...] | None) -> BlockPool | None:
    """The pool of blocks of a rank; None for engines that keep none.

    Args:
        plan: of the replica.
        layers: number of layers of each group on the rank; None means all.
    """
    if plan.policy.cache_layout is not CacheLayout.BLOCKS:
        return None
    if ("pool", layers) not in plan.kept:
        plan.kept["pool", layers] = _pool(plan, layers)
    found = plan.kept["pool", layers]
    return found if isinstance(found, BlockPool) else None


def _pool(plan: MemoryPlan, layers: tuple[int, ...] | None) -> BlockPool | None:
    settings = cache_settings(plan)
    caches = rank_caches(
        fold(plan.architecture), plan.precision.kv_cache, plan.policy,
        tp=plan.parallelism.tp, layers=layers, settings=settings,
    )  # fmt: skip
    return vllm_pool(caches, plan.precision.kv_cache, plan.policy, settings) if caches else None


def layers_of(plan: MemoryPlan, rank: RankMemory) -> tuple[int, ...] | None:
    """The layers a rank holds, None where it holds all."""
    return rank.weights.layers if plan.parallelism.pp > 1 else None


def startup_lines(plan: MemoryPlan, rank: RankMemory, *, available_bytes: float, max_model_len: int) -> StartupLines:
    """What the server says when it starts on a rank.

    Args:
        plan: of the replica.
        rank: the rank that has least left.
        available_bytes: bytes that are left for the cache.
        max_model_len: the longest sequence the server is to take, tokens.
    """
    allocation = rank.allocation
    available = max(available_bytes, 0.0)
    need = float(allocation.load_bytes(1, max_model_len))
    refused = need > float(allocation.usable(available))
    said = StartupLines(
        max_model_len=max_model_len,
        available_bytes=int(available),
        request_bytes=round(need),
        refused=refused,
        longest_tokens=min(allocation.longest_tokens(available), max_model_len),
    )
    pool = pool_of(plan, layers_of(plan, rank))
    if pool is None or not pool.block_bytes:
        return said
    blocks = int(available // pool.block_bytes)
    concurrency = blocks * pool.block_bytes / need if need else 0.0
    return replace(
        said,
        blocks=blocks,
        block_bytes=pool.block_bytes,
        block_tokens=pool.printed_block_tokens or None,
        groups=pool.group_count,
        kv_cache_tokens=None
        if refused
        else printed_tokens(plan, rank, available_bytes=available, max_model_len=max_model_len),
        concurrency=None if refused else concurrency,
    )


def printed_tokens(plan: MemoryPlan, rank: RankMemory, *, available_bytes: float, max_model_len: int) -> int | None:
    """Tokens that an engine prints for so many bytes of cache; None where it prints none for unlike layers.

    Args:
        plan: of the replica.
        rank: that has them left.
        available_bytes: of the cache, above 0.
        max_model_len: the longest sequence the server takes, tokens.
    """
    allocation = rank.allocation
    if allocation.is_plain:
        return int(available_bytes / allocation.block_bytes[0]) * int(allocation.block_tokens[0])
    if plan.policy.cache_layout is CacheLayout.SHARES and allocation.grows:
        return int(available_bytes / float(allocation.growing_bytes_per_token))
    pool = pool_of(plan, layers_of(plan, rank))
    if pool is None or not pool.block_bytes:
        return None
    blocks = int(available_bytes // pool.block_bytes)
    if plan.policy.printed_tokens == "blocks":
        return blocks // pool.group_count * pool.printed_block_tokens if pool.printed_block_tokens else None
    need = float(allocation.load_bytes(1, max_model_len))
    return int(blocks * pool.block_bytes / need * max_model_len) if need else None


def bytes_of_printed(plan: MemoryPlan, rank: RankMemory, tokens: float) -> float:
    """Bytes of a cache whose tokens an engine printed.

    Args:
        plan: of the replica; `max_model_len` is the length the server was started with.
        rank: the rank they were printed for.
        tokens: printed on one attention-data rank.
    """
    allocation = rank.allocation
    if allocation.is_plain:
        return tokens * float(allocation.growing_bytes_per_token)
    if plan.policy.cache_layout is CacheLayout.SHARES:
        return tokens * float(allocation.growing_bytes_per_token or allocation.short_bytes_per_token)
    pool = pool_of(plan, layers_of(plan, rank))
    if pool is not None and plan.policy.printed_tokens == "blocks" and pool.printed_block_tokens:
        return tokens / pool.printed_block_tokens * pool.group_count * pool.block_bytes
    longest = max(plan.overrides.max_model_len or plan.longest_tokens, 1)
    each = tokens / longest * float(allocation.load_bytes(1, longest))
    return each if pool is not None else min(each, tokens * float(allocation.short_bytes_per_token))
