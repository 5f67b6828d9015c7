"""Full attention on some layers, linear attention on the others: Qwen3-Next, Qwen3.5, MiniMax, LFM2, Kimi Linear."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from estimator.engine.model.spec import Architecture, Attention, AttentionKind, LayerGroup, Split
from estimator.engine.model.spec import Component as Part
from estimator.engine.reading.blocks import LayerBuilder, add_attention, add_dense, add_experts, collect
from estimator.engine.reading.families.latent import add_latent, latent_attention, latent_shape, read_latent
from estimator.engine.reading.families.mixtures import sparse_after_first, sparse_by_step
from estimator.engine.reading.families.standard import MoeRule, StandardRule, add_moe, finish
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, Fields
from estimator.engine.reading.shape import Shape, listed_types, read_layers, read_shape
from estimator.engine.reading.state_blocks import (
    DeltaNet,
    add_delta_net,
    add_kimi_delta,
    add_lightning,
    add_short_convolution,
)

_RULE = StandardRule()
_QWEN_MOE = MoeRule(shared="width", shared_key="shared_expert_intermediate_size", shared_gate=True)
_LINEAR_TYPES = ("linear_attention", "conv", "mamba", "recurrent")


def linear_layers(fields: Fields, layers: int) -> list[bool] | None:
    """For each layer whether it keeps a state instead of a growing cache, from `layer_types`; None without the list."""
    types = listed_types(fields, layers, "layer_types", "layers_block_type")
    if types is None:
        return None
    flags = []
    for entry in types:
        if entry in _LINEAR_TYPES:
            flags.append(True)
        elif entry in ("full_attention", "attention"):
            flags.append(False)
        else:
            raise fields.error("layer_types", f"may hold full_attention or a linear kind, not {str(entry)[:40]!r}")
    return flags


def full_attention(shape: Shape, *, output_gate: bool = False) -> Attention:
    """Full grouped-query attention of a hybrid."""
    return Attention(
        kind=AttentionKind.FULL,
        query_heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_dim_qk=shape.head_dim,
        head_dim_v=shape.head_dim,
        output_gate=output_gate,
    )


def read_qwen_hybrid(fields: Fields, *, family: str, fused: bool, experts: bool) -> Architecture:
    """Qwen3-Next and Qwen3.5: gated delta nets, every n-th layer gated full attention; dense or experts everywhere."""
    shape = read_shape(fields)
    layers = shape.layers
    linear = linear_layers(fields, layers)
    if linear is None:
        interval = fields.whole("full_attention_interval", high=MAX_LAYERS, default=4)
        linear = [(layer + 1) % interval != 0 for layer in range(layers)]
    sparse: Sequence[bool] = sparse_by_step(fields, layers) if experts else [False] * layers
    keys = list(zip(linear, sparse, strict=True))
    bias = fields.flag("attention_bias")
    gate = fields.flag("attn_output_gate", default=True)
    net = DeltaNet(
        key_heads=fields.whole("linear_num_key_heads", high=MAX_COUNT),
        value_heads=fields.whole("linear_num_value_heads", high=MAX_COUNT),
        key_dim=fields.whole("linear_key_head_dim"),
        value_dim=fields.whole("linear_value_head_dim"),
        kernel=fields.whole("linear_conv_kernel_dim", high=1024),
        fused=fused,
    )

    def group(is_linear: bool, is_sparse: bool) -> LayerGroup:
        layer = LayerBuilder()
        if is_linear:
            add_delta_net(layer, fields, shape.hidden, net)
        else:
            add_attention(layer, full_attention(shape, output_gate=gate), shape.hidden, qkv_bias=bias, out_bias=bias)
            layer.norms += 2 * shape.head_dim
        layer.norms += 2 * shape.hidden
        if is_sparse:
            add_moe(layer, fields, _QWEN_MOE, shape.hidden)
        else:
            add_dense(layer, shape.hidden, fields.whole("intermediate_size"))
        return layer.group(1)

    layer_groups, order = collect(keys, [group(*key) for key in dict.fromkeys(keys)])
    return finish(fields, _RULE, shape, layer_groups, order, family=family)


def read_olmo_hybrid(fields: Fields) -> Architecture:
    """OLMo hybrid: gated delta nets, every fourth layer full attention with norms of the whole projections."""
    shape = read_shape(fields)
    linear = linear_layers(fields, shape.layers)
    if linear is None:
        linear = [(layer + 1) % 4 != 0 for layer in range(shape.layers)]
    bias = fields.flag("attention_bias")
    net = DeltaNet(
        key_heads=fields.whole("linear_num_key_heads", high=MAX_COUNT),
        value_heads=fields.whole("linear_num_value_heads", high=MAX_COUNT),
        key_dim=fields.whole("linear_key_head_dim"),
        value_dim=fields.whole("linear_value_head_dim"),
        kernel=fields.whole("linear_conv_kernel_dim", high=1024),
        fused=False,
    )

    def group(is_linear: bool) -> LayerGroup:
        layer = LayerBuilder()
        if is_linear:
            add_delta_net(layer, fields, shape.hidden, net)
        else:
            add_attention(layer, full_attention(shape), shape.hidden, qkv_bias=bias, out_bias=bias)
            layer.norms += (shape.heads + shape.kv_heads) * shape.head_dim
        layer.norms += 2 * shape.hidden
        add_dense(layer, shape.hidden, fields.whole("intermediate_size"))
        return layer.group(1)

    layer_groups, order = collect(linear, [group(flag) for flag in dict.fromkeys(linear)])
    return finish(fields, _RULE, shape, layer_groups, order, family="olmo_hybrid")


def read_minimax(fields: Fields) -> Architecture:
    """MiniMax Text-01 and M1: lightning attention, full attention on some layers, experts everywhere."""
    shape = read_shape(fields)
    layers = shape.layers
    linear = linear_layers(fields, layers)
    if linear is None:
        listed = fields.sequence("attn_type_list", at_least=layers)
        kinds = [1 if (layer + 1) % 2 else 0 for layer in range(layers)] if listed is None else list(listed)
        linear = [fields.check_whole("attn_type_list", kind, 0, 1) == 0 for kind in kinds]
    moe = MoeRule(width=("intermediate_size",), shared="width", shared_key="shared_intermediate_size")

    def group(is_linear: bool) -> LayerGroup:
        layer = LayerBuilder()
        if is_linear:
            add_lightning(layer, fields, shape.hidden, shape.heads, shape.head_dim)
        else:
            add_attention(layer, full_attention(shape), shape.hidden)
        layer.norms += 2 * shape.hidden
        add_moe(layer, fields, moe, shape.hidden)
        return layer.group(1)

    layer_groups, order = collect(linear, [group(flag) for flag in dict.fromkeys(linear)])
    return finish(fields, _RULE, shape, layer_groups, order, family="minimax")


def _lfm2_width(fields: Fields) -> int:
    """The MLP width of LFM2: two thirds of the stated one, scaled, rounded up to a multiple, unless told not to."""
    width = fields.whole("intermediate_size", "block_ff_dim")
    if not fields.flag("block_auto_adjust_ff_dim", default=True):
        return width
    width = 2 * width // 3
    factor = fields.number("block_ffn_dim_multiplier", low=0.01, high=100.0, default=1.0)
    multiple = fields.whole("block_multiple_of", high=65_536, default=256)
    return -(-int(factor * width) // multiple) * multiple


def read_lfm2(fields: Fields, *, experts: bool) -> Architecture:
    """LFM2: short convolutions, attention with head norms on the layers listed; experts after dense layers."""
    shape = read_shape(fields)
    layers = shape.layers
    linear = linear_layers(fields, layers)
    if linear is None:
        listed = fields.sequence("full_attn_idxs")
        if listed is None:
            listed = range(layers)
        indices = {fields.check_whole("full_attn_idxs", entry, 0, MAX_LAYERS) for entry in listed}
        linear = [layer not in indices for layer in range(layers)]
    dense = fields.whole("num_dense_layers", low=0, high=MAX_LAYERS, default=2) if experts else layers
    keys = [(flag, layer >= dense) for layer, flag in enumerate(linear)]
    kernel = fields.whole("conv_L_cache", high=1024)
    bias = fields.flag("conv_bias")
    width = fields.whole("intermediate_size") if experts else _lfm2_width(fields)

    def group(is_linear: bool, is_sparse: bool) -> LayerGroup:
        layer = LayerBuilder()
        if is_linear:
            add_short_convolution(layer, shape.hidden, kernel, bias=bias)
        else:
            add_attention(layer, full_attention(shape), shape.hidden)
            layer.norms += 2 * shape.head_dim
        layer.norms += 2 * shape.hidden
        if is_sparse:
            add_moe(layer, fields, MoeRule(prefix="feed_forward"), shape.hidden)
        else:
            add_dense(layer, shape.hidden, width)
        return layer.group(1)

    layer_groups, order = collect(keys, [group(*key) for key in dict.fromkeys(keys)])
    return finish(fields, _RULE, shape, layer_groups, order, family="lfm2_moe" if experts else "lfm2")


def _kimi_linear_layers(fields: Fields, settings: Fields, layers: int) -> list[bool]:
    """Layers with delta attention: `layer_types`, or the 1-based lists of the settings, else three of four."""
    linear = linear_layers(fields, layers)
    if linear is not None:
        return linear
    listed = settings.sequence("full_attn_layers")
    if listed is None:
        return [not (layer and layer % 4 == 0) for layer in range(layers)]
    full = {settings.check_whole("full_attn_layers", entry, 1, MAX_LAYERS) for entry in listed}
    return [layer + 1 not in full for layer in range(layers)]


def read_kimi_linear(fields: Fields) -> Architecture:
    """Kimi Linear (and K3): latent attention without positions on some layers, Kimi delta attention on the others."""
    layers = read_layers(fields)
    size = read_latent(fields)
    hidden = size.hidden
    settings = fields.sub("linear_attn_config") or fields
    linear = _kimi_linear_layers(fields, settings, layers)
    keys = list(zip(linear, sparse_after_first(fields, layers), strict=True))
    # beside a flat linear_head_dim, head_dim is another one's
    heads = settings.whole("linear_num_heads", "num_heads", high=MAX_COUNT)
    head_dim = settings.whole("linear_head_dim", "head_dim")
    kernel = settings.whole("short_conv_kernel_size", "linear_conv_kernel_dim", high=1024, default=4)
    full_rank = settings.flag("use_full_rank_gate")

    def group(is_linear: bool, is_sparse: bool) -> LayerGroup:
        layer = LayerBuilder()
        if is_linear:
            add_kimi_delta(
                layer, fields, hidden, heads=heads, head_dim=head_dim, kernel=kernel, full_rank_gate=full_rank
            )
        else:
            add_latent(layer, size)
            layer.attention = latent_attention(size)
        layer.norms += 2 * hidden
        if is_sparse:
            _add_kimi_experts(layer, fields, hidden)
        else:
            add_dense(layer, hidden, fields.whole("intermediate_size"))
        return layer.group(1)

    layer_groups, order = collect(keys, [group(*key) for key in dict.fromkeys(keys)])
    architecture = finish(fields, _RULE, latent_shape(fields, size, layers), layer_groups, order, family="kimi_linear")
    if fields.raw("routed_expert_hidden_size") is None:
        return architecture
    note = "latent experts and attention residuals of Kimi K3 are read by analogy: no exact count to check against"
    return replace(architecture, warnings=(*architecture.warnings, note))


def _add_kimi_experts(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Routed and shared experts; with `routed_expert_hidden_size` the routed ones work in a latent width."""
    inner = fields.optional_whole("routed_expert_hidden_size")
    width = fields.whole("moe_intermediate_size")
    shared = fields.whole("num_shared_experts", "n_shared_experts", low=0, high=MAX_COUNT, default=0)
    add_experts(
        layer,
        hidden,
        experts=fields.whole("num_experts", "n_routed_experts", "num_local_experts", high=MAX_COUNT),
        top_k=fields.whole("num_experts_per_token", "num_experts_per_tok", high=MAX_COUNT),
        width=width,
        shared_width=shared * width,
        expert_input=inner,
    )
    if inner is not None:
        layer.matrix("mlp.latent_in_proj", inner, hidden, Part.MLP, 1, Split.REPLICATED)
        layer.matrix("mlp.latent_out_proj", hidden, inner, Part.MLP, 1, Split.REPLICATED)
        layer.norms += inner


def linear_hybrid_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """A reader for each of these model types."""
    return {
        "qwen3_next": lambda fields: read_qwen_hybrid(fields, family="qwen3_next", fused=True, experts=True),
        "qwen3_5_text": lambda fields: read_qwen_hybrid(fields, family="qwen3_5_text", fused=False, experts=False),
        "qwen3_5_moe_text": lambda f: read_qwen_hybrid(f, family="qwen3_5_moe_text", fused=False, experts=True),
        "olmo_hybrid": read_olmo_hybrid,
        "minimax": read_minimax,
        "minimax_m1": read_minimax,
        "lfm2": lambda fields: read_lfm2(fields, experts=False),
        "lfm2_moe": lambda fields: read_lfm2(fields, experts=True),
        "kimi_linear": read_kimi_linear,
    }
