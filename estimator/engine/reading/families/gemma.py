"""Gemma 3n and Gemma 4: layers that reuse another layer's cache, per-layer embeddings, two head shapes, experts.

Source: the reference model classes (transformers 5.24, 2026-11) and the files themselves.
"""

from collections.abc import Mapping
from dataclasses import replace

from estimator.engine.model.spec import Architecture, Component, FeedForward, Split
from estimator.engine.reading.blocks import LayerBuilder, add_mlp
from estimator.engine.reading.decoder import Decoder, Kinds
from estimator.engine.reading.experts import MoeRule, add_moe
from estimator.engine.reading.fields import MAX_COUNT, MAX_VOCABULARY, Fields
from estimator.engine.reading.kinds import interval, listed
from estimator.engine.reading.mixers import Grouped, Renamed, both
from estimator.engine.reading.shape import read_layers

STREAM_LIMIT = 64


def _reusing(kinds: Kinds, *, last_full: bool = False) -> Kinds:
    """Kinds where the last `num_kv_shared_layers` layers reuse the cache of earlier ones of their kind."""

    def found(fields: Fields, layers: int) -> list[str]:
        named = list(kinds(fields, layers))
        if last_full:
            named[-1] = "full"
        shared = fields.whole("num_kv_shared_layers", low=0, high=layers, default=0)
        return [kind if layer < layers - shared else f"{kind} reused" for layer, kind in enumerate(named)]

    return found


def _global_kv_heads(fields: Fields) -> int | None:
    """KV heads of full layers: their own only where keys serve as values."""
    equal = fields.flag("attention_k_eq_v")
    return fields.optional_whole("num_global_key_value_heads", high=MAX_COUNT) if equal else None


def _global_head_dim(fields: Fields) -> int | None:
    return fields.whole("global_head_dim", default=512)


def _dense(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """A gated MLP; twice as wide in layers that reuse a cache, where the config says so."""
    width = fields.whole("intermediate_size")
    if fields.flag("use_double_wide_mlp") and layer.attention is not None and not layer.attention.stores_kv:
        width *= 2
    add_mlp(layer, hidden, width)
    layer.feed_forward = FeedForward(intermediate_size=width)


_GEMMA_MOE = MoeRule(top_k=("top_k_experts", "num_experts_per_tok"), prefix="moe", router="router.proj")


def _experts_beside(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Experts beside the dense MLP: a router with a scale of the input and one for each expert, three norms."""
    if not fields.flag("enable_moe_block"):
        return
    width = 0 if layer.feed_forward is None else layer.feed_forward.intermediate_size
    add_moe(layer, fields, _GEMMA_MOE, hidden)
    if layer.feed_forward is not None:
        layer.feed_forward = replace(layer.feed_forward, intermediate_size=width)
        layer.vector(Component.ROUTER, hidden + layer.feed_forward.experts)
    layer.norms += 3 * hidden


def _laurel_and_streams(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Gemma 3n: low-rank augmented residuals, and updates that alternate over several streams."""
    laurel, count = fields.whole("laurel_rank"), fields.whole("altup_num_inputs", high=STREAM_LIMIT)
    layer.matrix("laurel.linear_left", laurel, hidden, Component.OTHER, 1, Split.REPLICATED)
    layer.matrix("laurel.linear_right", hidden, laurel, Component.OTHER, 1, Split.REPLICATED)
    layer.norms += hidden
    layer.matrix("altup.modality_router", count, hidden, Component.ROUTER, 1, Split.REPLICATED, quantisable=False)
    layer.vector(Component.ROUTER, hidden)
    layer.vector(Component.OTHER, hidden + count * count + count * count * count)


def _per_layer_path(fields: Fields, architecture: Architecture) -> Architecture:
    """The per-layer embeddings: the table, the projection of the input into it, and each layer's gate and mix.

    All of it counts as looked up, as the exact counts do: the table is the bulk, and it stays outside the matrices that
    a token passes through.
    """
    width = fields.whole("hidden_size_per_layer_input", low=0, default=0)
    if not width:
        return architecture
    hidden, layers = architecture.hidden_size, read_layers(fields)
    rows = fields.whole("vocab_size_per_layer_input", high=MAX_VOCABULARY)
    path = hidden * layers * width + width + layers * (2 * hidden * width + hidden)
    return replace(architecture, lookup_parameters=architecture.lookup_parameters + rows * layers * width + path)


def _gemma3n_around(fields: Fields, architecture: Architecture) -> Architecture:
    """The per-layer path, and the maps into the streams and out of them."""
    count = fields.whole("altup_num_inputs", high=STREAM_LIMIT)
    projections = 2 * (count - 1) * architecture.hidden_size**2
    found = _per_layer_path(fields, architecture)
    return replace(found, other_parameters=found.other_parameters + projections)


def _keys_are_values(fields: Fields) -> Fields:
    """DiffusionGemma: full layers always use keys as values; experts wherever the config counts them."""
    experts = fields.raw("num_experts") is not None
    return fields.over({"attention_k_eq_v": True, "enable_moe_block": experts})


def _self_conditioning(fields: Fields, architecture: Architecture) -> Architecture:
    """DiffusionGemma: a gated MLP with a norm feeds a draft of the text back in."""
    hidden = architecture.hidden_size
    own = hidden + 3 * hidden * fields.whole("intermediate_size")
    note = "a canvas of tokens is drafted at once and again: the work of these passes is not modelled"
    return replace(architecture, other_parameters=own, warnings=(*architecture.warnings, note))


_ATTENTION = Grouped(qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head")
_REUSING = replace(_ATTENTION, reuses=True)
_GLOBAL_KEYS = {"head_dim": _global_head_dim, "num_key_value_heads": _global_kv_heads}
_GEMMA4 = Decoder(
    kinds=_reusing(listed(interval(default=6, others="window")), last_full=True),
    mixers={
        **both(_ATTENTION),
        "full": Renamed(mixer=replace(_ATTENTION, key_equals_value="attention_k_eq_v"), keys=_GLOBAL_KEYS),
        "full reused": Renamed(mixer=_REUSING, keys=_GLOBAL_KEYS),
        "window reused": both(_REUSING)["window"],
    },
    dense=_dense,
    norms=4,
    parts=(_experts_beside,),
    around=_per_layer_path,
    family="gemma4_text",
)

GEMMA: Mapping[str, Decoder] = {
    "gemma3n_text": Decoder(
        kinds=_reusing(listed(interval(default=5, others="window"))),
        mixers={**both(_ATTENTION), **{f"{kind} reused": mixer for kind, mixer in both(_REUSING).items()}},
        dense=_dense,
        norms=4,
        parts=(_laurel_and_streams,),
        around=_gemma3n_around,
    ),
    "gemma4_text": _GEMMA4,
    "gemma4_unified_text": _GEMMA4,
    "diffusion_gemma_text": replace(_GEMMA4, prepare=_keys_are_values, around=_self_conditioning, family=""),
}
