"""Grouped-query decoders whose layers differ: heads, windows, gates and experts by layer, each family as data.

Source: the reference model classes (transformers 5.24, 2026-11) and the files themselves.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from estimator.engine.model.spec import Architecture, Attention, AttentionKind, Component
from estimator.engine.reading.blocks import LayerBuilder
from estimator.engine.reading.decoder import Decoder, Tables
from estimator.engine.reading.experts import MoeRule
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, MAX_TOKENS, Fields
from estimator.engine.reading.kinds import ByConfig, always, every, flags, indices, interval, listed
from estimator.engine.reading.mixers import Grouped, Renamed, both, prefixed, replicated
from estimator.engine.reading.shape import HEADS, check_flags, listed_types
from estimator.engine.reading.sparse_layers import (
    after,
    sparse_by_step,
    sparse_enumerated,
    sparse_listed,
)

_SWA = prefixed("swa_", "num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim")
_BIASED = Grouped(qkv_bias="attention_bias", out_bias="attention_bias")


def _llama4_kinds(fields: Fields, layers: int) -> list[str]:
    """Chunked where rotary positions are used, full elsewhere."""
    if fields.raw("attention_chunk_size") is None:
        return ["full"] * layers
    if fields.sequence("no_rope_layers"):
        rotary = check_flags(fields, "no_rope_layers", fields.sequence("no_rope_layers", at_least=layers) or ())
    else:
        step = fields.whole("no_rope_layer_interval", high=MAX_LAYERS, default=4)
        rotary = [(layer + 1) % step != 0 for layer in range(layers)]
    return ["chunk" if uses else "full" for uses in rotary]


def _mimo_window(fields: Fields) -> int:
    """The window counts the query itself beside `sliding_window_size`."""
    before = fields.optional_whole("sliding_window_size", high=MAX_TOKENS)
    return fields.whole("sliding_window", high=MAX_TOKENS) if before is None else before + 1


def _mimo_kv_heads(fields: Fields) -> int | None:
    """KV heads of windowed layers: as stated, else twice those of the full ones."""
    stated = fields.optional_whole("swa_num_key_value_heads", high=MAX_COUNT)
    return 2 * fields.whole("num_key_value_heads", high=MAX_COUNT) if stated is None else stated


def _step_heads(fields: Fields) -> int | None:
    """Query heads of windowed layers."""
    other = fields.sub("attention_other_setting")
    heads = None if other is None else other.optional_whole(*HEADS, high=MAX_COUNT)
    return fields.whole("num_sliding_attention_heads", high=MAX_COUNT, default=heads or 0) or None


def _laguna_gate(fields: Fields) -> str:
    """One number a head, or a map as wide as the heads."""
    return "head" if fields.raw("gating") in (True, "per-head", None) else "width"


def _m3_kinds(fields: Fields, layers: int) -> list[str]:
    """Layers with a block index: by type or by flag; none where the file says neither."""
    types = listed_types(fields, layers, "layer_types")
    if types is not None:
        if not set(map(str, types)) <= {"minimax_m3_sparse", "full_attention"}:
            raise fields.error("layer_types", "may hold only minimax_m3_sparse and full_attention")
        return ["indexed" if entry == "minimax_m3_sparse" else "full" for entry in types]
    source = fields.sub("sparse_attention_config") or fields
    marks = source.sequence("sparse_attention_freq", at_least=layers)
    if marks is None:
        return ["full"] * layers
    return ["indexed" if mark else "full" for mark in check_flags(source, "sparse_attention_freq", marks)]


def _add_block_index(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    """The index over blocks of MiniMax M3: queries and one key, each with a norm."""
    source = fields.sub("sparse_attention_config") or fields
    heads = source.whole("sparse_num_index_heads", "index_n_heads", high=MAX_COUNT, default=4)
    width = source.whole("sparse_index_dim", "index_head_dim", default=128)
    layer.attention = replace(attention, index_heads=heads, index_head_dim=width)
    replicated(layer, "self_attn.indexer.q_proj", heads * width, hidden)
    replicated(layer, "self_attn.indexer.k_proj", width, hidden)
    layer.norms += 2 * width


def _m3_note(fields: Fields, architecture: Architecture) -> Architecture:
    note = "MiniMax M3: no exact published count to check against; the index counts as cache of its own"
    return replace(architecture, warnings=(*architecture.warnings, note))


def _add_gate_bias(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    layer.vector(Component.ATTENTION, attention.query_heads)


def _cross(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    """Cross-attention to pictures: its keys are not a cache of text, two gates decide how much it gives."""
    layer.attention = replace(attention, stores_kv=False)
    layer.norms += 2 * attention.head_dim_qk
    layer.vector(Component.OTHER, 2)


EXTRA_ROWS = 8
"""Rows of the token table of Llama 3.2 Vision beyond the vocabulary: the picture token and seven spare ones."""


def _mllama(fields: Fields, architecture: Architecture) -> Architecture:
    crossing = sum(group.layers for group in architecture.layer_groups if not _stores(group.attention))
    notes = (f"the cache of pictures in {crossing} cross-attention layers is not counted",) if crossing else ()
    return replace(
        architecture,
        embedding_parameters=architecture.embedding_parameters + EXTRA_ROWS * architecture.hidden_size,
        warnings=(*architecture.warnings, *notes),
    )


def _stores(attention: Attention | None) -> bool:
    return attention is not None and attention.stores_kv


def _muse_scalars(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """The gates of the two residual additions of Muse Spark."""
    layer.vector(Component.OTHER, 2 * hidden)


def _molmo_norm(fields: Fields) -> str:
    return "head" if fields.text("qk_norm_type") != "olmo" else "width"


def _cohere_kinds(fields: Fields, layers: int) -> list[str]:
    """Every n-th layer full, counted anew after the dense ones in front, which have a step of their own."""
    dense = fields.whole("first_k_dense_replace", low=0, high=layers, default=0)
    first = fields.whole("prefix_dense_sliding_window_pattern", high=MAX_LAYERS, default=1)
    rest = fields.whole("sliding_window_pattern", high=MAX_LAYERS, default=4)
    steps = [(layer + 1) % first if layer < dense else (layer - dense + 1) % rest for layer in range(layers)]
    return ["window" if step else "full" for step in steps]


def _every_fourth_from_the_end(layer: int, layers: int) -> str:
    return "window" if (layers - 1 - layer) % 4 else "full"


_STEP = Grouped(qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head", gate="head")
_MUSE = Grouped(qkv_bias="attention_bias", out_bias="attention_bias", gate="width")
_LAGUNA = replace(_BIASED, qk_norm="head", gate=_laguna_gate)
_BEAM = replace(_BIASED, qk_norm="head", gate="width", also=(_add_gate_bias,))
_BY_LAYER = {
    "num_attention_heads": "num_attention_heads_per_layer",
    "num_key_value_heads": "num_key_value_heads_per_layer",
}
_MINIMAX_M3 = Decoder(
    kinds=_m3_kinds,
    mixers={"full": Grouped(qk_norm="head"), "indexed": Grouped(qk_norm="head", also=(_add_block_index,))},
    moe=MoeRule(
        shared="width", shared_key="shared_intermediate_size", width=("intermediate_size",), sparse_layers=after(0)
    ),
    dense_width=("dense_intermediate_size", "intermediate_size"),
    around=_m3_note,
    family="minimax_m3",
)
PER_LAYER: Mapping[str, Decoder] = {
    "llama4_text": Decoder(
        kinds=listed(ByConfig(_llama4_kinds), names=("layer_types",)),
        mixers={
            "full": _BIASED,
            "chunk": replace(_BIASED, kind=AttentionKind.CHUNK, window=("attention_chunk_size",)),
        },
        moe=MoeRule(
            width=("intermediate_size",),
            shared="always",
            prefix="feed_forward",
            router="router",
            sparse_layers=sparse_listed,
        ),
        dense_width=("intermediate_size_mlp", "intermediate_size"),
    ),
    # keys wider than values; windowed layers have other KV heads and a sink a head
    "mimo_v2_flash": Decoder(
        kinds=listed(
            flags(
                "hybrid_layer_pattern",
                "window",
                "full",
                default=lambda layer, _: "window" if layer and (layer + 1) % 6 else "full",
            )
        ),
        mixers={
            "full": Grouped(qkv_bias="attention_bias", value_dim=("v_head_dim",)),
            "window": Renamed(
                mixer=Grouped(
                    kind=AttentionKind.WINDOW,
                    qkv_bias="attention_bias",
                    value_dim=("v_head_dim",),
                    window=_mimo_window,
                    sinks=True,
                    whole_groups=False,
                ),
                keys={**_SWA, "num_key_value_heads": _mimo_kv_heads},
            ),
        },
        moe=MoeRule(shared="experts", sparse_layers=after(0)),
        dense_width=("intermediate_size",),
    ),
    "step3p5": Decoder(
        kinds=listed(always("full")),
        mixers={
            "full": _STEP,
            "window": Renamed(
                mixer=replace(_STEP, kind=AttentionKind.WINDOW), keys={"num_attention_heads": _step_heads}
            ),
        },
        moe=MoeRule(
            shared="width", shared_key=("share_expert_dim", "share_expert_dims"), sparse_layers=sparse_enumerated
        ),
        dense_width=("intermediate_size",),
    ),
    "minimax_m3": _MINIMAX_M3,
    "minimax_m3_vl_text": _MINIMAX_M3,
    "mllama_text_model": Decoder(
        kinds=indices(
            "cross_attention_layers",
            "cross",
            "full",
            default=lambda layer, _: "cross" if layer % 5 == 3 and layer < 40 else "full",
        ),
        mixers={"full": Grouped(), "cross": Grouped(prefix="cross_attn", also=(_cross,))},
        around=_mllama,
        family="mllama",
    ),
    "laguna": Decoder(
        kinds=listed(always("full")),
        mixers={kind: Renamed(mixer=mixer, keys=_BY_LAYER) for kind, mixer in both(_LAGUNA).items()},
        moe=MoeRule(
            shared="width", shared_key="shared_expert_intermediate_size", router_bias=True, sparse_layers=after(1)
        ),
    ),
    "beam": Decoder(
        kinds=listed(lambda layer, layers: "window" if (layer + 1) % 6 and layer + 1 < layers else "full"),
        mixers=both(_BEAM),
        moe=MoeRule(sparse_layers=after(3)),
        norms=4,
    ),
    "flint": Decoder(
        kinds=listed(lambda layer, layers: "full" if layer < 2 or layer % 4 == 1 or layer + 1 == layers else "window"),
        mixers=both(replace(_BIASED, qk_norm="head", sinks=True)),
        moe=MoeRule(
            shared="width",
            shared_key="shared_expert_intermediate_size",
            sparse_layers=partial(sparse_by_step, dense=(0, 1)),
        ),
    ),
    "kolibri1": Decoder(
        kinds=listed(interval(default=5, others="window")),
        mixers=both(Grouped(qk_norm="head")),
        moe=MoeRule(shared="width", shared_key="shared_expert_intermediate_size"),
        norms=4,
    ),
    "muse_glimmer_text": Decoder(kinds=listed(_every_fourth_from_the_end), mixers=both(_MUSE), norms=4),
    "muse_spark_text": Decoder(
        kinds=listed(_every_fourth_from_the_end),
        mixers=both(_MUSE),
        moe=MoeRule(
            inner="moe_hidden_size",
            inner_names=("pre_expert_proj", "post_expert_proj"),
            inner_norms=2,
            sparse_layers=after(0),
        ),
        norms=3,
        parts=(_muse_scalars,),
    ),
    "molmo2_text": Decoder(
        kinds=every("full"),
        mixers={"full": Grouped(qkv_bias="attention_bias", qk_norm=_molmo_norm)},
        tables=Tables(extra_rows="additional_vocab_size"),
    ),
    "cohere2_moe": Decoder(
        kinds=listed(ByConfig(_cohere_kinds)),
        mixers=both(_BIASED),
        moe=MoeRule(
            width=("intermediate_size",), shared="experts", shared_key="num_shared_experts", sparse_layers=after(0)
        ),
        dense_width=("prefix_dense_intermediate_size", "intermediate_size"),
        norms=1,
    ),
}
