"""Mamba alone and beside attention: Mamba 1/2, Falcon Mamba, Jamba, Bamba, Granite 4, Nemotron-H, Falcon-H1, Zamba2."""

from collections.abc import Callable
from dataclasses import replace

from estimator.engine.model.spec import Architecture, Attention, AttentionKind, Component, LayerGroup, Split
from estimator.engine.reading.blocks import LayerBuilder, add_attention, add_dense, add_experts, add_mlp, collect
from estimator.engine.reading.families.linear_hybrids import full_attention, linear_layers
from estimator.engine.reading.families.standard import MoeRule, StandardRule, add_moe, finish
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, MAX_WIDTH, Fields
from estimator.engine.reading.shape import HIDDEN, Shape, read_context, read_layers, read_shape, read_vocab
from estimator.engine.reading.state_blocks import Mamba1, Mamba2, add_mamba1, add_mamba2

_RULE = StandardRule()


def _auto_rank(fields: Fields, name: str, hidden: int) -> int:
    """The rank of the time step; `auto` is hidden / 16 rounded up."""
    value = fields.raw(name)
    return -(-hidden // 16) if value in (None, "auto") else fields.whole(name)


def _pure_shape(fields: Fields) -> Shape:
    """Outer dimensions of a model without attention."""
    return Shape(
        layers=read_layers(fields),
        hidden=fields.whole(*HIDDEN),
        heads=1,
        kv_heads=1,
        head_dim=1,
        vocab=read_vocab(fields),
        context=read_context(fields),
    )


def read_mamba1(fields: Fields, *, family: str) -> Architecture:
    """Mamba 1 and Falcon Mamba: one norm and one mixer a layer."""
    shape = _pure_shape(fields)
    hidden = shape.hidden
    inner = fields.optional_whole("intermediate_size", "d_inner")
    if inner is None:
        inner = fields.whole("expand", high=64) * hidden
    layer = LayerBuilder()
    size = Mamba1(
        inner=inner,
        state=fields.whole("state_size"),
        dt_rank=_auto_rank(fields, "time_step_rank", hidden),
        kernel=fields.whole("conv_kernel", high=1024),
        conv_bias=fields.flag("use_conv_bias", default=True),
        bias=fields.flag("use_bias"),
    )
    add_mamba1(layer, fields, hidden, size, prefix="mixer")
    layer.norms += hidden
    groups = (layer.group(shape.layers),)
    return finish(fields, _RULE, shape, groups, (0,) * shape.layers, family=family)


def read_mamba2(fields: Fields) -> Architecture:
    """Mamba 2: one norm and one mixer a layer."""
    shape = _pure_shape(fields)
    bias = fields.flag("use_bias")
    layer = LayerBuilder()
    size = Mamba2(
        heads=fields.whole("num_heads", high=MAX_COUNT),
        head_dim=fields.whole("head_dim"),
        groups=fields.whole("n_groups", high=MAX_COUNT),
        state=fields.whole("state_size"),
        kernel=fields.whole("conv_kernel", high=1024),
        inner=fields.whole("expand", high=64) * shape.hidden,
        conv_bias=fields.flag("use_conv_bias", default=True),
        in_bias=bias,
        out_bias=bias,
    )
    add_mamba2(layer, fields, shape.hidden, size, prefix="mixer")
    layer.norms += shape.hidden
    groups = (layer.group(shape.layers),)
    return finish(fields, _RULE, shape, groups, (0,) * shape.layers, family="mamba2")


def read_jamba(fields: Fields) -> Architecture:
    """Jamba: attention every n-th layer, Mamba 1 with inner norms elsewhere, experts on their own period."""
    shape = read_shape(fields)
    hidden = shape.hidden
    period = fields.whole("attn_layer_period", high=MAX_LAYERS)
    offset = fields.whole("attn_layer_offset", low=0, high=MAX_LAYERS)
    expert_period = fields.whole("expert_layer_period", high=MAX_LAYERS)
    expert_offset = fields.whole("expert_layer_offset", low=0, high=MAX_LAYERS)
    several = fields.whole("num_experts", high=MAX_COUNT) > 1
    keys = [
        (layer % period == offset, several and layer % expert_period == expert_offset) for layer in range(shape.layers)
    ]
    bias = fields.flag("mamba_proj_bias")
    size = Mamba1(
        inner=fields.whole("mamba_expand", high=64) * hidden,
        state=fields.whole("mamba_d_state"),
        dt_rank=_auto_rank(fields, "mamba_dt_rank", hidden),
        kernel=fields.whole("mamba_d_conv", high=1024),
        conv_bias=fields.flag("mamba_conv_bias", default=True),
        bias=bias,
        inner_norms=True,
    )

    def group(attends: bool, is_sparse: bool) -> LayerGroup:
        layer = LayerBuilder()
        if attends:
            add_attention(layer, full_attention(shape), hidden)
        else:
            add_mamba1(layer, fields, hidden, size)
        layer.norms += 2 * hidden
        if is_sparse:
            add_moe(layer, fields, MoeRule(width=("intermediate_size",), prefix="feed_forward"), hidden)
        else:
            add_dense(layer, hidden, fields.whole("intermediate_size"))
        return layer.group(1)

    layer_groups, order = collect(keys, [group(*key) for key in dict.fromkeys(keys)])
    return finish(fields, _RULE, shape, layer_groups, order, family="jamba")


def _prefixed_mamba2(fields: Fields, hidden: int, inner: int | None = None) -> Mamba2:
    """Mamba-2 sizes under the `mamba_` keys of Bamba, Granite 4 and Falcon-H1."""
    width = inner or fields.whole("mamba_expand", high=64) * hidden
    heads = fields.whole("mamba_n_heads", high=MAX_COUNT)
    head_dim = fields.raw("mamba_d_head")
    bias = fields.flag("mamba_proj_bias")
    return Mamba2(
        heads=heads,
        head_dim=width // heads if head_dim in (None, "auto") else fields.whole("mamba_d_head"),
        groups=fields.whole("mamba_n_groups", high=MAX_COUNT),
        state=fields.whole("mamba_d_state"),
        kernel=fields.whole("mamba_d_conv", high=1024),
        inner=width,
        conv_bias=fields.flag("mamba_conv_bias", default=True),
        in_bias=bias,
        out_bias=bias,
    )


def read_granite_hybrid(fields: Fields) -> Architecture:
    """Granite 4: Mamba 2 or attention by list; a shared MLP on every layer, experts beside it unless there are none."""
    shape = read_shape(fields)
    hidden = shape.hidden
    linear = linear_layers(fields, shape.layers) or [True] * shape.layers
    bias = fields.flag("attention_bias")
    experts = fields.whole("num_local_experts", low=0, high=MAX_COUNT)
    shared = fields.whole("shared_intermediate_size")
    mamba = _prefixed_mamba2(fields, hidden) if any(linear) else None

    def group(is_linear: bool) -> LayerGroup:
        layer = LayerBuilder()
        if is_linear and mamba is not None:
            add_mamba2(layer, fields, hidden, mamba)
        else:
            add_attention(layer, full_attention(shape), hidden, qkv_bias=bias, out_bias=bias)
        layer.norms += 2 * hidden
        if experts:
            add_experts(
                layer,
                hidden,
                experts=experts,
                top_k=fields.whole("num_experts_per_tok", high=experts),
                width=fields.whole("intermediate_size"),
                shared_width=shared,
                prefix="block_sparse_moe",
            )
        else:
            add_dense(layer, hidden, shared)
        return layer.group(1)

    layer_groups, order = collect(linear, [group(flag) for flag in dict.fromkeys(linear)])
    return finish(fields, _RULE, shape, layer_groups, order, family="granitemoehybrid")


def read_bamba(fields: Fields) -> Architecture:
    """Bamba: Mamba 2, attention on the layers listed, a dense MLP everywhere."""
    shape = read_shape(fields)
    hidden = shape.hidden
    listed = fields.sequence("attn_layer_indices") or ()
    attends = {fields.check_whole("attn_layer_indices", entry, 0, MAX_LAYERS) for entry in listed}
    linear = linear_layers(fields, shape.layers) or [layer not in attends for layer in range(shape.layers)]
    bias = fields.flag("attention_bias")
    mamba = _prefixed_mamba2(fields, hidden)

    def group(is_linear: bool) -> LayerGroup:
        layer = LayerBuilder()
        if is_linear:
            add_mamba2(layer, fields, hidden, mamba)
        else:
            add_attention(layer, full_attention(shape), hidden, qkv_bias=bias, out_bias=bias)
        layer.norms += 2 * hidden
        add_dense(layer, hidden, fields.whole("intermediate_size"), bias=fields.flag("mlp_bias"))
        return layer.group(1)

    layer_groups, order = collect(linear, [group(flag) for flag in dict.fromkeys(linear)])
    return finish(fields, _RULE, shape, layer_groups, order, family="bamba")


def read_falcon_h1(fields: Fields) -> Architecture:
    """Falcon-H1: attention and Mamba 2 side by side in every layer, then an MLP."""
    shape = read_shape(fields)
    hidden = shape.hidden
    layer = LayerBuilder()
    bias = fields.flag("attention_bias")
    add_attention(layer, full_attention(shape), hidden, qkv_bias=bias, out_bias=bias)
    mamba = _prefixed_mamba2(fields, hidden, fields.optional_whole("mamba_d_ssm"))
    mamba = replace(mamba, norm=fields.flag("mamba_rms_norm"), out_bias=fields.flag("projectors_bias"))
    add_mamba2(layer, fields, hidden, mamba)
    add_dense(layer, hidden, fields.whole("intermediate_size"), bias=fields.flag("mlp_bias"))
    layer.norms += 2 * hidden
    groups = (layer.group(shape.layers),)
    return finish(fields, _RULE, shape, groups, (0,) * shape.layers, family="falcon_h1")


def read_zamba2(fields: Fields) -> Architecture:
    """Zamba2: Mamba 2 layers; some first pass through one of a few shared attention blocks with adapters of their own.

    A shared block counts as a layer of its own kind: its parameters exist `num_mem_blocks` times, its cache and work as
    often as it is used.
    """
    layers = read_layers(fields)
    hidden = fields.whole(*HIDDEN)
    types = fields.sequence("layers_block_type", "layer_types", at_least=layers)
    if types is None:
        raise fields.missing("layers_block_type")
    hybrid = [str(entry) in ("hybrid", "g") for entry in types]
    heads = fields.whole("num_attention_heads", high=MAX_COUNT)
    if (2 * hidden) % heads:
        raise fields.error("num_attention_heads", f"must divide twice the hidden size {hidden}, not {heads}")
    width = fields.whole("intermediate_size", default=4 * hidden)
    mamba, adapted = LayerBuilder(), LayerBuilder()
    bias = fields.flag("add_bias_linear")
    inner = fields.whole("mamba_expand", high=64) * hidden
    mamba_heads = fields.whole("n_mamba_heads", high=MAX_COUNT)
    size = Mamba2(
        heads=mamba_heads,
        head_dim=fields.whole("mamba_headdim", default=max(inner // mamba_heads, 1)),
        groups=fields.whole("mamba_ngroups", high=MAX_COUNT),
        state=fields.whole("mamba_d_state"),
        kernel=fields.whole("mamba_d_conv", high=1024),
        inner=inner,
        in_bias=bias,
        out_bias=bias,
    )
    for layer in (mamba, adapted):
        add_mamba2(layer, fields, hidden, size)
        layer.norms += hidden
    _add_zamba_adapters(adapted, fields, hidden, width)
    shared = _zamba_shared(fields, hidden, heads, width, bias=bias)
    blocks = fields.whole("num_mem_blocks", high=MAX_LAYERS)
    keys = [kind for flag in hybrid for kind in (("shared", "adapted") if flag else ("mamba",))]
    built = {"mamba": mamba.group(1), "adapted": adapted.group(1), "shared": shared.group(1)}
    layer_groups, order = collect(keys, [built[key] for key in dict.fromkeys(keys)])
    uses = sum(hybrid)
    layer_groups = tuple(
        replace(group, parameter_copies=min(blocks, uses)) if group.attention is not None else group
        for group in layer_groups
    )
    shape = replace(_pure_shape(fields), heads=heads)
    return finish(fields, _RULE, shape, layer_groups, order, family="zamba2")


def _zamba_shared(fields: Fields, hidden: int, heads: int, width: int, *, bias: bool) -> LayerBuilder:
    """The shared block: attention over twice the hidden width, then an MLP."""
    layer = LayerBuilder()
    head_dim = 2 * hidden // heads
    kv_heads = fields.whole("num_key_value_heads", high=MAX_COUNT, default=heads)
    attention = Attention(
        kind=AttentionKind.FULL, query_heads=heads, kv_heads=kv_heads, head_dim_qk=head_dim, head_dim_v=head_dim
    )
    add_attention(layer, attention, hidden, input_width=2 * hidden)
    add_dense(layer, hidden, width, bias=bias)
    layer.norms += 3 * hidden
    return layer


def _add_zamba_adapters(layer: LayerBuilder, fields: Fields, hidden: int, width: int) -> None:
    """What each use of a shared block owns: a square projection, low-rank adapters of the MLP and of q, k, v."""
    part, whole = Component.OTHER, Split.REPLICATED
    rank = fields.whole("adapter_rank")
    layer.matrix("linear", hidden, hidden, part, 1, whole)
    layer.matrix("mlp_adapter.down", rank, hidden, part, 1, whole)
    layer.matrix("mlp_adapter.up", 2 * width, rank, part, 1, whole)
    if fields.flag("use_shared_attention_adapter"):
        layer.matrix("attention_adapter.down", rank, 2 * hidden, part, 3, whole)
        layer.matrix("attention_adapter.up", 2 * hidden, rank, part, 3, whole)


_NEMOTRON_NAMES = {
    "mamba": "M",
    "linear_attention": "M",
    "attention": "*",
    "full_attention": "*",
    "mlp": "-",
    "moe": "E",
}


def _nemotron_pattern(fields: Fields) -> str:
    """The layers of Nemotron-H as letters: M Mamba, * attention, - MLP, E experts."""
    pattern = fields.text("hybrid_override_pattern")
    if pattern is None:
        types = fields.sequence("layers_block_type", "layer_types")
        if types is None:
            raise fields.missing("hybrid_override_pattern")
        pattern = "".join(_NEMOTRON_NAMES.get(str(entry), "?") for entry in types)
    if not pattern or len(pattern) > MAX_LAYERS or set(pattern) - set("M*-E"):
        raise fields.error("hybrid_override_pattern", "may hold only M, *, - and E, at least one")
    return pattern


def read_nemotron_h(fields: Fields) -> Architecture:
    """Nemotron-H and Nemotron 3: every layer is one block with one norm; experts may work in a latent width."""
    pattern = _nemotron_pattern(fields)
    config = {**fields.config, "num_hidden_layers": len(pattern)}
    inner = Fields(config, fields.defaults, fields.path)
    shape = read_shape(inner)
    hidden = shape.hidden
    bias = fields.flag("mlp_bias")

    def group(kind: str) -> LayerGroup:
        layer = LayerBuilder()
        layer.norms += hidden
        if kind == "M":
            add_mamba2(layer, fields, hidden, _nemotron_mamba(fields), prefix="mixer")
        elif kind == "*":
            add_attention(layer, full_attention(shape), hidden, prefix="mixer")
        elif kind == "-":
            add_dense(layer, hidden, fields.whole("intermediate_size"), gated=False, bias=bias)
        else:
            _add_nemotron_experts(layer, fields, hidden, bias=bias)
        return layer.group(1)

    layer_groups, order = collect(pattern, [group(kind) for kind in dict.fromkeys(pattern)])
    return finish(fields, _RULE, shape, layer_groups, order, family="nemotron_h")


def _nemotron_mamba(fields: Fields) -> Mamba2:
    return Mamba2(
        heads=fields.whole("mamba_num_heads", high=MAX_COUNT),
        head_dim=fields.whole("mamba_head_dim"),
        groups=fields.whole("n_groups", high=MAX_COUNT),
        state=fields.whole("ssm_state_size"),
        kernel=fields.whole("conv_kernel", high=1024),
        conv_bias=fields.flag("use_conv_bias", default=True),
        in_bias=fields.flag("use_bias"),
        out_bias=fields.flag("use_bias"),
    )


def _add_nemotron_experts(layer: LayerBuilder, fields: Fields, hidden: int, *, bias: bool) -> None:
    """Experts of two matrices, a shared one of its own width, projections into the latent width where there is one."""
    latent = fields.optional_whole("moe_latent_size")
    add_experts(
        layer,
        hidden,
        experts=fields.whole("n_routed_experts", high=MAX_COUNT),
        top_k=fields.whole("num_experts_per_tok", high=MAX_COUNT),
        width=fields.whole("moe_intermediate_size"),
        gated=False,
        prefix="mixer",
        expert_input=latent,
    )
    shared = fields.whole("moe_shared_expert_intermediate_size", low=0, high=MAX_WIDTH, default=0)
    if shared and fields.whole("n_shared_experts", low=0, high=MAX_COUNT, default=1):
        add_mlp(
            layer,
            hidden,
            shared,
            gated=False,
            bias=bias,
            prefix="mixer.shared_experts",
            component=Component.SHARED_EXPERTS,
        )
        if layer.feed_forward is not None:
            layer.feed_forward = replace(layer.feed_forward, shared_intermediate_size=shared)
    if latent is not None:
        layer.matrix("mixer.fc1_latent_proj", latent, hidden, Component.MLP, 1, Split.REPLICATED, bias=bias)
        layer.matrix("mixer.fc2_latent_proj", hidden, latent, Component.MLP, 1, Split.REPLICATED, bias=bias)


def mamba_hybrid_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """A reader for each of these model types."""
    return {
        "mamba": lambda fields: read_mamba1(fields, family="mamba"),
        "falcon_mamba": lambda fields: read_mamba1(fields, family="falcon_mamba"),
        "mamba2": read_mamba2,
        "jamba": read_jamba,
        "bamba": read_bamba,
        "granitemoehybrid": read_granite_hybrid,
        "falcon_h1": read_falcon_h1,
        "zamba2": read_zamba2,
        "nemotron_h": read_nemotron_h,
    }
