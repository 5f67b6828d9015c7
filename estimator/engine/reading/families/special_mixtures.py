"""Decoders with a mixture of experts and a part that no rule of standard mixtures has, each family as data.

Source: the reference model classes (transformers 5.24, 2026-11) and the files themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from estimator.engine.model.spec import Architecture, Attention, AttentionKind, Component, Split
from estimator.engine.reading.blocks import LayerBuilder, add_mlp
from estimator.engine.reading.decoder import Decoder
from estimator.engine.reading.experts import MoeRule
from estimator.engine.reading.fields import MAX_COUNT, Fields
from estimator.engine.reading.kinds import every
from estimator.engine.reading.mixers import Grouped
from estimator.engine.reading.sparse_layers import after, sparse_after_first, sparse_by_frequency, sparse_by_range

_BIASED = Grouped(qkv_bias="attention_bias", out_bias="attention_bias")
_OCR_TOP_K = 6


def _arctic_residual(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """A dense MLP of the model's own width beside the experts."""
    if not fields.flag("parallel_attn_mlp_res", "use_residual"):
        return
    add_mlp(layer, hidden, hidden, prefix="residual_mlp")
    layer.norms += hidden
    if layer.feed_forward is not None:
        layer.feed_forward = replace(layer.feed_forward, intermediate_size=hidden)


def _jet_attention(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """JetMoE: each token picks experts that project its queries and outputs; keys and values are those of all."""
    kv_heads, width = fields.whole("num_key_value_heads", high=MAX_COUNT), fields.whole("kv_channels", "head_dim")
    top_k = fields.whole("num_experts_per_tok", high=MAX_COUNT)
    experts = fields.whole("num_local_experts", "num_experts", high=MAX_COUNT)
    inner, part = kv_heads * width, Component.ATTENTION
    layer.attention = Attention(
        kind=AttentionKind.FULL,
        query_heads=kv_heads * top_k,
        kv_heads=kv_heads,
        head_dim_qk=width,
        head_dim_v=width,
    )
    layer.matrix("self_attention.kv_proj", 2 * inner, hidden, part, 1, Split.KV_HEADS)
    routed = Component.ROUTED_EXPERTS
    layer.matrix("self_attention.experts.*.input_linear", inner, hidden, routed, experts, Split.EXPERTS)
    layer.matrix("self_attention.experts.*.output_linear", hidden, inner, routed, experts, Split.EXPERTS)
    layer.matrix("self_attention.experts.router", experts, hidden, Component.ROUTER, 1, Split.REPLICATED)
    layer.vector(part, hidden)


def _jet_bias(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    layer.vector(Component.MLP, hidden)


def _one_of_two(fields: Fields) -> Fields:
    """ERNIE 4.5 VL writes figures of text and of picture experts as pairs; those of text come first."""
    names = ("moe_intermediate_size", "moe_num_experts", "moe_layer_start_index", "moe_layer_end_index")
    pairs = {name: fields.raw(name) for name in names}
    own = {name: pair[0] for name, pair in pairs.items() if isinstance(pair, list | tuple) and pair}
    return fields.over({"moe_intermediate_size": 1536, **own} if pairs["moe_intermediate_size"] is None else own)


def _ernie_sparse(fields: Fields, layers: int) -> Sequence[bool]:
    if fields.raw("mlp_layer_types") is None and fields.raw("moe_layer_start_index") is not None:
        return sparse_by_range(fields, layers)
    return sparse_after_first(fields, layers, dense=1)


def _ocr_top_k(fields: Fields) -> Fields:
    """DeepSeek-OCR 2: the class leaves the number of experts a token uses open; the published models use six."""
    return fields.over({"num_experts_per_tok": _OCR_TOP_K}) if fields.raw("num_experts_per_tok") is None else fields


def _ocr_note(fields: Fields, architecture: Architecture) -> Architecture:
    if "num_experts_per_tok" in fields.config and fields.config["num_experts_per_tok"] is not None:
        return architecture
    note = f"num_experts_per_tok is not stated: {_OCR_TOP_K}, as in the published models"
    return replace(architecture, warnings=(*architecture.warnings, note))


_HUNYUAN = Decoder(
    kinds=every("full"),
    mixers={"full": replace(_BIASED, qk_norm="head")},
    moe=MoeRule(
        width=("moe_intermediate_size", "intermediate_size"),
        shared="experts",
        shared_key="num_shared_expert",
        shared_width_of=("intermediate_size",),
        router="gate.wg",
    ),
    family="hunyuan_v1_moe",
)

SPECIAL_MIXTURES: Mapping[str, Decoder] = {
    "hunyuan_v1_moe": _HUNYUAN,
    "hunyuan": _HUNYUAN,
    "arctic": Decoder(
        kinds=every("full"),
        mixers={"full": Grouped()},
        moe=MoeRule(
            width=("intermediate_size",),
            prefix="block_sparse_moe",
            sparse_layers=sparse_by_frequency,
            parts=(_arctic_residual,),
        ),
        dense_width=("intermediate_size",),
    ),
    "ernie4_5_vl_moe_text": Decoder(
        kinds=every("full"),
        mixers={"full": Grouped(qkv_bias="use_bias", out_bias="use_bias")},
        # the correction of the router is a parameter here
        moe=MoeRule(
            shared="experts",
            shared_key="moe_num_shared_experts",
            shared_bias="use_bias",
            router_bias=True,
            sparse_layers=_ernie_sparse,
        ),
        dense_width=("intermediate_size",),
        mlp_bias="use_bias",
        prepare=_one_of_two,
    ),
    "deepseek_ocr2_text": Decoder(
        kinds=every("full"),
        mixers={"full": _BIASED},
        moe=MoeRule(shared="experts", shared_bias="mlp_bias", sparse_layers=after(1)),
        dense_width=("intermediate_size",),
        mlp_bias="mlp_bias",
        prepare=_ocr_top_k,
        around=_ocr_note,
    ),
    "jetmoe": Decoder(
        kinds=every("full"),
        mixers={"full": _jet_attention},
        moe=MoeRule(width=("intermediate_size",), parts=(_jet_bias,)),
    ),
}
