"""Multi-head latent attention: DeepSeek V2 to V3.2, Kimi, GLM-5, Hy4, Dots 3, Ling 3, Mistral Large 4 and others.

Source: the reference model classes (transformers 5.24, 2026-11) and the files themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from estimator.engine.model.spec import Architecture, Attention, Component, FeedForward
from estimator.engine.reading.blocks import LayerBuilder, add_experts, add_mlp
from estimator.engine.reading.decoder import Decoder, Tables, finish, read_decoder
from estimator.engine.reading.experts import MoeRule
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, Fields
from estimator.engine.reading.kinds import WORDS, ByConfig, every, indices, interval, listed
from estimator.engine.reading.latent import add_latent, index_layers, latent_attention, read_latent
from estimator.engine.reading.mixers import Latent, Renamed, prefixed, replicated
from estimator.engine.reading.shape import LAYERS, check_flags, listed_types
from estimator.engine.reading.sparse_layers import after, sparse_after_first
from estimator.engine.reading.state_mixers import KimiDelta
from estimator.engine.reading.streams import Streams, merged_once


def _sparse_if_any(fields: Fields, layers: int) -> Sequence[bool]:
    """DeepSeek's rule where the config has experts at all."""
    has_experts = fields.raw(*MoeRule().experts) is not None
    return sparse_after_first(fields, layers) if has_experts else [False] * layers


_MOE = MoeRule(shared="experts", sparse_layers=_sparse_if_any)


def _indexed(fields: Fields, layers: int) -> list[str]:
    """Layers that compute their own index, and layers that read it from another one."""
    return ["own" if own else "shared" for own in index_layers(fields, layers)]


def _hy4_indexed(fields: Fields, layers: int) -> list[str]:
    """Hy4 without a list: the first layer and every fourth from the second on compute an index."""
    if fields.raw("indexer_types", "index_topk_pattern") is not None:
        return _indexed(fields, layers)
    return ["own" if layer == 0 or (layer - 1) % 4 == 0 else "shared" for layer in range(layers)]


def _with_index(kinds: Callable[[Fields, int], Sequence[str]]) -> Callable[[Fields, int], Sequence[str]]:
    """The kinds of layers where those that attend differ by whether they have an index of their own."""

    def found(fields: Fields, layers: int) -> list[str]:
        own = index_layers(fields, layers)
        names = {True: "own", False: "shared"}
        return [names[own[layer]] if kind == "full" else kind for layer, kind in enumerate(kinds(fields, layers))]

    return found


