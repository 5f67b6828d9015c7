"""How a serving engine uses the memory of a GPU: its limits, what it keeps apart from the cache, and how it rounds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from estimator.constants.memory import unstated_memory
from estimator.engine.errors import InvalidInputError
from estimator.engine.memory.static_fraction import Tier, static_fraction

GIB = 2**30


class CacheLayout(StrEnum):
    """How an engine lays out its cache.

    `tokens`: pages of tokens, windows apart. `blocks`: one pool of equal blocks for unlike layers (vLLM).
    `shares`: windows and states have fixed shares (SGLang). `cells`: cells of slots, made at start (llama.cpp).
    """

    TOKENS = "tokens"
    BLOCKS = "blocks"
    SHARES = "shares"
    CELLS = "cells"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPolicy:
    """Memory settings and constants of one engine and version range; bytes, tokens, shares.

    Budget: `utilization · memory`; the rest is unmanaged. With `utilization_of_free` the engine instead gives that
    share of what is free after weights and overheads to the cache (TensorRT-LLM).
    With `fraction_tiers` the share follows from the GPU's size, the degrees and `fraction_prefill_graphs`
    (SGLang; `static_fraction`).
    Captured graphs take `cuda_graph_bytes` and `cuda_graph_size_bytes` for each captured batch size.
    `activation_in_budget` and `graphs_in_budget` say whether the engine pays activations and captured graphs from
    the budget or from outside it (then they are part of unmanaged).

    Activation peak of a rank:
        max(T · 2 · (mlp_copies · f + hidden_copies · d) + activation_constant_bytes,  logits_copies · S · V · 4)
            + expert_workspace_copies · T · k · (max(2n, d) + n) · 2
    with T batched tokens, f the MLP width on the rank, d the hidden size, S `max_num_seqs` and V the vocabulary; a
    pipeline stage without the head: the first term plus `stage_activation_bytes`. The workspace of fused expert kernels
    (k experts a token, n their width on the rank) stays allocated; the kernels for mxfp4 have none.
    Of models with states, where `hybrid_activation_bytes` is not 0, the parts add up:
        T · 2 · (hybrid_mlp_copies · f + hybrid_hidden_copies · d) + hybrid_activation_bytes + logits + workspace

    GPUs with at least `large_gpu_bytes`, except those of `small_families` (vLLM leaves the A100 out by name), take
    `max_num_seqs` and `max_batched_tokens`, the others the `small_` values; those of at least `huge_gpu_bytes` take
    `huge_max_batched_tokens`.
    `sequences_by_free_gib`: rising pairs (GiB, sequences); the engine takes the sequences of the first pair that
    its share of the memory less the weights does not pass, on GPUs of any size (Unsloth sets vLLM's limit so).
    `batched_tokens_follow_context`: without chunked prefill a whole prompt is one batch; above `chunk_above_tokens` the
    engine chunks by itself into `chunked_tokens`.

    `uniform_window`: False where an engine reads and keeps the whole context although all layers have the same window.

    Layout of the cache (`cache_layout`; docs/memory.md). Blocks: `group_padding`, `latent_alignment_tokens` and
    `packed_groups` decide the groups; a pass has `in_flight_batches` times the batched tokens in flight; states take
    `state_blocks_with_prefixes` blocks where prefixes are kept, which `states_keep_prefixes` says is the default, else
    one; `draft_lengthens_convolution` keeps a row of the convolution for each drafted token. `sequences_within_blocks`:
    the engine refuses more sequences than it has blocks, where the model has states. `printed_tokens`: what
    "GPU KV cache size" counts, tokens of all blocks over the groups, or concurrency times the longest length.
    Shares: windows have `window_pool_ratio` tokens for each token of whole layers, states `state_pool_ratio` times what
    is left to tokens. `state_element_bytes`: the type of all states (None: what the model asks for),
    `recurrent_element_bytes` that of their recurrent part alone.

    `cache_formats` are those the engine can store its cache in; empty means any.

    `input_embedding_on_host`: the input embedding stays in the host's memory, rows are looked up there.
    `experts_on_host`: routed experts of the first layers can stay there too (--n-cpu-moe of llama.cpp),
    `tables_on_host` tables of n-grams (--ple-offload-embedding of SGLang, --engram-config of vLLM).
    `head_counts_as_layer`: pipeline stages are equal parts of the layers and the head together.

    `basis` is `calibrated` where start-up logs stand behind the constants, else `assumption`.

    Numbers that a policy does not state are rows of `estimator/constants/data/memory.csv`, as of shipped profiles.
    """

    utilization: float = unstated_memory("utilization")
    utilization_of_free: bool = False
    fraction_tiers: tuple[Tier, ...] = ()
    fraction_prefill_graphs: int = int(unstated_memory("fraction_prefill_graphs"))
    max_num_seqs: int = int(unstated_memory("max_num_seqs"))
    max_batched_tokens: int = int(unstated_memory("max_batched_tokens"))
    large_gpu_bytes: int = int(unstated_memory("large_gpu_bytes"))
    small_families: tuple[str, ...] = ("ampere",)
    small_max_num_seqs: int = int(unstated_memory("small_max_num_seqs"))
    small_max_batched_tokens: int = int(unstated_memory("small_max_batched_tokens"))
    huge_gpu_bytes: int | None = None
    huge_max_batched_tokens: int = int(unstated_memory("huge_max_batched_tokens"))
    sequences_by_free_gib: tuple[tuple[float, int], ...] = ()
    batched_tokens_follow_context: bool = False
    chunk_above_tokens: int | None = None
    chunked_tokens: int = int(unstated_memory("chunked_tokens"))
    activation_in_budget: bool = True
    activation_constant_bytes: int = int(unstated_memory("activation_constant_bytes"))
    activation_mlp_copies: float = unstated_memory("activation_mlp_copies")
    activation_hidden_copies: float = unstated_memory("activation_hidden_copies")
    hybrid_activation_bytes: int = int(unstated_memory("hybrid_activation_bytes"))
    hybrid_mlp_copies: float = unstated_memory("hybrid_mlp_copies")
    hybrid_hidden_copies: float = unstated_memory("hybrid_hidden_copies")
    logits_copies: float = unstated_memory("logits_copies")
    stage_activation_bytes: int = int(unstated_memory("stage_activation_bytes"))
    expert_workspace_copies: float = unstated_memory("expert_workspace_copies")
    runtime_overhead_bytes: int = int(unstated_memory("runtime_overhead_bytes"))
    runtime_overhead_tp_bytes: int = int(unstated_memory("runtime_overhead_tp_bytes"))
    runtime_overhead_pp_bytes: int | None = None
    graphs_in_budget: bool = False
    cuda_graph_bytes: int = int(unstated_memory("cuda_graph_bytes"))
    cuda_graph_size_bytes: int = int(unstated_memory("cuda_graph_size_bytes"))
    block_tokens: int = int(unstated_memory("block_tokens"))
    hybrid_cache: bool = True
    uniform_window: bool = True
    window_adds_batched_tokens: bool = True
    cache_layout: CacheLayout = CacheLayout.TOKENS
    group_padding: float = unstated_memory("group_padding")
    latent_alignment_tokens: int = int(unstated_memory("latent_alignment_tokens"))
    packed_groups: bool = False
    in_flight_batches: int = int(unstated_memory("in_flight_batches"))
    states_keep_prefixes: bool = False
    state_blocks_with_prefixes: int = int(unstated_memory("state_blocks_with_prefixes"))
    state_element_bytes: int | None = None
    recurrent_element_bytes: int | None = None
    draft_lengthens_convolution: bool = False
    window_pool_ratio: float = unstated_memory("window_pool_ratio")
    state_pool_ratio: float = unstated_memory("state_pool_ratio")
    sequences_within_blocks: bool = False
    printed_tokens: Literal["blocks", "concurrency"] = "blocks"
    mxfp4_pad_columns: int = int(unstated_memory("mxfp4_pad_columns"))
    mxfp4_pad_hidden: int = int(unstated_memory("mxfp4_pad_hidden"))
    nominal_weights: bool = False
    input_embedding_on_host: bool = False
    experts_on_host: bool = False
    tables_on_host: bool = False
    head_counts_as_layer: bool = False
    fp8_latent_bytes: int = int(unstated_memory("fp8_latent_bytes"))
    fp8_unrotated_latent_bytes: int = int(unstated_memory("fp8_unrotated_latent_bytes"))
    fp8_index_bytes: int = int(unstated_memory("fp8_index_bytes"))
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
        object.__setattr__(
            self, "fraction_tiers", tuple((float(g), int(c), int(s), int(b)) for g, c, s, b in self.fraction_tiers)
        )
        object.__setattr__(self, "sequences_by_free_gib", _steps(self.sequences_by_free_gib))
        object.__setattr__(self, "cache_layout", CacheLayout(self.cache_layout))
        if self.block_tokens < 1:
            raise InvalidInputError("block_tokens must be 1 or more", field="memory.block_tokens")
        for name in ("runtime_overhead_bytes", "runtime_overhead_tp_bytes", "cuda_graph_bytes"):
            if getattr(self, name) < 0:
                raise InvalidInputError(f"{name} must not be negative", field=f"memory.{name}")

    @property
    def cache_rules(self) -> tuple[object, ...]:
        """What decides the layout of caches: the key to keep one by (the hash of all of it would cost too much)."""
        return tuple(getattr(self, name) for name in _CACHE_RULES)

    def is_large(self, memory_bytes: float, family: str | None) -> bool:
        """Whether a GPU gets the defaults of large ones."""
        return memory_bytes >= self.large_gpu_bytes and family not in self.small_families

    def share_of_memory(self, memory_bytes: float, *, tp: int = 1, pp: int = 1) -> float:
        """The share of the memory that the engine uses by default on a GPU of this size."""
        if not self.fraction_tiers:
            return self.utilization
        return static_fraction(
            memory_bytes, self.fraction_tiers, tp=tp, pp=pp, prefill_graphs=self.fraction_prefill_graphs
        )

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
        if self.huge_gpu_bytes is not None and memory_bytes >= self.huge_gpu_bytes:
            return self.huge_max_batched_tokens
        return self.max_batched_tokens if self.is_large(memory_bytes, family) else self.small_max_batched_tokens


_CACHE_RULES = (
    "cache_layout", "block_tokens", "hybrid_cache", "uniform_window", "window_adds_batched_tokens", "group_padding",
    "latent_alignment_tokens", "packed_groups", "states_keep_prefixes",
    "state_blocks_with_prefixes", "state_element_bytes", "recurrent_element_bytes",
    "draft_lengthens_convolution", "window_pool_ratio",
    "state_pool_ratio", "fp8_latent_bytes", "fp8_unrotated_latent_bytes", "fp8_index_bytes",
)  # fmt: skip


def _steps(pairs: Iterable[Sequence[float]]) -> tuple[tuple[float, int], ...]:
    """The pairs of a step table, rising and with whole sequences."""
    steps = tuple((float(most), int(sequences)) for most, sequences in pairs)
    if any(sequences < 1 for _, sequences in steps) or list(steps) != sorted(steps, key=lambda step: step[0]):
        raise InvalidInputError("must hold rising GiB with 1 or more sequences", field="memory.sequences_by_free_gib")
    return steps
