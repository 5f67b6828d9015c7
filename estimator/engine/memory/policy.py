"""How a serving engine uses the memory of a GPU: its limits, what it keeps apart from the cache, and how it rounds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from estimator.engine.errors import InvalidInputError

GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPolicy:
    """Memory settings and constants of one engine and version range; bytes, tokens, shares.

    Budget: `utilization · memory`; the rest is unmanaged. With `utilization_of_free` the engine instead gives that
    share of what is free after weights and overheads to the cache (TensorRT-LLM).
    `activation_in_budget` and `graphs_in_budget` say whether the engine pays activations and captured graphs from
    the budget or from outside it (then they are part of unmanaged).

    Activation peak of a rank:
        max(T · 2 · (mlp_copies · f + hidden_copies · d) + activation_constant_bytes,  logits_copies · S · V · 4)
            + expert_workspace_copies · T · k · (max(2n, d) + n) · 2
    with T batched tokens, f the MLP width on the rank, d the hidden size, S `max_num_seqs` and V the vocabulary; a
    pipeline stage without the head: the first term plus `stage_activation_bytes`. The workspace of fused expert kernels
    (k experts a token, n their width on the rank) stays allocated; the kernels for mxfp4 have none.

    GPUs with at least `large_gpu_bytes`, except those of `small_families` (vLLM leaves the A100 out by name), take
    `max_num_seqs` and `max_batched_tokens`, the others the `small_` values.
    `sequences_by_free_gib`: rising pairs (GiB, sequences); the engine takes the sequences of the first pair that
    its share of the memory less the weights does not pass, on GPUs of any size (Unsloth sets vLLM's limit so).
    `batched_tokens_follow_context`: without chunked prefill a whole prompt is one batch; above `chunk_above_tokens` the
    engine chunks by itself into `chunked_tokens`.

    `uniform_window`: False where an engine reads and keeps the whole context although all layers have the same window.

    `cache_formats` are those the engine can store its cache in; empty means any.

    `input_embedding_on_host`: the input embedding stays in the host's memory, rows are looked up there.
    `head_counts_as_layer`: pipeline stages are equal parts of the layers and the head together.

    `basis` is `calibrated` where start-up logs stand behind the constants, else `assumption`.

    Source of the vLLM constants: start-up logs in truth/memory.csv (llm-d-planner accuracy reports and
    empirical memory results, 2025-11 and 2026-04; vLLM issues and pull requests), 03-engine section 4.
    """

    utilization: float = 0.9
    utilization_of_free: bool = False
    max_num_seqs: int = 1024
    max_batched_tokens: int = 8192
    large_gpu_bytes: int = 70 * GIB
    small_families: tuple[str, ...] = ("ampere",)
    small_max_num_seqs: int = 256
    small_max_batched_tokens: int = 2048
    sequences_by_free_gib: tuple[tuple[float, int], ...] = ()
    batched_tokens_follow_context: bool = False
    chunk_above_tokens: int | None = None
    chunked_tokens: int = 512
    activation_in_budget: bool = True
    activation_constant_bytes: int = 0
    activation_mlp_copies: float = 3.0
    activation_hidden_copies: float = 3.0
    logits_copies: float = 0.0
    stage_activation_bytes: int = 0
    expert_workspace_copies: float = 0.0
    runtime_overhead_bytes: int = 0
    runtime_overhead_tp_bytes: int = 0
    runtime_overhead_pp_bytes: int | None = None
    graphs_in_budget: bool = False
    cuda_graph_bytes: int = 0
    block_tokens: int = 16
    hybrid_cache: bool = True
    uniform_window: bool = True
    window_adds_batched_tokens: bool = True
    state_copies: int = 1
    mxfp4_pad_columns: int = 0
    nominal_weights: bool = False
    input_embedding_on_host: bool = False
    head_counts_as_layer: bool = False
    fp8_latent_bytes: int = 0
    fp8_index_bytes: int = 0
    cache_formats: tuple[str, ...] = ("bf16", "fp16", "fp8", "int8", "int4")
    basis: Literal["calibrated", "assumption"] = "assumption"
    evidence: str = ""

    def __post_init__(self) -> None:
        if not 0.0 < self.utilization <= 1.0:
            raise InvalidInputError("utilization must be above 0 and at most 1", field="memory.utilization")
        for name in ("max_num_seqs", "max_batched_tokens", "small_max_num_seqs", "small_max_batched_tokens"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name} must be 1 or more", field=f"memory.{name}")
        object.__setattr__(self, "small_families", tuple(self.small_families))
        object.__setattr__(self, "cache_formats", tuple(self.cache_formats))
        object.__setattr__(self, "sequences_by_free_gib", _steps(self.sequences_by_free_gib))
        if self.block_tokens < 1 or self.state_copies < 1:
            raise InvalidInputError("block_tokens and state_copies must be 1 or more", field="memory.block_tokens")
        for name in ("runtime_overhead_bytes", "runtime_overhead_tp_bytes", "cuda_graph_bytes"):
            if getattr(self, name) < 0:
                raise InvalidInputError(f"{name} must not be negative", field=f"memory.{name}")

    def is_large(self, memory_bytes: float, family: str | None) -> bool:
        """Whether a GPU gets the defaults of large ones."""
        return memory_bytes >= self.large_gpu_bytes and family not in self.small_families

    def sequences_limit(self, memory_bytes: float, family: str | None, free_bytes: float = 0.0) -> int:
        """Sequences the engine runs at once by default on a GPU of this size and kernel family.

        Args:
            memory_bytes: memory of the GPU.
            family: its kernel family, None if unknown.
            free_bytes: what the weights leave of the engine's share, for policies that go by it.
        """
        for most_gib, sequences in self.sequences_by_free_gib:
            if free_bytes <= most_gib * GIB:
                return sequences
        return self.max_num_seqs if self.is_large(memory_bytes, family) else self.small_max_num_seqs

    def batched_tokens(self, memory_bytes: float, family: str | None, longest_tokens: int) -> int:
        """Most tokens of one forward pass, by default, on a GPU of this size and kernel family.

        Args:
            memory_bytes: memory of the GPU.
            family: its kernel family, None if unknown.
            longest_tokens: longest sequence the server takes (max_model_len), tokens.
        """
        if self.batched_tokens_follow_context:
            if self.chunk_above_tokens is not None and longest_tokens > self.chunk_above_tokens:
                return self.chunked_tokens
            return max(longest_tokens, self.small_max_batched_tokens)
        return self.max_batched_tokens if self.is_large(memory_bytes, family) else self.small_max_batched_tokens


def _steps(pairs: Iterable[Sequence[float]]) -> tuple[tuple[float, int], ...]:
    """The pairs of a step table, rising and with whole sequences."""
    steps = tuple((float(most), int(sequences)) for most, sequences in pairs)
    if any(sequences < 1 for _, sequences in steps) or list(steps) != sorted(steps, key=lambda step: step[0]):
        raise InvalidInputError("must hold rising GiB with 1 or more sequences", field="memory.sequences_by_free_gib")
    return steps
