"""What the cache of one sequence takes: growing, windowed, latent, compressed and constant parts, by layer group."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from estimator.engine.errors import InvalidInputError
from estimator.engine.model.spec import Architecture, Attention, AttentionKind, LayerGroup, RecurrentState

# Bytes per cache element. Block formats carry their scales: GGUF q8_0 34 bytes and q4_0 18 bytes for 32 elements
# (ggml block layouts); int4 is the plain half byte of the source documents, int8 and fp8 have one scale per tensor.
KV_ELEMENT_BYTES: dict[str, Fraction] = {
    "fp32": Fraction(4),
    "bf16": Fraction(2),
    "fp16": Fraction(2),
    "fp8": Fraction(1),
    "int8": Fraction(1),
    "int4": Fraction(1, 2),
    "q8_0": Fraction(34, 32),
    "q5_1": Fraction(24, 32),
    "q5_0": Fraction(22, 32),
    "q4_1": Fraction(20, 32),
    "q4_0": Fraction(18, 32),
}


def kv_element_bytes(kv_format: str) -> Fraction:
    """Bytes of one cache element in a format, exact.

    Raises:
        InvalidInputError: the format is not a cache format.
    """
    found = KV_ELEMENT_BYTES.get(kv_format)
    if found is None:
        known = ", ".join(KV_ELEMENT_BYTES)
        raise InvalidInputError(f"kv_cache must be one of {known}, not {kv_format!r}", field="precision.kv_cache")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCost:
    """Layers that keep at most `window_tokens` tokens: bytes for each token kept, all such layers together."""

    window_tokens: int
    bytes_per_token: Fraction
    chunked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressedCost:
    """Layers that keep one entry for every `ratio` tokens: bytes of an entry, all such layers together."""

    ratio: int
    bytes_per_entry: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class KvLayout:
    """Cache bytes of one sequence on one rank (or of the whole model with tp = 1).

    `bytes_per_token` grows without limit (latent index included in `index_bytes_per_token`, compressed entries apart);
    `state_bytes` is constant for each sequence.
    """

    bytes_per_token: Fraction
    index_bytes_per_token: Fraction
    windows: tuple[WindowCost, ...]
    compressed: tuple[CompressedCost, ...]
    state_bytes: Fraction

    @property
    def growth_bytes_per_token(self) -> Fraction:
        """Bytes that each further token adds beyond all windows, compressed entries as their mean."""
        entries = sum((cost.bytes_per_entry / cost.ratio for cost in self.compressed), Fraction(0))
        return self.bytes_per_token + self.index_bytes_per_token + entries

    @property
    def window_bytes_per_token(self) -> Fraction:
        """Bytes a token adds in windowed layers while it is inside every window."""
        return sum((cost.bytes_per_token for cost in self.windows), Fraction(0))

    @property
    def window_bytes_per_sequence(self) -> Fraction:
        """Bytes of full windows."""
        return sum((cost.bytes_per_token * cost.window_tokens for cost in self.windows), Fraction(0))

    @property
    def fixed_bytes_per_sequence(self) -> Fraction:
        """Full windows and state: what a long sequence takes besides its growing part."""
        return self.window_bytes_per_sequence + self.state_bytes

    def sequence_bytes(self, tokens: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Logical cache bytes of a sequence: b·t + Σ b_w·min(t, w) + Σ e·floor(t/r) + state.

        Args:
            tokens: sequence length in tokens, at least 0; any shape.

        Returns:
            Bytes, same shape; no block rounding and no engine chunk.
        """
        length = np.asarray(tokens, dtype=np.float64)
        total = length * float(self.bytes_per_token + self.index_bytes_per_token) + float(self.state_bytes)
        for cost in self.windows:
            total = total + np.minimum(length, cost.window_tokens) * float(cost.bytes_per_token)
        for entry in self.compressed:
            total = total + np.floor(length / entry.ratio) * float(entry.bytes_per_entry)
        return total


def attention_splits_over(attention: Attention, tp: int) -> bool:
    """Whether tensor parallelism can split an attention: whole query heads, and whole or copied KV heads on each rank.

    A latent cache has no KV heads to divide; it is whole on every rank.
    """
    if attention.query_heads % tp:
        return False
    if attention.kind in (AttentionKind.LATENT, AttentionKind.SPARSE_LATENT, AttentionKind.COMPRESSED):
        return True
    return not attention.kv_heads or not attention.kv_heads % tp or not tp % attention.kv_heads


def splits_over(architecture: Architecture, tp: int) -> bool:
    """Whether every attending layer can be split over `tp` ranks."""
    attending = (group.attention for group in architecture.layer_groups if group.attention is not None)
    return all(attention_splits_over(attention, tp) for attention in attending)


