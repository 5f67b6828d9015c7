"""The cache of each kind of layer on a rank, as an engine's kernels lay it out: bytes of a token, or of a state."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from estimator.engine.model.cache import attention_elements, index_elements, kv_element_bytes
from estimator.engine.model.spec import Architecture, Attention, AttentionKind, RecurrentState


class CacheKind(StrEnum):
    """How the cache of a layer grows with a sequence."""

    FULL = "full"
    WINDOW = "window"
    CHUNK = "chunk"
    STATE = "state"
    RING = "ring"


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCache:
    """`layers` layers of a rank with the same cache.

    `token_bytes`: bytes of a token in one layer (0 for states). `window_tokens`: tokens that a window or chunk reaches.
    `state_bytes`: bytes of the state of one sequence in one layer. `latent`: a latent vector, not keys and values.
    `compress_ratio`: tokens of one compressed entry (0: none), with `entry_elements` and `index_elements` of an entry.
    `index_token_bytes`: the part of `token_bytes` that is an index; `index_ratio` tokens share one of its keys.
    `apart`: a state that is no group with others.
    """

    layers: int
    kind: CacheKind
    token_bytes: Fraction = Fraction(0)
    window_tokens: int = 0
    state_bytes: Fraction = Fraction(0)
    latent: bool = False
    compressed: bool = False
    compress_ratio: int = 0
    entry_elements: int = 0
    index_elements: int = 0
    index_token_bytes: Fraction = Fraction(0)
    index_ratio: int = 1
    apart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBytes:
    """Bytes of the elements of a cache on a rank.

    `latent_bytes` and `index_bytes` are the engine's own bytes of a latent vector with a sparse index in fp8, and of an
    index key beside it (0: by element); `unrotated_latent_bytes` where it has no rotary part. `state_element_bytes` is
    the type an engine keeps all states in (None: what the model asks for), `recurrent_element_bytes` that of the
    recurrent part alone. `draft_tokens` lengthen the state of the convolution (kernel - 1 + draft tokens rows).
    """

    kv_format: str = "bf16"
    tp: int = 1
    latent_bytes: int = 0
    unrotated_latent_bytes: int = 0
    index_bytes: int = 0
    state_element_bytes: int | None = None
    recurrent_element_bytes: int | None = None
    draft_tokens: int = 0


def layer_caches(
    architecture: Architecture, size: CacheBytes, *, layers: Sequence[int] | None = None
) -> tuple[LayerCache, ...]:
    """The caches of a rank, one entry for each kind of layer that keeps something.

    Args:
        architecture: the model.
        size: formats and degrees.
        layers: number of layers of each group held (a pipeline stage); None means all.
    """
    found = []
    for position, group in enumerate(architecture.layer_groups):
        held = group.layers if layers is None else layers[position]
        if not held:
            continue
        if group.attention is not None and group.attention.stores_kv:
            found.append(attention_cache(group.attention, size, held * group.attention_blocks))
        if group.state is not None:
            found.append(LayerCache(layers=held, kind=CacheKind.STATE, state_bytes=_state_bytes(group.state, size)))
            if group.state.side_elements:
                side = Fraction(group.state.side_elements * (size.state_element_bytes or 2))
                found.append(LayerCache(layers=held, kind=CacheKind.STATE, state_bytes=side, apart=True))
    return tuple(found)


def attention_cache(attention: Attention, size: CacheBytes, layers: int) -> LayerCache:
    """The cache of `layers` layers with this attention."""
    element = kv_element_bytes(size.kv_format)
    per_token = attention_elements(attention, size.tp) * element
    if attention.latent_rank and attention.index_head_dim and size.kv_format == "fp8" and size.latent_bytes:
        own_bytes = size.latent_bytes if attention.latent_rope_dim else size.unrotated_latent_bytes
        per_token = Fraction(own_bytes or size.latent_bytes)
    indexed = index_elements(attention)
    own = size.index_bytes if attention.latent_rank else 0
    index = Fraction(own) if own and indexed else indexed * element
    per_token += index
    kind = CacheKind.FULL
    if attention.window_tokens is not None:
        kind = CacheKind.CHUNK if attention.kind is AttentionKind.CHUNK else CacheKind.WINDOW
    compressed = attention.kind is AttentionKind.COMPRESSED
    return LayerCache(
        layers=layers,
        kind=kind,
        token_bytes=per_token,
        window_tokens=attention.window_tokens or 0,
        latent=bool(attention.latent_rank),
        compressed=compressed,
        compress_ratio=attention.compress_ratio if compressed and attention.stores_entries else 0,
        entry_elements=attention.head_dim_qk if compressed else 0,
        index_elements=attention.index_head_dim if compressed else 0,
        index_token_bytes=index,
        index_ratio=attention.index_ratio if indexed else 1,
    )


def _state_bytes(state: RecurrentState, size: CacheBytes) -> Fraction:
    """Recurrent part in its own type and (kernel - 1 + draft tokens) rows of the convolution, split over tp."""
    recurrent = size.state_element_bytes or size.recurrent_element_bytes or state.state_bytes_per_element
    conv = Fraction(state.conv_elements)
    if size.draft_tokens and state.conv_kernel > 1:
        conv = conv * (state.conv_kernel - 1 + size.draft_tokens) / (state.conv_kernel - 1)
    conv_bytes = size.state_element_bytes or 2
    return (state.recurrent_elements * Fraction(recurrent) + conv * conv_bytes) / size.tp
