"""Mixtures whose experts stand in lists or nested settings: Hunyuan, DBRX, Arctic."""

from collections.abc import Callable
from dataclasses import replace

from estimator.engine.model.spec import Architecture, LayerGroup
from estimator.engine.reading.blocks import LayerBuilder, add_attention, add_dense, add_experts, add_mlp, collect
from estimator.engine.reading.families.linear_hybrids import full_attention
from estimator.engine.reading.families.standard import StandardRule, finish
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, Fields
from estimator.engine.reading.shape import read_shape

_RULE = StandardRule()


def read_hunyuan(fields: Fields) -> Architecture:
    """Hunyuan A13B: experts, top-k, shared experts and expert widths as one value or a list over the layers."""
    shape = read_shape(fields)
    layers, hidden = shape.layers, shape.hidden
    experts = fields.per_layer("num_experts", layers=layers, low=1, high=MAX_COUNT)
    top_k = fields.per_layer("moe_topk", "num_experts_per_tok", layers=layers, low=1, high=MAX_COUNT)
    widths = fields.per_layer("moe_intermediate_size", "intermediate_size", layers=layers, low=1)
    shared = [1] * layers
    if fields.raw("num_shared_expert") is not None:
        shared = fields.per_layer("num_shared_expert", layers=layers, high=MAX_COUNT)
    keys = list(zip(experts, top_k, widths, shared, strict=True))
    bias = fields.flag("attention_bias")

    def group(key: tuple[int, int, int, int]) -> LayerGroup:
        count, used, width, shared_count = key
        if used > count:
            raise fields.error("moe_topk", f"must not exceed the {count} experts, not {used}")
        layer = LayerBuilder()
        add_attention(layer, full_attention(shape), hidden, qkv_bias=bias, out_bias=bias)
        layer.norms += 2 * hidden + 2 * shape.head_dim
        add_experts(
            layer,
            hidden,
            experts=count,
            top_k=used,
            width=width,
            shared_width=shared_count * fields.per_layer("intermediate_size", layers=layers, low=1)[0],
            router="gate.wg",
        )
        return layer.group(1)

    layer_groups, order = collect(keys, [group(key) for key in dict.fromkeys(keys)])
    return finish(fields, _RULE, shape, layer_groups, order, family="hunyuan_v1_moe")


def read_dbrx(fields: Fields) -> Architecture:
    """DBRX: KV heads in `attn_config`, experts in `ffn_config`."""
    attention, ffn = fields.sub("attn_config"), fields.sub("ffn_config")
    if attention is None or ffn is None:
        raise fields.missing("attn_config" if attention is None else "ffn_config")
    kv_heads = attention.whole("kv_n_heads", high=MAX_COUNT, default=1)
    inner = Fields({**fields.config, "num_key_value_heads": kv_heads}, fields.defaults, fields.path)
    shape = read_shape(inner)
    layer = LayerBuilder()
    add_attention(layer, full_attention(shape), shape.hidden, prefix="norm_attn_norm.attn")
    layer.norms += 2 * shape.hidden
    experts = ffn.whole("moe_num_experts", high=MAX_COUNT, default=4)
    add_experts(
        layer,
        shape.hidden,
        experts=experts,
        top_k=ffn.whole("moe_top_k", high=experts, default=1),
        width=ffn.whole("ffn_hidden_size", default=3584),
        prefix="ffn",
        router="router.layer",
    )
    groups = (layer.group(shape.layers),)
    return finish(fields, _RULE, shape, groups, (0,) * shape.layers, family="dbrx")


def read_arctic(fields: Fields) -> Architecture:
    """Arctic: experts on every n-th layer, with a dense residual MLP of the model's own width beside them."""
    shape = read_shape(fields)
    hidden = shape.hidden
    step = fields.whole("moe_layer_frequency", high=MAX_LAYERS, default=1)
    residual = fields.flag("parallel_attn_mlp_res", "use_residual")
    sparse = [(layer + 1) % step == 0 for layer in range(shape.layers)]
    experts = fields.whole("num_local_experts", high=MAX_COUNT)
    width = fields.whole("intermediate_size")

    def group(is_sparse: bool) -> LayerGroup:
        layer = LayerBuilder()
        add_attention(layer, full_attention(shape), hidden)
        layer.norms += 2 * hidden
        if not is_sparse:
            add_dense(layer, hidden, width)
            return layer.group(1)
        top_k = fields.whole("num_experts_per_tok", high=experts)
        add_experts(layer, hidden, experts=experts, top_k=top_k, width=width, prefix="block_sparse_moe")
        if residual:
            add_mlp(layer, hidden, hidden, prefix="residual_mlp")
            layer.norms += hidden
            if layer.feed_forward is not None:
                layer.feed_forward = replace(layer.feed_forward, intermediate_size=hidden)
        return layer.group(1)

    layer_groups, order = collect(sparse, [group(flag) for flag in dict.fromkeys(sparse)])
    return finish(fields, _RULE, shape, layer_groups, order, family="arctic")


def listed_expert_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """A reader for each of these model types."""
    return {"hunyuan_v1_moe": read_hunyuan, "hunyuan": read_hunyuan, "dbrx": read_dbrx, "arctic": read_arctic}
