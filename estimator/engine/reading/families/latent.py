"""Multi-head latent attention: DeepSeek V2/V3/V3.2, Kimi K2, GLM-5, GLM-4.7 Flash, LongCat-Flash, MiniCPM3."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from estimator.engine.model.spec import Architecture, Attention, AttentionKind, Component, FeedForward, Split
from estimator.engine.reading.blocks import LayerBuilder, add_dense, add_experts, add_mlp, collect
from estimator.engine.reading.families.mixtures import sparse_after_first
from estimator.engine.reading.families.standard import MoeRule, StandardRule, add_moe, finish
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, Fields
from estimator.engine.reading.shape import (
    HEADS,
    HIDDEN,
    LAYERS,
    Shape,
    read_context,
    read_layers,
    read_vocab,
)

_MOE = MoeRule(shared="experts", sparse_layers=sparse_after_first)
_RULE = StandardRule(moe=_MOE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentDimensions:
    """Ranks and head widths of latent attention in elements; `query_rank` None projects queries directly."""

    hidden: int
    heads: int
    query_rank: int | None
    rank: int
    nope: int
    rope: int
    value: int
    bias: bool
    output_gate: bool = False


def read_latent(fields: Fields) -> LatentDimensions:
    """The dimensions of latent attention; `num_key_value_heads` says nothing here."""
    return LatentDimensions(
        hidden=fields.whole(*HIDDEN),
        heads=fields.whole(*HEADS, high=MAX_COUNT),
        query_rank=fields.optional_whole("q_lora_rank"),
        rank=fields.whole("kv_lora_rank"),
        nope=fields.whole("qk_nope_head_dim"),
        rope=fields.whole("qk_rope_head_dim", low=0),
        value=_value_width(fields),
        bias=fields.flag("attention_bias"),
        output_gate=fields.flag("mla_use_output_gate"),
    )


def _value_width(fields: Fields) -> int:
    """The width of a head's values; MiniCPM3, which has no default for it, falls back to hidden over heads."""
    stated = fields.optional_whole("v_head_dim")
    return fields.whole(*HIDDEN) // fields.whole(*HEADS, high=MAX_COUNT) if stated is None else stated


def latent_attention(size: LatentDimensions, *, kind: AttentionKind = AttentionKind.LATENT) -> Attention:
    """The layer's attention as the cache and the work see it."""
    return Attention(
        kind=kind,
        query_heads=size.heads,
        kv_heads=size.heads,
        head_dim_qk=size.nope + size.rope,
        head_dim_v=size.value,
        output_gate=size.output_gate,
        latent_rank=size.rank,
        latent_rope_dim=size.rope,
        latent_nope_dim=size.nope,
        query_latent_rank=size.query_rank or 0,
    )


def add_latent(layer: LayerBuilder, size: LatentDimensions, prefix: str = "self_attn") -> None:
    """Add the projections of latent attention; down-projections are whole on every rank."""
    part = Component.ATTENTION
    queries = size.heads * (size.nope + size.rope)
    if size.query_rank is None:
        layer.matrix(f"{prefix}.q_proj", queries, size.hidden, part)
    else:
        layer.matrix(f"{prefix}.q_a_proj", size.query_rank, size.hidden, part, 1, Split.REPLICATED, bias=size.bias)
        layer.matrix(f"{prefix}.q_b_proj", queries, size.query_rank, part)
        layer.norms += size.query_rank
    down = size.rank + size.rope
    layer.matrix(f"{prefix}.kv_a_proj_with_mqa", down, size.hidden, part, 1, Split.REPLICATED, bias=size.bias)
    layer.matrix(f"{prefix}.kv_b_proj", size.heads * (size.nope + size.value), size.rank, part)
    layer.matrix(f"{prefix}.o_proj", size.hidden, size.heads * size.value, part, bias=size.bias)
    layer.norms += size.rank
    if size.output_gate:
        layer.matrix(f"{prefix}.g_proj", size.heads * size.value, size.hidden, part)


def add_indexer(layer: LayerBuilder, fields: Fields, size: LatentDimensions, prefix: str = "self_attn") -> None:
    """Add the index of sparse attention: queries from the latent, one key a token, head weights, a LayerNorm."""
    heads = fields.whole("index_n_heads", high=MAX_COUNT)
    width = fields.whole("index_head_dim")
    part, whole = Component.ATTENTION, Split.REPLICATED
    layer.matrix(f"{prefix}.indexer.wq_b", heads * width, size.query_rank or size.hidden, part, 1, whole)
    layer.matrix(f"{prefix}.indexer.wk", width, size.hidden, part, 1, whole)
    layer.matrix(f"{prefix}.indexer.weights_proj", heads, size.hidden, part, 1, whole, quantisable=False)
    layer.norms += 2 * width


