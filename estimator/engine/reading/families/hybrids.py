"""Attention on some layers, a constant state on the others: delta nets, lightning attention, convolutions, Mamba.

Source: the reference model classes (transformers 5.24, 2026-11) and the files themselves.
"""

from collections.abc import Mapping
from dataclasses import replace

from estimator.engine.model.spec import Component, RecurrentState, StateKind
from estimator.engine.reading.blocks import LayerBuilder, add_dense
from estimator.engine.reading.decoder import Decoder
from estimator.engine.reading.experts import MoeRule
from estimator.engine.reading.fields import MAX_COUNT, MAX_TOKENS, Fields
from estimator.engine.reading.kinds import always, every, flags, indices, interval, listed
from estimator.engine.reading.mixers import Grouped, both
from estimator.engine.reading.shape import HEADS
from estimator.engine.reading.sparse_layers import sparse_after_dense, sparse_by_period, sparse_by_step
from estimator.engine.reading.state_mixers import (
    KERNEL_LIMIT,
    GatedDelta,
    beside_mamba2,
    jamba_mamba,
    lightning,
    prefixed_mamba2,
    short_convolution,
)


def _qwen_gate(fields: Fields) -> str:
    return "query" if fields.flag("attn_output_gate", default=True) else ""


_BIASED = Grouped(qkv_bias="attention_bias", out_bias="attention_bias")
_QWEN_MOE = MoeRule(
    shared="width",
    shared_key="shared_expert_intermediate_size",
    shared_gate=True,
    sparse_layers=sparse_by_step,
)
_QWEN = Decoder(
    kinds=listed(interval("full_attention_interval", default=4)),
    mixers={"state": GatedDelta(), "full": replace(_BIASED, qk_norm="head", gate=_qwen_gate)},
    dense_width=("intermediate_size",),
)


