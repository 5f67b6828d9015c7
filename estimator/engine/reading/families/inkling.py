"""Inkling: attention with relative positions and short convolutions, some layers passed through several times.

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
from estimator.engine.reading.blocks import LayerBuilder, add_dense
from estimator.engine.reading.decoder import Decoder, Loop, Tables
from estimator.engine.reading.experts import MoeRule
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, Fields
from estimator.engine.reading.kinds import indices, interval, listed
from estimator.engine.reading.mixers import Grouped, Renamed, prefixed
from estimator.engine.reading.sparse_layers import after
from estimator.engine.reading.state_mixers import KERNEL_LIMIT

_SWA = prefixed("swa_", "num_attention_heads", "num_key_value_heads", "head_dim")
_WINDOW = ("sliding_window", "sliding_window_size")


def _kernel(fields: Fields) -> int:
    return fields.whole("conv_kernel_size", "sconv_kernel_size", high=KERNEL_LIMIT)


def _kv_width(attention: Attention) -> int:
    return attention.kv_heads * attention.head_dim_qk


def _convolutions(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention, *, keys: bool = True) -> None:
    """Short convolutions of keys and values, and of what attention and feed-forward part give; they keep a state."""
    kernel, width = _kernel(fields), _kv_width(attention)
    for name in ("k_sconv", "v_sconv") if keys else ():
        layer.matrix(f"self_attn.{name}", width, kernel, Component.STATE, 1, Split.KV_HEADS, quantisable=False)
    for name in ("attn_sconv", "mlp_sconv"):
        layer.matrix(name, hidden, kernel, Component.STATE, 1, Split.REPLICATED, quantisable=False)
    layer.state = RecurrentState(
        kind=StateKind.SHORT_CONVOLUTION,
        recurrent_elements=0,
        conv_elements=2 * (width + hidden) * (kernel - 1),
        state_bytes_per_element=2,
    )


def _relative(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    """Relative positions of Inkling: a map from the input, and logits by distance up to the window or the extent."""
    rank = fields.whole("d_rel")
    layer.matrix("self_attn.r_proj", attention.query_heads * rank, hidden, Component.ATTENTION)
    extent = attention.window_tokens or fields.whole("rel_extent")
    layer.vector(Component.ATTENTION, rank * extent)


def _relative_2(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    """Relative positions and sinks of Inkling 2, and the norm of its queries."""
    rank, heads = fields.whole("d_rel"), attention.query_heads
    layer.matrix("self_attn.relative_position_bias.linear", heads * rank, hidden, Component.ATTENTION)
    layer.vector(Component.ATTENTION, rank * (attention.window_tokens or fields.whole("rel_extent")))
    layer.matrix("self_attn.sink_proj", heads, hidden, Component.ATTENTION)
    layer.norms += heads * (rank + attention.head_dim_qk)


def _input_convolutions(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    """Full layers of Inkling 2: the convolutions of keys and values have weights that the input changes."""
    kernel = _kernel(fields)
    for name in ("k_proj", "v_proj"):
        rows = kernel * attention.kv_heads
        layer.matrix(f"self_attn.{name}.sconv.weight_proj", rows, hidden, Component.ATTENTION, 1, Split.REPLICATED)
        layer.vector(Component.ATTENTION, kernel * _kv_width(attention))
    _convolutions(layer, fields, hidden, attention, keys=False)
    # queries, keys and values have a norm and an attention residual each
    layer.norms += 2 * hidden
    layer.vector(Component.OTHER, 3 * hidden)


def _residual_query(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    layer.vector(Component.OTHER, hidden)


def _shared_sink(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """The router scores the shared experts too and has a scale."""
    layer.vector(Component.ROUTER, fields.whole("n_shared_experts", low=0, high=MAX_COUNT, default=0) * hidden + 1)


def _dense(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """A dense MLP with a scale."""
    add_dense(layer, hidden, fields.whole("intermediate_size"))
    layer.vector(Component.MLP, 1)


def _widths(fields: Fields) -> Fields:
    """The first files write the width of experts under the usual key, that of dense layers under one of its own."""
    dense = fields.optional_whole("dense_intermediate_size")
    if dense is None:
        return fields
    return fields.over({"intermediate_size": dense, "moe_intermediate_size": fields.whole("intermediate_size")})


_ATTENTION = Grouped(qk_norm="head", also=(_relative, _convolutions))
_FULL_2 = Grouped(gate="width", also=(_relative_2, _input_convolutions))
_WINDOW_2 = Grouped(
    kind=AttentionKind.WINDOW,
    window=_WINDOW,
    gate="width",
    also=(_relative_2, _convolutions, _residual_query),
)


def _mlp_residual(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    layer.vector(Component.OTHER, hidden)


def _first_and_last(fields: Fields, architecture: Architecture) -> Architecture:
    """The first layer has no attention residual of its own; one more merges all before the final norm."""
    hidden = architecture.hidden_size
    first = architecture.layer_groups[architecture.layer_order[0]].attention
    lacks = hidden if first is not None and first.window_tokens is not None else 3 * hidden
    return replace(architecture, other_parameters=architecture.other_parameters + hidden - lacks)


def _loop_range(fields: Fields) -> tuple[int, int, int]:
    """The first looped layer, the one after the last, and how often they are passed through."""
    settings = fields.sub("loop_config") or fields
    start = settings.whole("core_start", "loop_layer_index_start", low=0, high=MAX_LAYERS, default=0)
    end = settings.whole("core_end", "loop_layer_index_end", low=start, high=MAX_LAYERS, default=start)
    return start, end, settings.whole("num_passes", "loop_num_passes", high=64, default=1)


def _uses(fields: Fields, layers: int) -> list[int]:
    start, end, passes = _loop_range(fields)
    return [passes if start <= layer < end else 1 for layer in range(layers)]


def _message_gates(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Gates that let a later pass read an earlier one: of queries, keys, values and the MLP, through a low rank."""
    settings = fields.sub("loop_config") or fields
    rank = settings.whole("gate_rank", "loop_gate_rank")
    for name in ("q", "k", "v", "mlp"):
        layer.matrix(f"{name}_message_gate.down_proj", rank, 2 * hidden, Component.OTHER, 1, Split.REPLICATED)
        layer.matrix(f"{name}_message_gate.gate_proj", hidden, rank, Component.OTHER, 2, Split.REPLICATED)


