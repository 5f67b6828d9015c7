"""Zaya: attention in a compressed space whose queries and keys pass through convolutions, a router with an MLP.

Source: the reference model classes (transformers 5.24, 2026-11).
"""

from collections.abc import Mapping
from dataclasses import replace

from estimator.engine.model.spec import (
    Architecture,
    Attention,
    AttentionKind,
    Component,
    RecurrentState,
    Split,
    StateKind,
)
from estimator.engine.reading.blocks import LayerBuilder, add_experts
from estimator.engine.reading.decoder import Decoder, Tables
from estimator.engine.reading.fields import MAX_COUNT, MAX_TOKENS, Fields
from estimator.engine.reading.kinds import always, listed
from estimator.engine.reading.shape import HEADS, head_width, read_kv_heads
from estimator.engine.reading.state_mixers import KERNEL_LIMIT

_PART = Component.ATTENTION


def _attention(layer: LayerBuilder, fields: Fields, hidden: int, *, windowed: bool) -> None:
    """Queries, keys, values of this token and of the one before; two convolutions of queries and keys."""
    heads = fields.whole(*HEADS, high=MAX_COUNT)
    kv_heads, width = read_kv_heads(fields, heads), head_width(fields, hidden, heads)
    queries, keys = heads * width, kv_heads * width
    bias = fields.flag("attention_bias")
    layer.attention = Attention(
        kind=AttentionKind.WINDOW if windowed else AttentionKind.FULL,
        query_heads=heads,
        kv_heads=kv_heads,
        head_dim_qk=width,
        head_dim_v=width,
        window_tokens=fields.whole("sliding_window", high=MAX_TOKENS) if windowed else None,
    )
    layer.matrix("self_attn.qkv_proj.q_proj", queries, hidden, _PART, bias=bias)
    layer.matrix("self_attn.qkv_proj.k_proj", keys, hidden, _PART, 1, Split.KV_HEADS, bias=bias)
    for name in ("v_proj_current", "v_proj_delayed"):
        layer.matrix(f"self_attn.qkv_proj.{name}", keys // 2, hidden, _PART, 1, Split.KV_HEADS, bias=bias)
    layer.matrix("self_attn.o_proj", hidden, queries, _PART, bias=bias)
    first = fields.whole("cca_time0", high=KERNEL_LIMIT)
    second = fields.whole("cca_time1", high=KERNEL_LIMIT)
    channels = queries + keys
    layer.matrix("self_attn.qkv_proj.conv_qk_depthwise", channels, first, Component.STATE, bias=True, quantisable=False)
    layer.matrix(
        "self_attn.qkv_proj.conv_qk_grouped", channels, width * second, Component.STATE, bias=True, quantisable=False
    )
    layer.vector(_PART, kv_heads)
    layer.state = RecurrentState(
        kind=StateKind.SHORT_CONVOLUTION,
        recurrent_elements=0,
        conv_elements=channels * (first + second - 2) + keys // 2,
        state_bytes_per_element=2,
    )


def _full(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    _attention(layer, fields, hidden, windowed=False)


def _window(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    _attention(layer, fields, hidden, windowed=True)


def _experts(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Experts, or none of them, chosen by an MLP that also reads the choice of the layer before."""
    experts = fields.whole("num_experts", "num_local_experts", high=MAX_COUNT)
    top_k = fields.whole("num_experts_per_tok", high=experts)
    add_experts(layer, hidden, experts=experts, top_k=top_k, width=fields.whole("moe_intermediate_size"), router=None)
    inner, part, whole = fields.whole("router_hidden_size"), Component.ROUTER, Split.REPLICATED
    layer.matrix("mlp.gate.down_proj", inner, hidden, part, 1, whole, bias=True, quantisable=False)
    layer.matrix("mlp.gate.router_mlp.fc", inner, inner, part, 2, whole, bias=True, quantisable=False)
    layer.matrix("mlp.gate.router_mlp.out_proj", experts + 1, inner, part, 1, whole, quantisable=False)
    layer.vector(part, 2 * inner)
    # scale and bias of what each block gives and of what it is added to
    layer.vector(Component.OTHER, 8 * hidden)


def _first_layer(fields: Fields, architecture: Architecture) -> Architecture:
    """The first layer reads no earlier choice; the input has a scale and a bias."""
    own = 2 * architecture.hidden_size - fields.whole("router_hidden_size")
    return replace(architecture, other_parameters=own)


ZAYA: Mapping[str, Decoder] = {
    "zaya": Decoder(
        kinds=listed(always("full")),
        mixers={"full": _full, "window": _window},
        dense=_experts,
        tables=Tables(lm_head_bias="lm_head_bias"),
        around=_first_layer,
    ),
}