def _lfm2_dense(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """LFM2's MLP: two thirds of the stated width, scaled, rounded up to a multiple, unless told not to."""
    width = fields.whole("intermediate_size", "block_ff_dim")
    if fields.flag("block_auto_adjust_ff_dim", default=True):
        width = 2 * width // 3
        factor = fields.number("block_ffn_dim_multiplier", low=0.01, high=100.0, default=1.0)
        multiple = fields.whole("block_multiple_of", high=65_536, default=256)
        width = -(-int(factor * width) // multiple) * multiple
    add_dense(layer, hidden, width)


def _granite_dense(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Granite 4 without experts: the shared MLP alone."""
    add_dense(layer, hidden, fields.whole("shared_intermediate_size"))


def _granite_sparse(fields: Fields, layers: int) -> list[bool]:
    return [fields.whole("num_local_experts", low=0, high=MAX_COUNT) > 0] * layers


def _jamba_kinds(fields: Fields, layers: int) -> list[str]:
    period = fields.whole("attn_layer_period", high=MAX_COUNT)
    offset = fields.whole("attn_layer_offset", low=0, high=MAX_COUNT)
    return ["full" if layer % period == offset else "state" for layer in range(layers)]


def _lfm3_kind(layer: int, layers: int) -> str:
    return "full" if layer % 4 == 2 else "window" if layer and layer % 4 == 0 else "state"


def _lfm3_gate(fields: Fields) -> str:
    return "head" if fields.flag("use_attention_gate", default=True) else ""


def _repeated(fields: Fields, layers: int) -> list[str]:
    """Recurrent Gemma: the pattern of `block_types` over the layers."""
    listed_types = fields.sequence("block_types", "_block_types") or ("recurrent", "recurrent", "attention")
    if not set(map(str, listed_types)) <= {"recurrent", "attention"}:
        raise fields.error("block_types", "may hold only recurrent and attention")
    return ["window" if listed_types[layer % len(listed_types)] == "attention" else "state" for layer in range(layers)]


def _gated_recurrence(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """The recurrent block of Recurrent Gemma: two input maps, a convolution, gates in blocks of a head, an output."""
    width = fields.whole("lru_width", default=hidden)
    heads = fields.whole(*HEADS, high=MAX_COUNT)
    kernel = fields.whole("conv1d_width", high=KERNEL_LIMIT)
    part = Component.STATE
    layer.matrix("temporal_block.linear_y", width, hidden, part, bias=True)
    layer.matrix("temporal_block.linear_x", width, hidden, part, bias=True)
    layer.matrix("temporal_block.linear_out", hidden, width, part, bias=True)
    layer.matrix("temporal_block.conv_1d", width, kernel, part, bias=True, quantisable=False)
    block = width // heads
    for gate in ("input_gate", "recurrent_gate"):
        layer.matrix(f"temporal_block.rg_lru.{gate}", block, block, part, heads, bias=True, quantisable=False)
    layer.vector(part, width)
    layer.state = RecurrentState(
        kind=StateKind.LINEAR_ATTENTION,
        recurrent_elements=width,
        conv_elements=width * (kernel - 1),
        state_bytes_per_element=4,
        heads=heads,
        key_dim=1,
        value_dim=block,
    )


def _half_width(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Recurrent Gemma's MLP: the stated width counts gate and up together."""
    add_dense(layer, hidden, fields.whole("intermediate_size") // 2, bias=True)


def _window_of_attention(fields: Fields) -> int:
    return fields.whole("attention_window_size", "sliding_window", high=MAX_TOKENS)


_LFM2 = Decoder(
    kinds=listed(indices("full_attn_idxs", "full", "state", default=always("full"))),
    mixers={"state": short_convolution, "full": Grouped(qk_norm="head")},
    dense=_lfm2_dense,
)
_MINIMAX = Decoder(
    kinds=listed(flags("attn_type_list", "full", "state", default=lambda layer, _: "state" if layer % 2 else "full")),
    mixers={"state": lightning, "full": Grouped()},
    moe=MoeRule(width=("intermediate_size",), shared="width", shared_key="shared_intermediate_size"),
    family="minimax",
)

HYBRIDS: Mapping[str, Decoder] = {
    "qwen3_next": replace(_QWEN, mixers={**_QWEN.mixers, "state": GatedDelta(fused=True)}, moe=_QWEN_MOE),
    "qwen3_5_text": _QWEN,
    "qwen3_5_moe_text": replace(_QWEN, moe=_QWEN_MOE),
    "olmo_hybrid": replace(
        _QWEN,
        kinds=listed(interval(default=4)),
        mixers={"state": GatedDelta(), "full": replace(_BIASED, qk_norm="width")},
    ),
    "lara_mini": Decoder(
        kinds=listed(lambda layer, _: ("state", "window", "state", "full", "window")[layer % 5]),
        mixers={"state": GatedDelta(), **both(replace(_BIASED, qk_norm="head"))},
        moe=MoeRule(shared="width", shared_key="shared_expert_intermediate_size"),
    ),
    "minimax": _MINIMAX,
    "minimax_m1": _MINIMAX,
    "lfm2": _LFM2,
    "lfm2_moe": replace(
        _LFM2,
        dense=None,
        dense_width=("intermediate_size",),
        moe=MoeRule(prefix="feed_forward", sparse_layers=lambda f, n: sparse_after_dense(f, n, dense=2)),
    ),
    "lfm3": Decoder(
        kinds=listed(_lfm3_kind),
        mixers={
            "state": short_convolution,
            **both(Grouped(qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head", gate=_lfm3_gate)),
        },
        dense_width=("intermediate_size",),
        norms_if="use_sandwich_norm",
    ),
    "recurrent_gemma": Decoder(
        kinds=_repeated,
        mixers={
            "state": _gated_recurrence,
            "window": both(Grouped(qkv_bias="attention_bias", out_bias=True), window=_window_of_attention)["window"],
        },
        dense=_half_width,
    ),
    "jamba": Decoder(
        kinds=_jamba_kinds,
        mixers={"full": Grouped(), "state": jamba_mamba},
        moe=MoeRule(width=("intermediate_size",), prefix="feed_forward", sparse_layers=sparse_by_period),
        dense_width=("intermediate_size",),
    ),
    # a shared MLP on every layer, experts beside it unless there are none
    "granitemoehybrid": Decoder(
        kinds=listed(always("state")),
        mixers={"full": _BIASED, "state": prefixed_mamba2},
        moe=MoeRule(
            experts=("num_local_experts",),
            width=("intermediate_size",),
            shared="width",
            shared_key="shared_intermediate_size",
            prefix="block_sparse_moe",
            sparse_layers=_granite_sparse,
        ),
        dense=_granite_dense,
    ),
    "bamba": Decoder(
        kinds=listed(indices("attn_layer_indices", "full", "state", default=always("state"))),
        mixers={"full": _BIASED, "state": prefixed_mamba2},
        dense_width=("intermediate_size",),
        mlp_bias="mlp_bias",
    ),
    "falcon_h1": Decoder(
        kinds=every("full"),
        mixers={"full": beside_mamba2(_BIASED)},
        dense_width=("intermediate_size",),
        mlp_bias="mlp_bias",
    ),
}
