"""Families shaped by architecture search: each layer has its own widths, heads or nothing at all (Nemotron NAS)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from estimator.engine.model.spec import Architecture, Attention, AttentionKind, Component, LayerGroup
from estimator.engine.reading.blocks import LayerBuilder, add_attention, add_dense, collect
from estimator.engine.reading.decoder import Tables, finish
from estimator.engine.reading.fields import MAX_COUNT, Fields
from estimator.engine.reading.shape import head_width, read_layers


@dataclass(frozen=True, slots=True)
class _Block:
    """One layer: KV heads (0: no attention, -1: a linear map), MLP width (0: none, -1: a linear map)."""

    kv_heads: int
    width: int


def _read_block(fields: Fields, entry: Any, heads: int, hidden: int) -> _Block:
    """A layer's entry of `block_configs`."""
    if not isinstance(entry, Mapping):
        raise fields.error("block_configs", "must be a list of objects")
    block = Fields(entry, {}, f"{fields.path}.block_configs")
    attention, ffn = block.sub("attention"), block.sub("ffn")
    if attention is None or ffn is None:
        raise fields.error("block_configs", "needs attention and ffn in every entry")
    kv_heads = 0
    if attention.flag("replace_with_linear"):
        kv_heads = -1
    elif not attention.flag("no_op"):
        group = attention.whole("n_heads_in_group", high=MAX_COUNT)
        if heads % group:
            raise fields.error("block_configs", f"n_heads_in_group must divide the {heads} heads, not {group}")
        kv_heads = heads // group
    width = 0
    if ffn.flag("replace_with_linear"):
        width = -1
    elif not ffn.flag("no_op"):
        stated = ffn.optional_whole("intermediate_size")
        multiple = ffn.number("ffn_mult", low=0.0, high=1000.0, default=0.0)
        width = stated or -(-int(2 * multiple * hidden / 3) // 256) * 256
    return _Block(kv_heads, width)


def read_nemotron_nas(fields: Fields) -> Architecture:
    """Nemotron NAS: per layer KV heads and an MLP width of 2/3 · factor · hidden rounded up to 256, or neither."""
    layers = read_layers(fields)
    hidden = fields.whole("hidden_size")
    heads = fields.whole("num_attention_heads", high=MAX_COUNT)
    head_dim = head_width(fields, hidden, heads)
    entries = fields.sequence("block_configs", length=layers)
    if entries is None:
        raise fields.missing("block_configs")
    blocks = [_read_block(fields, entry, heads, hidden) for entry in entries]
    bias, mlp_bias = fields.flag("attention_bias"), fields.flag("mlp_bias")

    def group(block: _Block) -> LayerGroup:
        layer = LayerBuilder()
        if block.kv_heads > 0:
            attention = Attention(
                kind=AttentionKind.FULL,
                query_heads=heads,
                kv_heads=block.kv_heads,
                head_dim_qk=head_dim,
                head_dim_v=head_dim,
            )
            add_attention(layer, attention, hidden, qkv_bias=bias, out_bias=bias)
        elif block.kv_heads < 0:
            layer.matrix("self_attn.linear_attn", hidden, hidden, Component.OTHER)
        if block.width > 0:
            add_dense(layer, hidden, block.width, bias=mlp_bias)
        elif block.width < 0:
            layer.matrix("mlp.linear_mlp", hidden, hidden, Component.OTHER)
        layer.norms += hidden * ((block.kv_heads != 0) + (block.width != 0))
        return layer.group(1)

    layer_groups, order = collect(blocks, [group(block) for block in dict.fromkeys(blocks)])
    return finish(fields, Tables(), layer_groups, order, family="nemotron-nas")


def search_readers() -> dict[str, Callable[[Fields], Architecture]]:
    """A reader for each of these model types (DeciLM is the class name, nemotron-nas the model_type)."""
    return {"nemotron-nas": read_nemotron_nas, "nemotron_nas": read_nemotron_nas}
