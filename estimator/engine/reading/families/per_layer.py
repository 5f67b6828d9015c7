"""Grouped-query families whose layers differ by list: Llama 4, MiMo V2, Step 3.5 and 3.7, MiniMax M3."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from estimator.engine.model.spec import (
    Architecture,
    Attention,
    AttentionKind,
    Component,
    LayerGroup,
    Split,
)
from estimator.engine.reading.blocks import LayerBuilder, add_attention, add_dense, add_experts, collect
from estimator.engine.reading.families.mixtures import sparse_after_first
from estimator.engine.reading.families.standard import MoeRule, StandardRule, add_moe, finish
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, MAX_TOKENS, Fields
from estimator.engine.reading.shape import (
    HEADS,
    Shape,
    check_flags,
    layer_kinds,
    listed_types,
    read_shape,
)

_RULE = StandardRule()


@dataclass(frozen=True, slots=True)
class _Key:
    kind: AttentionKind
    sparse: bool


def _assemble(
    fields: Fields, shape: Shape, keys: Sequence[_Key], group: Callable[[_Key], LayerGroup], family: str
) -> Architecture:
    layer_groups, order = collect(keys, [group(key) for key in dict.fromkeys(keys)])
    return finish(fields, _RULE, shape, layer_groups, order, family=family)


def read_llama4(fields: Fields) -> Architecture:
    """Llama 4: attention in chunks on layers with rotary positions, experts every n-th layer, one shared expert."""
    shape = read_shape(fields)
    layers = shape.layers
    bias = fields.flag("attention_bias")
    keys = [_Key(*pair) for pair in zip(_llama4_kinds(fields, layers), _llama4_sparse(fields, layers), strict=True)]
    moe = MoeRule(width=("intermediate_size",), shared="always", prefix="feed_forward", router="router")

    def group(key: _Key) -> LayerGroup:
        layer = LayerBuilder()
        chunked = key.kind is AttentionKind.CHUNK
        attention = Attention(
            kind=key.kind,
            query_heads=shape.heads,
            kv_heads=shape.kv_heads,
            head_dim_qk=shape.head_dim,
            head_dim_v=shape.head_dim,
            window_tokens=fields.whole("attention_chunk_size", high=MAX_TOKENS) if chunked else None,
        )
        add_attention(layer, attention, shape.hidden, qkv_bias=bias, out_bias=bias)
        layer.norms += 2 * shape.hidden
        if key.sparse:
            add_moe(layer, fields, moe, shape.hidden)
        else:
            add_dense(layer, shape.hidden, fields.whole("intermediate_size_mlp", "intermediate_size"))
        return layer.group(1)

    return _assemble(fields, shape, keys, group, "llama4_text")


def _llama4_kinds(fields: Fields, layers: int) -> list[AttentionKind]:
    """Chunked where rotary positions are used, full elsewhere."""
    stated = layer_kinds(fields, layers)
    if stated is not None:
        return stated
    if fields.raw("attention_chunk_size") is None:
        return [AttentionKind.FULL] * layers
    listed = fields.sequence("no_rope_layers")
    if listed:
        rotary = check_flags(fields, "no_rope_layers", fields.sequence("no_rope_layers", at_least=layers) or ())
    else:
        interval = fields.whole("no_rope_layer_interval", high=MAX_LAYERS, default=4)
        rotary = [(layer + 1) % interval != 0 for layer in range(layers)]
    return [AttentionKind.CHUNK if uses else AttentionKind.FULL for uses in rotary]


def _llama4_sparse(fields: Fields, layers: int) -> list[bool]:
    """Layers with experts: a list of indices, or every n-th."""
    listed = fields.sequence("moe_layers")
    if listed is not None:
        indices = {fields.check_whole("moe_layers", entry, 0, MAX_LAYERS) for entry in listed}
        return [layer in indices for layer in range(layers)]
    step = fields.whole("interleave_moe_layer_step", high=MAX_LAYERS, default=1)
    return [(layer + 1) % step == 0 for layer in range(layers)]


def read_mimo_v2(fields: Fields) -> Architecture:
    """MiMo V2: keys wider than values; windowed layers have other KV heads and a sink a head."""
    shape = read_shape(fields)
    layers = shape.layers
    stated = layer_kinds(fields, layers)
    if stated is None:
        pattern = fields.sequence("hybrid_layer_pattern", at_least=layers)
        if pattern is None:
            windowed = [layer != 0 and (layer + 1) % 6 != 0 for layer in range(layers)]
        else:
            windowed = check_flags(fields, "hybrid_layer_pattern", pattern)
        stated = [AttentionKind.WINDOW if flag else AttentionKind.FULL for flag in windowed]
    keys = [_Key(*pair) for pair in zip(stated, sparse_after_first(fields, layers), strict=True)]
    bias = fields.flag("attention_bias")
    moe = MoeRule(shared="experts")

    def group(key: _Key) -> LayerGroup:
        layer = LayerBuilder()
        attention = _mimo_attention(fields, shape, key.kind)
        add_attention(layer, attention, shape.hidden, qkv_bias=bias)
        if key.kind is AttentionKind.WINDOW:
            layer.vector(Component.ATTENTION, attention.query_heads)
        layer.norms += 2 * shape.hidden
        if key.sparse:
            add_moe(layer, fields, moe, shape.hidden)
        else:
            add_dense(layer, shape.hidden, fields.whole("intermediate_size"))
        return layer.group(1)

    return _assemble(fields, shape, keys, group, "mimo_v2_flash")


def _mimo_attention(fields: Fields, shape: Shape, kind: AttentionKind) -> Attention:
    """The two attention shapes of MiMo V2; the window counts the query itself beside `sliding_window_size`."""
    value = fields.whole("v_head_dim", default=shape.head_dim)
    if kind is AttentionKind.FULL:
        return Attention(
            kind=kind,
            query_heads=shape.heads,
            kv_heads=shape.kv_heads,
            head_dim_qk=shape.head_dim,
            head_dim_v=value,
        )
    before = fields.optional_whole("sliding_window_size", high=MAX_TOKENS)
    window = fields.whole("sliding_window", high=MAX_TOKENS) if before is None else before + 1
    return Attention(
        kind=kind,
        query_heads=fields.whole("swa_num_attention_heads", high=MAX_COUNT, default=shape.heads),
        kv_heads=fields.whole("swa_num_key_value_heads", high=MAX_COUNT, default=2 * shape.kv_heads),
        head_dim_qk=fields.whole("swa_head_dim", default=shape.head_dim),
        head_dim_v=fields.whole("swa_v_head_dim", default=value),
        window_tokens=window,
    )


def read_step(fields: Fields) -> Architecture:
    """Step 3.5 and 3.7: a gate for each head, norms of heads, other head counts in windowed layers, a shared expert."""
    shape = read_shape(fields)
    layers = shape.layers
    kinds = layer_kinds(fields, layers) or [AttentionKind.FULL] * layers
    keys = [_Key(*pair) for pair in zip(kinds, _step_sparse(fields, layers), strict=True)]
    other = fields.sub("attention_other_setting")
    windowed_heads = other.whole(*HEADS, high=MAX_COUNT, default=shape.heads) if other is not None else shape.heads
    windowed_heads = fields.whole("num_sliding_attention_heads", high=MAX_COUNT, default=windowed_heads)
    bias = fields.flag("attention_bias")

    def group(key: _Key) -> LayerGroup:
        layer = LayerBuilder()
        windowed = key.kind is AttentionKind.WINDOW
        heads = windowed_heads if windowed else shape.heads
        attention = Attention(
            kind=key.kind,
            query_heads=heads,
            kv_heads=shape.kv_heads,
            head_dim_qk=shape.head_dim,
            head_dim_v=shape.head_dim,
            window_tokens=fields.whole("sliding_window", high=MAX_TOKENS) if windowed else None,
        )
        add_attention(layer, attention, shape.hidden, qkv_bias=bias, out_bias=bias)
        layer.matrix("self_attn.g_proj", heads, shape.hidden, Component.ATTENTION)
        layer.norms += 2 * shape.hidden + 2 * shape.head_dim
        if key.sparse:
            add_experts(
                layer,
                shape.hidden,
                experts=fields.whole(*MoeRule().experts, high=MAX_COUNT),
                top_k=fields.whole("num_experts_per_tok", "moe_top_k", high=MAX_COUNT),
                width=fields.whole("moe_intermediate_size"),
                shared_width=fields.whole("share_expert_dim", "share_expert_dims"),
            )  # fmt: skip
        else:
            add_dense(layer, shape.hidden, fields.whole("intermediate_size"))
        return layer.group(1)

    return _assemble(fields, shape, keys, group, "step3p5")


def _step_sparse(fields: Fields, layers: int) -> Sequence[bool]:
    """Layers with experts: by type, by an enumeration in text or list, else all but the first three."""
    listed = fields.raw("moe_layers_enum")
    if listed is None:
        if fields.raw("mlp_layer_types", "first_k_dense_replace", "moe_layer_freq") is not None:
            return sparse_after_first(fields, layers)
        return [layer >= 3 for layer in range(layers)]
    entries = listed.split(",") if isinstance(listed, str) and len(listed) < 20_000 else listed
    if not isinstance(entries, list | tuple) or len(entries) > MAX_LAYERS:
        raise fields.error("moe_layers_enum", "must be a list of layer numbers")
    try:
        indices = {int(entry) for entry in entries if str(entry).strip()}
    except (TypeError, ValueError):
        raise fields.error("moe_layers_enum", "must be a list of layer numbers") from None
    return [layer in indices for layer in range(layers)]


def read_minimax_m3(fields: Fields) -> Architecture:
    """MiniMax M3: norms of heads, an index over blocks on sparse layers, experts after the first dense layers."""
    shape = read_shape(fields)
    layers = shape.layers
    sparse_config = fields.sub("sparse_attention_config")
    source = sparse_config if sparse_config is not None else fields
    indexed = _m3_indexed(fields, source, layers)
    keys = [_Key(AttentionKind.FULL, flag) for flag in sparse_after_first(fields, layers)]
    pairs = list(zip(keys, indexed, strict=True))
    heads = source.whole("sparse_num_index_heads", "index_n_heads", high=MAX_COUNT, default=4)
    width = source.whole("sparse_index_dim", "index_head_dim", default=128)

    def group(key: _Key, has_index: bool) -> LayerGroup:
        layer = LayerBuilder()
        attention = Attention(
            kind=AttentionKind.FULL,
            query_heads=shape.heads,
            kv_heads=shape.kv_heads,
            head_dim_qk=shape.head_dim,
            head_dim_v=shape.head_dim,
            index_heads=heads if has_index else 0,
            index_head_dim=width if has_index else 0,
            stores_index=has_index,
        )
        add_attention(layer, attention, shape.hidden)
        layer.norms += 2 * shape.hidden + 2 * shape.head_dim
        if has_index:
            part = Component.ATTENTION
            layer.matrix("self_attn.indexer.q_proj", heads * width, shape.hidden, part, 1, Split.REPLICATED)
            layer.matrix("self_attn.indexer.k_proj", width, shape.hidden, part, 1, Split.REPLICATED)
            layer.norms += 2 * width
        if key.sparse:
            rule = MoeRule(shared="width", shared_key="shared_intermediate_size", width=("intermediate_size",))
            add_moe(layer, fields, rule, shape.hidden)
        else:
            add_dense(layer, shape.hidden, fields.whole("dense_intermediate_size", "intermediate_size"))
        return layer.group(1)

    groups = [group(key, flag) for key, flag in dict.fromkeys(pairs)]
    layer_groups, order = collect(pairs, groups)
    architecture = finish(fields, _RULE, shape, layer_groups, order, family="minimax_m3")
    note = "MiniMax M3: no exact published count to check against; the index counts as cache of its own"
    return replace(architecture, warnings=(*architecture.warnings, note))


def _m3_indexed(fields: Fields, source: Fields, layers: int) -> list[bool]:
    """For each layer whether it has a block index: by type or by flag; none where the file says neither."""
    types = listed_types(fields, layers, "layer_types")
    if types is not None:
        if not set(map(str, types)) <= {"minimax_m3_sparse", "full_attention"}:
            raise fields.error("layer_types", "may hold only minimax_m3_sparse and full_attention")
        return [entry == "minimax_m3_sparse" for entry in types]
    listed = source.sequence("sparse_attention_freq", at_least=layers)
    if listed is not None:
        return check_flags(source, "sparse_attention_freq", listed)
    return [False] * layers


def per_layer_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """A reader for each of these model types."""
    return {
        "llama4_text": read_llama4,
        "mimo_v2_flash": read_mimo_v2,
        "step3p5": read_step,
        "minimax_m3": read_minimax_m3,
        "minimax_m3_vl_text": read_minimax_m3,
    }
