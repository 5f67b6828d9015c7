"""Multi-head latent attention: its dimensions, its projections, and the index of sparse attention."""

from collections.abc import Sequence
from dataclasses import dataclass

from estimator.engine.model.spec import Attention, AttentionKind, Component, Split
from estimator.engine.reading.blocks import LayerBuilder
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, Fields
from estimator.engine.reading.shape import HEADS, HIDDEN


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


def add_latent(
    layer: LayerBuilder,
    size: LatentDimensions,
    prefix: str = "self_attn",
    *,
    with_down: bool = True,
    fused_gate: bool = False,
) -> None:
    """Add the projections of latent attention; down-projections are whole on every rank.

    A layer that reads the cache of another one has no down-projection of keys and values (`with_down` False). With
    `fused_gate` (A.X K2) one map gives queries and an output gate from the query latent before and after its norm.
    """
    part = Component.ATTENTION
    queries = size.heads * (size.nope + size.rope)
    if size.query_rank is None:
        layer.matrix(f"{prefix}.q_proj", queries, size.hidden, part)
    else:
        layer.matrix(f"{prefix}.q_a_proj", size.query_rank, size.hidden, part, 1, Split.REPLICATED, bias=size.bias)
        if fused_gate:
            rows = queries + size.heads * size.value
            layer.matrix(f"{prefix}.q_gate_proj", rows, 2 * size.query_rank, part)
        else:
            layer.matrix(f"{prefix}.q_b_proj", queries, size.query_rank, part)
        layer.norms += size.query_rank
    if with_down:
        down = size.rank + size.rope
        layer.matrix(f"{prefix}.kv_a_proj_with_mqa", down, size.hidden, part, 1, Split.REPLICATED, bias=size.bias)
        layer.norms += size.rank
    layer.matrix(f"{prefix}.kv_b_proj", size.heads * (size.nope + size.value), size.rank, part)
    layer.matrix(f"{prefix}.o_proj", size.hidden, size.heads * size.value, part, bias=size.bias)
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
    """For each layer whether it computes and stores its own index: `indexer_types`, a pattern, else a frequency."""
    pattern = fields.raw("index_topk_pattern")
    letters = list(pattern) if isinstance(pattern, str) else pattern
    for name, types in (("indexer_types", fields.raw("indexer_types")), ("index_topk_pattern", letters)):
        if types is None:
            continue
        if not isinstance(types, list | tuple) or not set(map(str, types)) <= {"full", "shared", "F", "S"}:
            raise fields.error(name, "may hold only full and shared")
        if len(types) < layers:
            raise fields.error(name, f"has {len(types)} entries for {layers} layers")
        return [entry in ("full", "F") for entry in types[:layers]]
    step = max(fields.whole("index_topk_freq", low=0, high=MAX_LAYERS, default=1), 1)
    offset = fields.whole("index_skip_topk_offset", low=0, high=MAX_LAYERS, default=2)
    return [max(layer - offset + 1, 0) % step == 0 for layer in range(layers)]