def attention_elements(attention: Attention, tp: int = 1) -> int:
    """Cache elements of one token in one layer on one rank; K and V of ceil(kv_heads / tp) heads, latents whole."""
    if attention.kind in (AttentionKind.LATENT, AttentionKind.SPARSE_LATENT):
        return attention.latent_rank + attention.latent_rope_dim
    if attention.kind is AttentionKind.COMPRESSED:
        return attention.head_dim_qk
    heads = -(-attention.kv_heads // tp)
    return heads * (attention.head_dim_qk + attention.head_dim_v)


def index_elements(attention: Attention) -> Fraction:
    """Elements of the sparse-attention index key of one token in one layer; a share where tokens share a key."""
    if not attention.stores_index or attention.kind is AttentionKind.COMPRESSED:
        return Fraction(0)
    return Fraction(attention.index_head_dim, attention.index_ratio)


def state_elements(state: RecurrentState, tp: int = 1) -> tuple[Fraction, Fraction]:
    """Recurrent and convolution elements of one sequence in one layer on one rank (split over tp)."""
    return Fraction(state.recurrent_elements, tp), Fraction(state.conv_elements, tp)


def _add_attention(
    group: LayerGroup,
    layers: Fraction,
    element: Fraction,
    index_element: Fraction,
    tp: int,
    windows: dict[tuple[int, bool], Fraction],
    compressed: dict[int, Fraction],
) -> tuple[Fraction, Fraction]:
    """Growing and index bytes per token of a group; windows and compressed entries are added to the given tables."""
    attention = group.attention
    if attention is None:
        return Fraction(0), Fraction(0)
    blocks = layers * group.attention_blocks
    indexed = index_elements(attention) * index_element * blocks
    if not attention.stores_kv:
        return Fraction(0), indexed
    per_token = attention_elements(attention, tp) * element * blocks
    if attention.kind is AttentionKind.COMPRESSED and attention.compress_ratio and attention.stores_entries:
        entry = attention.head_dim_qk * element + attention.index_head_dim * index_element
        ratio = attention.compress_ratio
        compressed[ratio] = compressed.get(ratio, Fraction(0)) + entry * blocks
    if attention.window_tokens is not None:
        key = (attention.window_tokens, attention.kind is AttentionKind.CHUNK)
        windows[key] = windows.get(key, Fraction(0)) + per_token
        return Fraction(0), Fraction(0)
    return per_token, indexed


def kv_layout(
    architecture: Architecture,
    kv_format: str = "bf16",
    *,
    tp: int = 1,
    layers: Sequence[int] | None = None,
    state_element_bytes: int | None = None,
    index_element: Fraction | None = None,
) -> KvLayout:
    """The cache of one sequence on one rank.

    Args:
        architecture: the model.
        kv_format: format of keys and values (states keep their own dtype).
        tp: tensor-parallel degree; latent caches are not split.
        layers: number of layers of each group held (a pipeline stage); None means all.
        state_element_bytes: bytes of a recurrent element; None takes what the config asks for.
        index_element: bytes of an element of the sparse index; None means the cache format.

    Returns:
        Exact bytes by part.

    Raises:
        InvalidInputError: unknown format.
    """
    element = kv_element_bytes(kv_format)
    index = element if index_element is None else index_element
    growing = indexed = state = Fraction(0)
    windows: dict[tuple[int, bool], Fraction] = {}
    compressed: dict[int, Fraction] = {}
    for position, group in enumerate(architecture.layer_groups):
        count = Fraction(group.layers if layers is None else layers[position])
        grows, index_bytes = _add_attention(group, count, element, index, tp, windows, compressed)
        growing += grows
        indexed += index_bytes
        if group.state is not None:
            recurrent, conv = state_elements(group.state, tp)
            width = state_element_bytes or group.state.state_bytes_per_element
            state += (recurrent * width + conv * 2) * count
    return KvLayout(
        bytes_per_token=growing,
        index_bytes_per_token=indexed,
        windows=tuple(
            WindowCost(window_tokens=tokens, bytes_per_token=cost, chunked=chunked)
            for (tokens, chunked), cost in windows.items()
        ),
        compressed=tuple(CompressedCost(ratio=ratio, bytes_per_entry=cost) for ratio, cost in compressed.items()),
        state_bytes=state,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KvCacheSummary:
    """Cache figures of a whole model in one format, integers of bytes (rounded up where a block format needs it)."""

    bytes_per_token: int
    index_bytes_per_token: int
    window_bytes_per_token: int
    window_tokens: int | None
    window_bytes_per_sequence: int
    state_bytes_per_sequence: int
    state_bytes_per_sequence_bf16: int
    state_bytes_per_sequence_fp32: int
    fixed_bytes_per_sequence: int


def whole_bytes(value: Fraction) -> int:
    """Bytes rounded up to a whole number."""
    return -(-value.numerator // value.denominator)


def kv_cache_summary(architecture: Architecture, kv_format: str = "bf16") -> KvCacheSummary:
    """The cache figures that `models/inspect` shows, for the whole model.

    Args:
        architecture: the model.
        kv_format: format of keys and values.

    Returns:
        Bytes; `bytes_per_token` counts the groups that grow without limit (latent index apart, compressed entries as
        their mean), `window_tokens` is the largest window.
    """
    layout = kv_layout(architecture, kv_format)
    states = {width: kv_layout(architecture, kv_format, state_element_bytes=width).state_bytes for width in (2, 4)}
    return KvCacheSummary(
        bytes_per_token=whole_bytes(layout.growth_bytes_per_token - layout.index_bytes_per_token),
        index_bytes_per_token=whole_bytes(layout.index_bytes_per_token),
        window_bytes_per_token=whole_bytes(layout.window_bytes_per_token),
        window_tokens=max((cost.window_tokens for cost in layout.windows), default=None),
        window_bytes_per_sequence=whole_bytes(layout.window_bytes_per_sequence),
        state_bytes_per_sequence=whole_bytes(layout.state_bytes),
        state_bytes_per_sequence_bf16=whole_bytes(states[2]),
        state_bytes_per_sequence_fp32=whole_bytes(states[4]),
        fixed_bytes_per_sequence=whole_bytes(layout.fixed_bytes_per_sequence),
    )
