"""What the server will print of its cache at start, or with which words it refuses."""

from typing import Any

from estimator.engine.memory.replica_cache import cache_bytes
from estimator.engine.memory.startup_lines import StartupLines, startup_lines
from estimator.estimates.answers import part_of, shown, values_of
from estimator.estimates.memory_fit.compute import MemoryEstimate

_GIB = 2**30


Startup: Any = part_of(
    StartupLines,
    "Startup",
    "The start of one server process on the GPU that has least left; compare it with the server's own log.",
    max_model_len="Longest sequence the server takes, tokens: as asked, or the load's length.",
    available_bytes="Memory that is left for the KV cache, bytes.",
    request_bytes="KV cache that one request of max_model_len takes, bytes.",
    refused="Whether the server refuses to start: one longest request does not fit.",
    longest_tokens="Longest max_model_len that starts, tokens, up to the one asked for.",
    blocks="Blocks of the pool, count; null for engines without such a pool.",
    block_bytes="Bytes of a block on one GPU; null without a pool.",
    block_tokens="Tokens of the smallest block; null without a pool.",
    groups="Groups of layers that take blocks of their own, count; null without a pool.",
    kv_cache_tokens="Tokens of the KV cache as the engine prints them; null where it prints none or refuses.",
    concurrency="Requests of max_model_len that the pool holds, as the engine prints it; null where it refuses.",
    lines=shown("The lines of the log, or of the refusal, in the engine's words.", kind=list[str]),
)


def startup_of(estimate: MemoryEstimate) -> Startup:
    """The start of the server of an estimate."""
    memory, rank = estimate.memory, estimate.fit.rank
    said = startup_lines(
        memory,
        rank,
        available_bytes=cache_bytes(memory, rank),
        max_model_len=memory.overrides.max_model_len or estimate.fit.context_tokens,
    )
    return Startup(
        **values_of(said),
        lines=_lines(estimate.plan.engine.engine, said),
    )


def _lines(engine: str, said: StartupLines) -> list[str]:
    """Source: vLLM v1/core/kv_cache_utils.py (0.11 to 0.33); other engines print no such lines."""
    if engine != "vllm":
        return []
    if said.refused:
        return [
            f"To serve at least one request with the model's max seq len ({said.max_model_len}), "
            f"({said.request_bytes / _GIB:.2f} GiB KV cache is needed, which is larger than the available KV cache "
            f"memory ({said.available_bytes / _GIB:.2f} GiB). Based on the available memory, the estimated maximum "
            f"model length is {said.longest_tokens}."
        ]
    lines = [f"Available KV cache memory: {said.available_bytes / _GIB:.2f} GiB"]
    if said.kv_cache_tokens is not None:
        lines.append(f"GPU KV cache size: {said.kv_cache_tokens:,} tokens")
    if said.concurrency is not None:
        lines.append(f"Maximum concurrency for {said.max_model_len:,} tokens per request: {said.concurrency:.2f}x")
    return lines
