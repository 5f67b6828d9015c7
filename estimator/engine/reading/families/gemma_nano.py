"""Gemma 3n and Gemma 4: layers that reuse another layer's cache, per-layer embeddings, two head shapes, experts."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from estimator.engine.model.spec import (
    Architecture,
    Attention,
    AttentionKind,
    Component,
    FeedForward,
    LayerGroup,
    Split,
)
from estimator.engine.reading.blocks import LayerBuilder, add_attention, add_experts, add_mlp, collect
from estimator.engine.reading.families.standard import StandardRule, finish
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, MAX_TOKENS, MAX_VOCABULARY, Fields
from estimator.engine.reading.shape import Shape, every_nth_full, layer_kinds, read_shape

_RULE = StandardRule()


@dataclass(frozen=True, slots=True)
class _LayerKey:
    """What tells two layers of these families apart."""

    kind: AttentionKind
    stores_kv: bool
    width: int


def _keys(fields: Fields, shape: Shape, interval: int) -> list[_LayerKey]:
    """Attention kind, cache ownership and MLP width of each layer."""
    layers = shape.layers
    kinds = layer_kinds(fields, layers) or every_nth_full(layers, interval)
    shared = fields.whole("num_kv_shared_layers", low=0, high=layers, default=0)
    widths = fields.per_layer("intermediate_size", layers=layers, low=1)
    double = fields.flag("use_double_wide_mlp")
    keys = []
    for layer, kind in enumerate(kinds):
        stores = layer < layers - shared
        keys.append(_LayerKey(kind, stores, widths[layer] * (2 if double and not stores else 1)))
    return keys


def _attention(fields: Fields, shape: Shape, key: _LayerKey, *, two_shapes: bool) -> Attention:
    """Full layers of Gemma 4 have their own head width and, with `attention_k_eq_v`, their own KV heads."""
    full = key.kind is AttentionKind.FULL
    width, kv_heads = shape.head_dim, shape.kv_heads
    if two_shapes and full:
        width = fields.whole("global_head_dim", default=512)
        if fields.flag("attention_k_eq_v"):
            kv_heads = fields.optional_whole("num_global_key_value_heads", high=MAX_COUNT) or kv_heads
    return Attention(
        kind=key.kind,
        query_heads=shape.heads,
        kv_heads=kv_heads,
        head_dim_qk=width,
        head_dim_v=width,
        window_tokens=None if full else fields.whole("sliding_window", high=MAX_TOKENS),
        stores_kv=key.stores_kv,
    )


def _add_attention(layer: LayerBuilder, fields: Fields, attention: Attention, hidden: int, *, k_eq_v: bool) -> None:
    """Projections and head norms; a layer that reuses a cache has neither keys nor values of its own."""
    bias = fields.flag("attention_bias")
    if attention.stores_kv:
        add_attention(layer, attention, hidden, qkv_bias=bias, out_bias=bias, key_equals_value=k_eq_v)
        layer.norms += 2 * attention.head_dim_qk
        return
    layer.attention = attention
    columns = attention.query_heads * attention.head_dim_qk
    layer.matrix("self_attn.q_proj", columns, hidden, Component.ATTENTION, bias=bias)
    layer.matrix("self_attn.o_proj", hidden, columns, Component.ATTENTION, bias=bias)
    layer.norms += attention.head_dim_qk


def _add_per_layer_path(fields: Fields, architecture: Architecture, layers: int, width: int) -> Architecture:
    """Add the per-layer embeddings: the table, the projection of the input into it, and each layer's gate and mix.

    All of it counts as looked up, as the exact counts do: the table is the bulk, and it stays outside the matrices that
    a token passes through.
    """
    hidden = architecture.hidden_size
    rows = fields.whole("vocab_size_per_layer_input", high=MAX_VOCABULARY)
    table = rows * layers * width
    path = hidden * layers * width + width + layers * (2 * hidden * width + hidden)
    return replace(architecture, lookup_parameters=architecture.lookup_parameters + table + path)


def read_gemma3n(fields: Fields) -> Architecture:
    """Gemma 3n: alternating updates over several streams, low-rank augmented residuals, per-layer embeddings."""
    shape = read_shape(fields)
    hidden = shape.hidden
    width = fields.whole("hidden_size_per_layer_input")
    streams = fields.whole("altup_num_inputs", high=64)
    laurel = fields.whole("laurel_rank")
    keys = _keys(fields, shape, 5)

    def group(key: _LayerKey) -> LayerGroup:
        layer = LayerBuilder()
        _add_attention(layer, fields, _attention(fields, shape, key, two_shapes=False), hidden, k_eq_v=False)
        add_mlp(layer, hidden, key.width)
        layer.feed_forward = FeedForward(intermediate_size=key.width)
        layer.norms += 4 * hidden
        layer.matrix("laurel.linear_left", laurel, hidden, Component.OTHER, 1, Split.REPLICATED)
        layer.matrix("laurel.linear_right", hidden, laurel, Component.OTHER, 1, Split.REPLICATED)
        layer.norms += hidden
        layer.matrix("altup.modality_router", streams, hidden, Component.ROUTER, 1, Split.REPLICATED, quantisable=False)
        layer.vector(Component.ROUTER, hidden)
        layer.vector(Component.OTHER, hidden + streams * streams + streams * streams * streams)
        return layer.group(1)

    layer_groups, order = collect(keys, [group(key) for key in dict.fromkeys(keys)])
    architecture = finish(fields, _RULE, shape, layer_groups, order, family="gemma3n_text")
    architecture = _add_per_layer_path(fields, architecture, shape.layers, width)
    projections = 2 * (streams - 1) * hidden * hidden
    return replace(architecture, other_parameters=architecture.other_parameters + projections)


def read_gemma4(fields: Fields) -> Architecture:
    """Gemma 4: dense, with per-layer embeddings (E2B, E4B), or with experts beside the dense MLP (26B-A4B)."""
    shape = read_shape(fields)
    hidden = shape.hidden
    width = fields.whole("hidden_size_per_layer_input", low=0, default=0)
    keys = _keys(fields, shape, 6)
    last = keys[-1]
    if last.kind is not AttentionKind.FULL:
        keys[-1] = replace(last, kind=AttentionKind.FULL)
    k_eq_v = fields.flag("attention_k_eq_v")
    experts = fields.flag("enable_moe_block")

    def group(key: _LayerKey) -> LayerGroup:
        layer = LayerBuilder()
        attention = _attention(fields, shape, key, two_shapes=True)
        _add_attention(layer, fields, attention, hidden, k_eq_v=k_eq_v and key.kind is AttentionKind.FULL)
        add_mlp(layer, hidden, key.width)
        layer.feed_forward = FeedForward(intermediate_size=key.width)
        layer.norms += 4 * hidden
        if experts:
            _add_gemma_experts(layer, fields, hidden)
            layer.feed_forward = replace(layer.feed_forward, intermediate_size=key.width)
        return layer.group(1)

    layer_groups, order = collect(keys, [group(key) for key in dict.fromkeys(keys)])
    architecture = finish(fields, _RULE, shape, layer_groups, order, family="gemma4_text")
    return _add_per_layer_path(fields, architecture, shape.layers, width) if width else architecture


def _add_gemma_experts(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Experts beside the dense MLP: a router with a scale of the input and one for each expert, three norms."""
    experts = fields.whole("num_experts", high=MAX_COUNT)
    top_k = fields.whole("top_k_experts", high=MAX_LAYERS)
    width = fields.whole("moe_intermediate_size")
    if top_k > experts:
        raise fields.error("top_k_experts", f"must not exceed the {experts} experts, not {top_k}")
    add_experts(layer, hidden, experts=experts, top_k=top_k, width=width, prefix="moe", router="router.proj")
    layer.vector(Component.ROUTER, hidden + experts)
    layer.norms += 3 * hidden


def gemma_nano_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """Text parts of Gemma 3n and Gemma 4."""
    return {"gemma3n_text": read_gemma3n, "gemma4_text": read_gemma4, "gemma4_unified_text": read_gemma4}
