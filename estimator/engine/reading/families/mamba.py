"""Layers of one block each: Mamba alone (Mamba 1 and 2, Falcon Mamba), and Nemotron-H; shared blocks (Zamba2).

Source: the reference model classes (transformers 5.24, 2026-11) and the files themselves.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from estimator.engine.model.spec import Architecture, Attention, AttentionKind, Component, Split
from estimator.engine.reading.blocks import LayerBuilder, add_attention, add_dense, collect
from estimator.engine.reading.decoder import Decoder, Tables, finish, nothing, read_decoder
from estimator.engine.reading.experts import MoeRule, add_moe
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, Fields
from estimator.engine.reading.kinds import every
from estimator.engine.reading.mixers import Grouped
from estimator.engine.reading.shape import HIDDEN, read_layers
from estimator.engine.reading.state_blocks import Mamba1, Mamba2, add_mamba1, add_mamba2
from estimator.engine.reading.state_mixers import KERNEL_LIMIT, auto_rank


def _mamba1(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    inner = fields.optional_whole("intermediate_size", "d_inner")
    size = Mamba1(
        inner=fields.whole("expand", high=64) * hidden if inner is None else inner,
        state=fields.whole("state_size"),
        dt_rank=auto_rank(fields, "time_step_rank", hidden),
        kernel=fields.whole("conv_kernel", high=KERNEL_LIMIT),
        conv_bias=fields.flag("use_conv_bias", default=True),
        bias=fields.flag("use_bias"),
    )
    add_mamba1(layer, fields, hidden, size, prefix="mixer")


def _mamba2(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    bias = fields.flag("use_bias")
    size = Mamba2(
        heads=fields.whole("num_heads", high=MAX_COUNT),
        head_dim=fields.whole("head_dim"),
        groups=fields.whole("n_groups", high=MAX_COUNT),
        state=fields.whole("state_size"),
        kernel=fields.whole("conv_kernel", high=KERNEL_LIMIT),
        inner=fields.whole("expand", high=64) * hidden,
        conv_bias=fields.flag("use_conv_bias", default=True),
        in_bias=bias,
        out_bias=bias,
    )
    add_mamba2(layer, fields, hidden, size, prefix="mixer")


_NEMOTRON_LETTERS = {
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
        pattern = "".join(_NEMOTRON_LETTERS.get(str(entry), "?") for entry in types)
    if not pattern or len(pattern) > MAX_LAYERS or set(pattern) - set("M*-E"):
        raise fields.error("hybrid_override_pattern", "may hold only M, *, - and E, at least one")
    return pattern


def _nemotron_mamba(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    bias = fields.flag("use_bias")
    size = Mamba2(
        heads=fields.whole("mamba_num_heads", high=MAX_COUNT),
        head_dim=fields.whole("mamba_head_dim"),
        groups=fields.whole("n_groups", high=MAX_COUNT),
        state=fields.whole("ssm_state_size"),
        kernel=fields.whole("conv_kernel", high=KERNEL_LIMIT),
        conv_bias=fields.flag("use_conv_bias", default=True),
        in_bias=bias,
        out_bias=bias,
    )
    add_mamba2(layer, fields, hidden, size, prefix="mixer")


def _nemotron_dense(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    add_dense(layer, hidden, fields.whole("intermediate_size"), gated=False, bias=fields.flag("mlp_bias"))


_NEMOTRON_MOE = MoeRule(
    experts=("n_routed_experts", "num_experts", "num_local_experts"),
    gated=False,
    shared="width",
    shared_key="moe_shared_expert_intermediate_size",
    shared_bias="mlp_bias",
    prefix="mixer",
    inner="moe_latent_size",
    inner_names=("fc1_latent_proj", "fc2_latent_proj"),
    inner_bias="mlp_bias",
)


def _nemotron_experts(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Experts of two matrices, a shared one of its own width unless its count is zero."""
    shared = fields.whole("n_shared_experts", low=0, high=MAX_COUNT, default=1) > 0
    add_moe(layer, fields, _NEMOTRON_MOE if shared else replace(_NEMOTRON_MOE, shared=""), hidden)


_MAMBA1 = Decoder(kinds=every("state"), mixers={"state": _mamba1}, dense=nothing, norms=1)

MAMBA: Mapping[str, Decoder] = {
    "mamba": _MAMBA1,
    "falcon_mamba": _MAMBA1,
    "mamba2": replace(_MAMBA1, mixers={"state": _mamba2}),
    "nemotron_h": Decoder(
        layers=lambda fields: len(_nemotron_pattern(fields)),
        kinds=lambda fields, layers: _nemotron_pattern(fields),
        mixers={"M": _nemotron_mamba, "*": Grouped(prefix="mixer"), "-": _nemotron_dense, "E": _nemotron_experts},
        dense=nothing,
        norms=1,
    ),
}


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
        kernel=fields.whole("mamba_d_conv", high=KERNEL_LIMIT),
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
    return finish(fields, Tables(), layer_groups, order, family="zamba2")


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


def mamba_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """A reader for each of these model types."""
    decoders = {name: partial(read_decoder, decoder=decoder, family=name) for name, decoder in MAMBA.items()}
    return {**decoders, "zamba2": read_zamba2}