def index_layers(fields: Fields, layers: int) -> Sequence[bool]:
    """For each layer whether it computes and stores its own index (`indexer_types`, else a frequency)."""
    types = fields.sequence("indexer_types", at_least=layers)
    if types is not None:
        if not set(map(str, types)) <= {"full", "shared"}:
            raise fields.error("indexer_types", "may hold only full and shared")
        return [entry == "full" for entry in types]
    step = max(fields.whole("index_topk_freq", low=0, high=MAX_LAYERS, default=1), 1)
    offset = fields.whole("index_skip_topk_offset", low=0, high=MAX_LAYERS, default=2)
    return [max(layer - offset + 1, 0) % step == 0 for layer in range(layers)]


def read_latent_model(fields: Fields, *, family: str, sparse_attention: bool = False) -> Architecture:
    """Latent attention with dense and expert layers as in DeepSeek V2 and V3, and the index of V3.2."""
    layers = read_layers(fields)
    size = read_latent(fields)
    has_experts = fields.raw(*_MOE.experts) is not None
    # V3 and its heirs build their MLPs without biases whatever the file says
    mlp_bias = family in ("deepseek_v2", "minicpm3") and fields.flag("mlp_bias")
    moe = replace(_MOE, shared_bias=mlp_bias)
    sparse = sparse_after_first(fields, layers) if has_experts else [False] * layers
    indexed = index_layers(fields, layers) if sparse_attention else [False] * layers
    keys = list(zip(sparse, indexed, strict=True))
    groups = []
    for is_sparse, is_indexed in dict.fromkeys(keys):
        layer = LayerBuilder()
        kind = AttentionKind.SPARSE_LATENT if sparse_attention else AttentionKind.LATENT
        attention = latent_attention(size, kind=kind)
        add_latent(layer, size)
        layer.norms += 2 * size.hidden
        if sparse_attention:
            attention = _with_index(fields, attention, stores=is_indexed)
            if is_indexed:
                add_indexer(layer, fields, size)
        layer.attention = attention
        if is_sparse:
            add_moe(layer, fields, moe, size.hidden)
            # A.X K1 normalises what its experts give
            layer.norms += size.hidden if family == "axk1" else 0
        else:
            add_dense(layer, size.hidden, fields.whole("intermediate_size"), bias=mlp_bias)
        groups.append(layer.group(1))
    layer_groups, order = collect(keys, groups)
    return finish(fields, _RULE, latent_shape(fields, size, layers), layer_groups, order, family=family)


def _with_index(fields: Fields, attention: Attention, *, stores: bool) -> Attention:
    return Attention(
        kind=attention.kind,
        query_heads=attention.query_heads,
        kv_heads=attention.kv_heads,
        head_dim_qk=attention.head_dim_qk,
        head_dim_v=attention.head_dim_v,
        latent_rank=attention.latent_rank,
        latent_rope_dim=attention.latent_rope_dim,
        latent_nope_dim=attention.latent_nope_dim,
        query_latent_rank=attention.query_latent_rank,
        index_heads=fields.whole("index_n_heads", high=MAX_COUNT),
        index_head_dim=fields.whole("index_head_dim"),
        index_top_k=fields.whole("index_topk", high=MAX_COUNT),
        stores_index=stores,
    )


def latent_shape(fields: Fields, size: LatentDimensions, layers: int) -> Shape:
    """The outer dimensions of a latent model."""
    return Shape(
        layers=layers,
        hidden=size.hidden,
        heads=size.heads,
        kv_heads=size.heads,
        head_dim=size.nope + size.rope,
        vocab=read_vocab(fields),
        context=read_context(fields),
    )


def read_longcat(fields: Fields) -> Architecture:
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
    shape = latent_shape(fields, size, layers)
    return finish(fields, StandardRule(), shape, (layer.group(layers),), (0,) * layers, family="longcat_flash")


def latent_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """A reader for each latent model type."""
    plain = (
        "deepseek_v2",
        "deepseek_v3",
        "kimi_k2",
        "glm4_moe_lite",
        "minicpm3",
        "mistral4",
        "youtu",
        "sarvam_mla",
        "axk1",
    )
    indexed = ("deepseek_v32", "glm_moe_dsa")
    return {
        **{name: partial(read_latent_model, family=name) for name in plain},
        **{name: partial(read_latent_model, family=name, sparse_attention=True) for name in indexed},
        "longcat_flash": read_longcat,
    }
