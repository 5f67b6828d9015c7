"""DeepSeek V4: one shared K/V vector a token in a window, compressed entries beyond it, hyper-connections."""

from collections.abc import Callable
from dataclasses import dataclass

from estimator.engine.model.spec import Architecture, Attention, AttentionKind, Component, LayerGroup, Split
from estimator.engine.reading.blocks import LayerBuilder, collect
from estimator.engine.reading.decoder import Tables, finish
from estimator.engine.reading.experts import MoeRule, add_moe
from estimator.engine.reading.fields import MAX_COUNT, MAX_TOKENS, Fields
from estimator.engine.reading.shape import HEADS, HIDDEN, read_layers
from estimator.engine.reading.streams import Streams, merged_once

_MOE = MoeRule(shared="experts", shared_bias="mlp_bias")
_STREAMS = Streams()
_RATIO_OF_TYPE = {
    "sliding_attention": 0,
    "compressed_sparse_attention": 4,
    "heavily_compressed_attention": 128,
}
SPARSE_RATIO = 4
"""Layers that compress 4 tokens to one entry carry an index over the entries; the heavier ones do not."""


@dataclass(frozen=True, slots=True)
class _Reader:
    fields: Fields
    hidden: int
    heads: int
    width: int
    query_rank: int

    def group(self, ratio: int) -> LayerGroup:
        """One layer with this compression ratio (0: window only)."""
        fields, hidden, width = self.fields, self.hidden, self.width
        layer = LayerBuilder()
        indexed = ratio == SPARSE_RATIO
        layer.attention = Attention(
            kind=AttentionKind.COMPRESSED,
            query_heads=self.heads,
            kv_heads=1,
            head_dim_qk=width,
            head_dim_v=width,
            window_tokens=fields.whole("sliding_window", high=MAX_TOKENS),
            query_latent_rank=self.query_rank,
            index_heads=fields.whole("index_n_heads", high=MAX_COUNT) if indexed else 0,
            index_head_dim=fields.whole("index_head_dim") if indexed else 0,
            index_top_k=fields.whole("index_topk", high=MAX_COUNT) if indexed else 0,
            compress_ratio=ratio,
        )
        self._projections(layer)
        if ratio:
            self._compressor(layer, ratio, width, 2 if indexed else 1, "compressor")
        if indexed:
            self._indexer(layer, ratio)
        layer.norms += 2 * hidden + self.query_rank + width
        _STREAMS(layer, fields, hidden)
        add_moe(layer, fields, _MOE, hidden)
        return layer.group(1)

    def _projections(self, layer: LayerBuilder) -> None:
        """Low-rank queries, one shared key/value, output in groups of heads through a low rank, a sink per head."""
        fields, hidden, part = self.fields, self.hidden, Component.ATTENTION
        groups = fields.whole("o_groups", high=MAX_COUNT)
        rank = fields.whole("o_lora_rank")
        columns = self.heads * self.width
        if columns % groups:
            raise fields.error("o_groups", f"must divide the {columns} attention outputs, not {groups}")
        layer.matrix("self_attn.q_a_proj", self.query_rank, hidden, part, 1, Split.REPLICATED)
        layer.matrix("self_attn.q_b_proj", columns, self.query_rank, part)
        layer.matrix("self_attn.kv_proj", self.width, hidden, part, 1, Split.REPLICATED)
        layer.matrix("self_attn.o_a_proj", groups * rank, columns // groups, part)
        layer.matrix("self_attn.o_b_proj", hidden, groups * rank, part)
        layer.vector(part, self.heads)

    def _compressor(self, layer: LayerBuilder, ratio: int, width: int, series: int, name: str) -> None:
        """Key/value and gate of compressed entries, a bias for each position in a window, a norm."""
        part = Component.ATTENTION
        for projection in ("kv_proj", "gate_proj"):
            layer.matrix(f"self_attn.{name}.{projection}", series * width, self.hidden, part, 1, Split.REPLICATED)
        layer.vector(part, ratio * series * width)
        layer.norms += width

    def _indexer(self, layer: LayerBuilder, ratio: int) -> None:
        """The index over compressed entries: its own compressor, queries and head weights."""
        fields, part = self.fields, Component.ATTENTION
        heads = fields.whole("index_n_heads", high=MAX_COUNT)
        width = fields.whole("index_head_dim")
        self._compressor(layer, ratio, width, 2, "indexer")
        layer.matrix("self_attn.indexer.q_b_proj", heads * width, self.query_rank, part, 1, Split.REPLICATED)
        layer.matrix("self_attn.indexer.weights_proj", heads, self.hidden, part, 1, Split.REPLICATED, quantisable=False)


def _ratios(fields: Fields, layers: int) -> list[int]:
    """The compression ratio of each layer: a list of ratios, a list of types, or the release's own pattern."""
    types = fields.sequence("layer_types", at_least=layers)
    if types is not None:
        unknown = [entry for entry in types if not isinstance(entry, str) or entry not in _RATIO_OF_TYPE]
        if unknown:
            raise fields.error("layer_types", f"may hold {', '.join(_RATIO_OF_TYPE)}")
        return [_RATIO_OF_TYPE[entry] for entry in types]
    listed = fields.sequence("compress_ratios", at_least=layers)
    if listed is not None:
        return [fields.check_whole("compress_ratios", entry, 0, 1_048_576) for entry in listed]
    return [128 if layer < 2 or layer % 2 == 0 else 4 for layer in range(layers)]


def read_deepseek_v4(fields: Fields) -> Architecture:
    """Read DeepSeek V4."""
    layers = read_layers(fields)
    hidden = fields.whole(*HIDDEN)
    heads = fields.whole(*HEADS, high=MAX_COUNT)
    width = fields.whole("head_dim")
    reader = _Reader(fields, hidden, heads, width, fields.whole("q_lora_rank"))
    ratios = _ratios(fields, layers)
    groups = [reader.group(ratio) for ratio in dict.fromkeys(ratios)]
    layer_groups, order = collect(ratios, groups)
    return merged_once(fields, finish(fields, Tables(), layer_groups, order, family="deepseek_v4"))


def deepseek_v4_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """DeepSeek V4 under its own name and under that of the reference copies."""
    return {"deepseek_v4": read_deepseek_v4, "deepseek_ref": read_deepseek_v4}
