"""What the server will print of its cache at start, or with which words it refuses."""

from pydantic import Field

from estimator.engine.memory.replica_cache import cache_bytes
from estimator.engine.memory.startup_lines import StartupLines, startup_lines
from estimator.estimates.answers import ResponsePart
from estimator.estimates.memory_fit.compute import MemoryEstimate

_GIB = 2**30


class Startup(ResponsePart):
    """The start of one server process on the GPU that has least left; compare it with the server's own log."""

    max_model_len: int = Field(description="Longest sequence the server takes, tokens: as asked, or the load's length.")
    available_bytes: int = Field(description="Memory that is left for the KV cache, bytes.")
    request_bytes: int = Field(description="KV cache that one request of max_model_len takes, bytes.")
    refused: bool = Field(description="Whether the server refuses to start: one longest request does not fit.")
    longest_tokens: int = Field(description="Longest max_model_len that starts, tokens, up to the one asked for.")
    blocks: int | None = Field(description="Blocks of the pool, count; null for engines without such a pool.")
    block_bytes: int | None = Field(description="Bytes of a block on one GPU; null without a pool.")
    block_tokens: int | None = Field(description="Tokens of the smallest block; null without a pool.")
    groups: int | None = Field(
        description="Groups of layers that take blocks of their own, count; null without a pool."
    )
    kv_cache_tokens: int | None = Field(
        description="Tokens of the KV cache as the engine prints them; null where it prints none or refuses."
    )
    concurrency: float | None = Field(
        description="Requests of max_model_len that the pool holds, as the engine prints it; null where it refuses."
    )
    lines: list[str] = Field(description="The lines of the log, or of the refusal, in the engine's words.")


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
        max_model_len=said.max_model_len,
        available_bytes=said.available_bytes,
        request_bytes=said.request_bytes,
        refused=said.refused,
        longest_tokens=said.longest_tokens,
        blocks=said.blocks,
        block_bytes=said.block_bytes,
        block_tokens=said.block_tokens,
        groups=said.groups,
        kv_cache_tokens=said.kv_cache_tokens,
        concurrency=said.concurrency,
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
