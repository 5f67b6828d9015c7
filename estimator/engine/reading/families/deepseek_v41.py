"""DeepSeek V4.1: compressed entries and their index are kept by a few layers for the others; tables of n-grams.

Source: vLLM 0.33.0, models/deepseek_v41 (attention.py, compressor.py, common/engram.py, nvidia/model.py), read
2026-11-30; the published size is rounded (552B without the tables).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from estimator.engine.model.spec import Architecture, Attention, AttentionKind, Component, LayerGroup, Split
from estimator.engine.reading.blocks import LayerBuilder, collect
from estimator.engine.reading.decoder import Tables, finish
from estimator.engine.reading.experts import MoeRule, add_moe
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, MAX_TOKENS, Fields
from estimator.engine.reading.shape import HEADS, HIDDEN, read_layers
from estimator.engine.reading.streams import STREAM_LIMIT, Streams

_MOE = MoeRule(shared="experts")
_STREAMS = Streams()
_PART, _WHOLE = Component.ATTENTION, Split.REPLICATED
_LONGEST_TABLE = 10**12


@dataclass(frozen=True, slots=True)
class _Kind:
    """What tells two layers apart: tokens an entry (0: window only), whether it keeps entries, an index, n-grams."""

    ratio: int
    keeps_entries: bool
    has_index: bool
    has_grams: bool


def _numbers(fields: Fields, name: str) -> frozenset[int]:
    return frozenset(fields.check_whole(name, entry, 0, MAX_LAYERS) for entry in fields.sequence(name) or ())


def _kinds(fields: Fields, layers: int) -> list[_Kind]:
    ratios: Sequence[object] = fields.sequence("compress_ratios", at_least=layers) or [0] * layers
    entries, indexes = _numbers(fields, "kv_source_layer_ids"), _numbers(fields, "index_source_layer_ids")
    grams = _numbers(fields, "engram_layer_ids")
    kinds = []
    for layer, stated in enumerate(ratios):
        ratio = fields.check_whole("compress_ratios", stated, 0, MAX_COUNT)
        compressed = ratio > 0
        kinds.append(_Kind(ratio, compressed and layer in entries, compressed and layer in indexes, layer in grams))
    return kinds


def _attention(fields: Fields, hidden: int, kind: _Kind) -> Attention:
    width = fields.whole("head_dim")
    return Attention(
        kind=AttentionKind.COMPRESSED,
        query_heads=fields.whole(*HEADS, high=MAX_COUNT),
        kv_heads=1,
        head_dim_qk=width,
        head_dim_v=width,
        window_tokens=fields.whole("sliding_window", high=MAX_TOKENS),
        query_latent_rank=fields.whole("q_lora_rank"),
        index_heads=fields.whole("index_n_heads", high=MAX_COUNT) if kind.has_index else 0,
        index_head_dim=fields.whole("index_head_dim") if kind.has_index or kind.keeps_entries else 0,
        index_top_k=fields.whole("index_topk", high=MAX_COUNT) if kind.ratio else 0,
        compress_ratio=kind.ratio,
        stores_entries=kind.keeps_entries,
    )


def _projections(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    """Low-rank queries, one shared key/value, output in groups of heads through a low rank, a sink a head."""
    columns, rank = attention.query_heads * attention.head_dim_qk, attention.query_latent_rank
    groups, out_rank = fields.whole("o_groups", high=MAX_COUNT), fields.whole("o_lora_rank")
    if columns % groups:
        raise fields.error("o_groups", f"must divide the {columns} attention outputs, not {groups}")
    layer.matrix("self_attn.q_a_proj", rank, hidden, _PART, 1, _WHOLE)
    layer.matrix("self_attn.q_b_proj", columns, rank, _PART)
    layer.matrix("self_attn.kv_proj", attention.head_dim_qk, hidden, _PART, 1, _WHOLE)
    layer.matrix("self_attn.o_a_proj", groups * out_rank, columns // groups, _PART)
    layer.matrix("self_attn.o_b_proj", hidden, groups * out_rank, _PART)
    layer.vector(_PART, attention.query_heads)
    layer.norms += 2 * hidden + rank + attention.head_dim_qk


def _sources(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention, kind: _Kind) -> None:
    """What makes entries (a gate where they hold several tokens), and what makes and asks their index."""
    width = attention.head_dim_qk
    if kind.keeps_entries:
        maps = 2 if kind.ratio > 1 else 1
        layer.matrix("self_attn.compressor.kv_proj", maps * width, hidden, _PART, 1, _WHOLE, quantisable=False)
        layer.norms += width
    if not kind.has_index:
        return
    heads, keys = attention.index_heads, attention.index_head_dim
    layer.matrix("self_attn.indexer.wq_b", heads * keys, attention.query_latent_rank, _PART, 1, _WHOLE)
    layer.matrix("self_attn.indexer.weights_proj", heads, hidden, _PART, 1, _WHOLE, quantisable=False)
    if kind.keeps_entries:
        layer.matrix("self_attn.indexer.wk", keys, width, _PART, 1, _WHOLE, quantisable=False)
        layer.norms += keys


def _grams(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """What a layer does with embeddings of n-grams: one map to keys of each stream and a value, two scales a stream."""
    streams = fields.whole("hc_mult", high=STREAM_LIMIT)
    columns = (fields.whole("engram_max_ngram_size", high=64) - 1) * fields.whole("engram_n_heads", high=MAX_COUNT)
    width = columns * fields.whole("engram_head_dim")
    layer.matrix("engram.wkv", hidden * (streams + 1), width, Component.OTHER)
    layer.vector(Component.OTHER, 2 * streams * hidden)


def read_deepseek_v41(fields: Fields) -> Architecture:
    """Read DeepSeek V4.1."""
    layers, hidden = read_layers(fields), fields.whole(*HIDDEN)
    kinds = _kinds(fields, layers)

    def group(kind: _Kind) -> LayerGroup:
        layer = LayerBuilder()
        layer.attention = attention = _attention(fields, hidden, kind)
        _projections(layer, fields, hidden, attention)
        _sources(layer, fields, hidden, attention, kind)
        if kind.has_grams:
            _grams(layer, fields, hidden)
        _STREAMS(layer, fields, hidden)
        add_moe(layer, fields, _MOE, hidden)
        return layer.group(1)

    layer_groups, order = collect(kinds, [group(kind) for kind in dict.fromkeys(kinds)])
    architecture = finish(fields, Tables(), layer_groups, order, family="deepseek_v41")
    rows = sum(
        fields.check_whole("engram_num_embeddings", entry, 1, _LONGEST_TABLE)
        for entry in fields.sequence("engram_num_embeddings") or ()
    )
    width = fields.whole("engram_head_dim") if rows else 0
    note = "DeepSeek V4.1: no exact published count to check against; the states of its compressors are not counted"
    return replace(
        architecture,
        lookup_parameters=rows * width,
        split_lookup_parameters=rows * width,
        warnings=(*architecture.warnings, note),
    )