def _add_norm(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """A norm of what experts give (A.X K1)."""
    layer.norms += hidden


def _gated_norm(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """The low-rank gate of a norm in A.X K2: of the first norm in every layer, of the second beside experts."""
    rank = fields.whole("gated_norm_rank")
    sparse = layer.feed_forward is not None and layer.feed_forward.experts > 0
    for name in ("input_layernorm", "post_attention_layernorm") if sparse else ("input_layernorm",):
        replicated(layer, f"{name}.mlp.fc1", rank, hidden)
        replicated(layer, f"{name}.mlp.fc2", hidden, rank)


def _add_rotary_norm(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    layer.norms += attention.latent_rope_dim


def _dots3_kinds(fields: Fields, layers: int) -> list[str]:
    """Dots 3: windows but for the first two layers and every fourth; full layers have an index unless told not to."""
    indexed = fields.raw("use_dsa")
    if indexed is None:
        indexed = fields.raw("per_layer_config") is None or None
    types = listed_types(fields, layers, "layer_types")
    if types is None:
        windows = fields.flag("use_sliding_window", default=True)
        types = [
            "sliding_attention" if windows and layer >= 2 and layer % 4 != 1 else "indexed_attention"
            for layer in range(layers)
        ]
    kinds = []
    for entry in types:
        if WORDS.get(str(entry)) not in ("full", "window"):
            raise fields.error("layer_types", "may hold indexed_attention, full_attention and sliding_attention")
        if WORDS[str(entry)] == "window":
            kinds.append("window")
        else:
            kinds.append("own" if (entry == "indexed_attention" if indexed is None else indexed) else "full")
    return kinds


def _swa_rope(fields: Fields) -> int | None:
    """The rotary width of windowed layers: as stated, else what the head has beside the other part."""
    stated = fields.optional_whole("swa_qk_rope_head_dim", low=0)
    head, nope = fields.optional_whole("swa_head_dim"), fields.optional_whole("swa_qk_nope_head_dim")
    if stated is not None or head is None or nope is None or nope > head:
        return stated
    return head - nope


def _add_pooled_index(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    """GLM 5.3: the keys of several tokens are pooled by learned positions and a gate."""
    width = attention.index_head_dim
    if attention.stores_index:
        replicated(layer, "self_attn.indexer.index_kpool_compress_gate", width, hidden)
        layer.vector(Component.ATTENTION, attention.index_ratio * width)


def _large4_kinds(fields: Fields, layers: int) -> list[str]:
    """Mistral Large 4: by rotary positions, by whose keys and values are read, by whose index."""
    marks = fields.sequence("no_rope_layers", at_least=layers)
    step = fields.whole("no_rope_layer_interval", high=MAX_LAYERS, default=4)
    rotary = (
        [(layer + 1) % step != 0 for layer in range(layers)]
        if not marks
        else check_flags(fields, "no_rope_layers", marks)
    )
    sources = fields.sequence("kv_source_layers", length=layers) or range(layers)
    own_keys = [fields.check_whole("kv_source_layers", source, 0, MAX_LAYERS) == i for i, source in enumerate(sources)]
    parts = zip(rotary, own_keys, index_layers(fields, layers), strict=True)
    return [_large4_kind(*part) for part in parts]


def _large4_kind(rotary: bool, own_keys: bool, own_index: bool) -> str:
    return f"{'rotary' if rotary else 'unrotated'} {'own' if own_keys else 'read'} {'own' if own_index else 'shared'}"


def _add_scaling(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    """Scale and bias of the softmax of each head, of the index's too, and a LayerNorm before the index's queries."""
    layer.vector(Component.ATTENTION, 2 * attention.query_heads)
    if attention.stores_index:
        layer.vector(Component.ATTENTION, 2 * attention.index_heads)
        layer.norms += 2 * hidden


def _large4_rotary(fields: Fields, architecture: Architecture) -> Architecture:
    """A learned number for each pair of rotary elements."""
    return replace(architecture, other_parameters=fields.whole("qk_rope_head_dim", low=0) // 2)


def _kimi_kinds(fields: Fields, layers: int) -> Sequence[str]:
    """The 1-based lists of `linear_attn_config`, else three layers of four with delta attention."""
    settings = fields.sub("linear_attn_config") or fields
    rule = indices(
        "full_attn_layers",
        "full",
        "state",
        first=1,
        default=lambda layer, _: "full" if layer and layer % 4 == 0 else "state",
    )
    return rule(settings, layers)


def _k3_note(fields: Fields, architecture: Architecture) -> Architecture:
    if fields.raw("routed_expert_hidden_size") is None:
        return architecture
    note = "latent experts and attention residuals of Kimi K3 are read by analogy: no exact count to check against"
    return replace(architecture, warnings=(*architecture.warnings, note))


_PLAIN = Decoder(kinds=every("full"), mixers={"full": Latent()}, moe=_MOE, dense_width=("intermediate_size",))
# V3 and its heirs build their MLPs without biases whatever the file says
_BIASED = replace(_PLAIN, moe=replace(_MOE, shared_bias="mlp_bias"), mlp_bias="mlp_bias")
_INDEXES = {"own": Latent(index="own"), "shared": Latent(index="shared")}
_INDEXED = replace(_PLAIN, kinds=_indexed, mixers=_INDEXES)
_HY4 = Latent(gate="width", sinks=True)
_LARGE4 = Latent(also=(_add_scaling,))
_DOTS3 = Latent(gate="head", also=(_add_rotary_norm,))
_KPOOL = Latent(index_ratio=("index_kpool",), also=(_add_pooled_index,))
_KIMI = Decoder(
    kinds=listed(ByConfig(_kimi_kinds)),
    mixers={"full": Latent(), "state": KimiDelta(full_rank_gate="use_full_rank_gate")},
    moe=MoeRule(
        shared="experts",
        shared_key="num_shared_experts",
        inner="routed_expert_hidden_size",
        inner_norms=1,
        sparse_layers=sparse_after_first,
    ),
    dense_width=("intermediate_size",),
    around=_k3_note,
)

LATENT: Mapping[str, Decoder] = {
    "deepseek_v2": _BIASED,
    "minicpm3": _BIASED,
    **dict.fromkeys(("deepseek_v3", "kimi_k2", "glm4_moe_lite", "mistral4", "youtu", "sarvam_mla"), _PLAIN),
    "axk1": replace(_PLAIN, moe=replace(_MOE, parts=(_add_norm,))),
    **dict.fromkeys(("deepseek_v32", "glm_moe_dsa"), _INDEXED),
    "axk2": replace(
        _PLAIN,
        mixers={"full": Latent(index="own", gate="fused")},
        moe=replace(_MOE, sparse_layers=after(1)),
        parts=(_gated_norm,),
    ),
    "hy_v4": replace(
        _PLAIN,
        kinds=_hy4_indexed,
        mixers={kind: replace(_HY4, index=kind) for kind in _INDEXES},
        moe=replace(_MOE, sparse_layers=after(1)),
        parts=(Streams(square=False, scales=2),),
        around=merged_once,
    ),
    "dots3_note_text": replace(
        _PLAIN,
        kinds=_dots3_kinds,
        mixers={
            "full": _DOTS3,
            "own": replace(_DOTS3, index="own"),
            "window": Renamed(
                mixer=replace(_DOTS3, window=("sliding_window", "sliding_window_size")),
                keys={
                    **prefixed(
                        "swa_", "num_attention_heads", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "v_head_dim"
                    ),
                    "qk_rope_head_dim": _swa_rope,
                },
            ),
        },
        moe=replace(
            _MOE,
            shared_width_of=("moe_shared_expert_intermediate_size", "shared_experts_intermediate_size"),
            sparse_layers=after(1),
        ),
    ),
    "mistral_large4_text": replace(
        _PLAIN,
        kinds=_large4_kinds,
        mixers={
            _large4_kind(rotary, own_keys, own_index): replace(
                _LARGE4, unrotated=not rotary, stores_kv=own_keys, index="own" if own_index else "shared"
            )
            for rotary in (True, False)
            for own_keys in (True, False)
            for own_index in (True, False)
        },
        moe=replace(_MOE, sparse_layers=after(1)),
        around=_large4_rotary,
    ),
    "glm5_next_text": replace(
        _PLAIN,
        kinds=_with_index(listed(lambda layer, _: "full" if layer % 4 == 3 else "state")),
        mixers={"state": KimiDelta(), **{kind: replace(_KPOOL, index=kind) for kind in _INDEXES}},
        moe=replace(_MOE, sparse_layers=after(3)),
        parts=(Streams(),),
    ),
    "kimi_linear": _KIMI,
    "bailing_hybrid": replace(
        _PLAIN,
        kinds=listed(interval("layer_group_size", default=6)),
        mixers={"full": Latent(gate="head"), "state": KimiDelta(full_rank_gate=True, full_rank_decay=True)},
        moe=replace(_MOE, sparse_layers=after(2)),
    ),
}


def _read_longcat(fields: Fields) -> Architecture:
    """LongCat-Flash: each layer has two attention blocks, two dense MLPs and one mixture with zero-compute experts."""
    layers = fields.whole("num_layers", *LAYERS, high=MAX_LAYERS)
    size = read_latent(fields)
    hidden = size.hidden
    experts = fields.whole("n_routed_experts", high=MAX_COUNT)
    zero = fields.whole("zero_expert_num", low=0, high=MAX_COUNT, default=0)
    width = fields.whole("expert_ffn_hidden_size", "moe_intermediate_size")
    top_k = fields.whole("moe_topk", "num_experts_per_tok", high=MAX_COUNT)
    dense = fields.whole("ffn_hidden_size", "intermediate_size")
    layer = LayerBuilder()
    for block in (0, 1):
        add_latent(layer, size, prefix=f"self_attn.{block}")
        add_mlp(layer, hidden, dense, prefix=f"mlps.{block}")
    layer.attention = latent_attention(size)
    layer.attention_blocks = 2
    layer.norms += 4 * hidden
    add_experts(layer, hidden, experts=experts, top_k=min(top_k, experts), width=width, router="router.classifier")
    # the router also scores the zero-compute experts
    extra = zero * hidden + ((experts + zero) if fields.flag("router_bias") else 0)
    layer.vector(Component.ROUTER, extra)
    layer.feed_forward = FeedForward(
        intermediate_size=2 * dense,
        experts=experts,
        experts_per_token=min(top_k, experts),
        expert_intermediate_size=width,
    )
    return finish(fields, Tables(), (layer.group(layers),), (0,) * layers, family="longcat_flash")


def latent_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """A reader for each latent model type."""
    decoders = {name: partial(read_decoder, decoder=decoder, family=name) for name, decoder in LATENT.items()}
    return {**decoders, "longcat_flash": _read_longcat}
