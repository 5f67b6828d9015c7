"""What an estimate says of each figure that a server prints at start."""

from estimator.engine.memory.ledger import RankMemory
from estimator.engine.memory.plan import MemoryPlan, batched_tokens_of, share_of_memory
from estimator.engine.memory.replica_cache import cache_bytes
from estimator.engine.memory.startup_lines import StartupLines, printed_tokens, startup_lines
from estimator.engine.memory.startup_log import StartupLog
from estimator.estimates.memory_fit.compute import MemoryEstimate

SETTINGS = {
    "utilization": "memory.utilization",
    "max_model_len": "memory.max_model_len",
    "max_num_seqs": "memory.max_num_seqs",
    "max_batched_tokens": "memory.max_batched_tokens",
    "tp": "parallelism.tp",
    "pp": "parallelism.pp",
}
"""Printed settings, and where a request says them."""
FOLLOWING = ("kv_cache_tokens", "blocks", "concurrency")
"""Figures that follow from the bytes of the cache."""
_SHARE, _ROUNDED_BYTES, _ROUNDED = 0.01, 2**30 / 100, 0.005


def agrees(name: str, printed: float, said: float) -> bool:
    """Whether a printed figure is what was said: settings exactly, bytes and counts within 1 % or what is rounded off.

    Args:
        name: of the figure.
        printed: by the server.
        said: by the estimate, the same unit.

    >>> agrees("weights_bytes", 14.99 * 2**30, 14.96 * 2**30), agrees("max_model_len", 4096, 8192)
    (True, False)
    """
    if name in SETTINGS:
        return abs(printed - said) <= _ROUNDED * (name == "utilization")
    slack = _ROUNDED_BYTES if name.endswith("_bytes") and name != "cache_token_bytes" else _ROUNDED
    return abs(printed - said) <= max(_SHARE * abs(said), slack)


def said_figures(estimate: MemoryEstimate, log: StartupLog) -> dict[str, float]:
    """What the estimate says, by name of the figure; lines that depend on the length are said at the log's own."""
    memory, rank = estimate.memory, estimate.fit.rank
    available = cache_bytes(memory, rank)
    length = length_of(estimate, log)
    lines = lines_at(memory, rank, available, length)
    said: dict[str, float | None] = {
        "memory_bytes": rank.memory_bytes,
        "utilization": share_of_memory(memory),
        "weights_bytes": rank.weights_bytes,
        "runtime_overhead_bytes": rank.runtime_overhead_bytes,
        "activation_bytes": rank.activation_bytes + rank.outside_activation_bytes,
        "cuda_graph_bytes": rank.cuda_graph_bytes + rank.outside_graph_bytes,
        "captured_graph_bytes": rank.cuda_graph_bytes + rank.outside_graph_bytes,
        "kv_cache_bytes": _cache_said(estimate, available),
        "cache_token_bytes": float(rank.allocation.growing_bytes_per_token) if rank.allocation.grows else None,
        "kv_cache_tokens": tokens_at(memory, rank, available, length),
        "concurrency": lines.concurrency,
        "blocks": lines.blocks,
        "block_tokens": lines.block_tokens or rank.allocation.main_block_tokens,
        "request_bytes": lines.request_bytes,
        "longest_tokens": lines.longest_tokens,
        "max_model_len": memory.overrides.max_model_len or estimate.fit.context_tokens,
        "max_num_seqs": rank.max_num_seqs,
        "max_batched_tokens": batched_tokens_of(memory),
        "tp": memory.parallelism.tp,
        "pp": memory.parallelism.pp,
    }
    if estimate.plan.engine.engine == "llama.cpp":
        # It makes the slots that are asked for, each as long as asked: the whole context is their sum.
        said |= {"context_tokens": estimate.fit.context_tokens * estimate.fit.sequences}
        said |= {"max_num_seqs": estimate.fit.sequences, "block_tokens": None}
    return {name: float(value) for name, value in said.items() if value is not None}


def _cache_said(estimate: MemoryEstimate, available: float) -> float:
    """llama.cpp makes the cache that its slots need; the others take what is left."""
    return float(estimate.fit.needed_bytes) if estimate.plan.engine.engine == "llama.cpp" else max(available, 0.0)


def length_of(estimate: MemoryEstimate, log: StartupLog) -> int:
    """The longest sequence of the server: as the log prints it, else as asked."""
    asked = estimate.memory.overrides.max_model_len or estimate.fit.context_tokens
    return max(int(log.first("max_model_len") or asked), 1)


def lines_at(memory: MemoryPlan, rank: RankMemory, available: float, length: int) -> StartupLines:
    """What the engine's version prints of a cache of so many bytes."""
    return startup_lines(memory, rank, available_bytes=available, max_model_len=length)


def tokens_at(memory: MemoryPlan, rank: RankMemory, available: float, length: int) -> int | None:
    """Tokens that the engine's version prints of it."""
    if available <= 0:
        return None
    return printed_tokens(memory, rank, available_bytes=available, max_model_len=length)