def _messages(fields: Fields, architecture: Architecture) -> Architecture:
    """Four queries of what a later pass reads, for each looped layer."""
    start, end, _ = _loop_range(fields)
    found = _first_and_last(fields, architecture)
    return replace(found, other_parameters=found.other_parameters + 4 * (end - start) * found.hidden_size)


_INKLING_2 = Decoder(
    kinds=listed(interval(default=6, others="window")),
    mixers={"full": _FULL_2, "window": Renamed(mixer=_WINDOW_2, keys=_SWA)},
    moe=MoeRule(),
    parts=(_mlp_residual,),
    tables=Tables(embedding_norm=True, head_rows="unpadded_vocab_size"),
    around=_first_and_last,
)

INKLING: Mapping[str, Decoder] = {
    "inkling_text": Decoder(
        kinds=listed(
            indices("local_layer_ids", "window", "full", default=lambda i, _: "window" if (i + 1) % 6 else "full")
        ),
        mixers={
            "full": _ATTENTION,
            "window": Renamed(mixer=replace(_ATTENTION, kind=AttentionKind.WINDOW, window=_WINDOW), keys=_SWA),
        },
        moe=MoeRule(shared="experts", sparse_layers=after(0), parts=(_shared_sink,)),
        dense=_dense,
        tables=Tables(embedding_norm=True),
        prepare=_widths,
    ),
    "inkling2_text": _INKLING_2,
    "inkling2_loop_text": replace(
        _INKLING_2,
        loop=Loop(uses=_uses, parts=(_message_gates,)),
        around=_messages,
    ),
}
