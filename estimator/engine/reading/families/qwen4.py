"""Qwen 4: delta nets and indexed attention between hyper-connections, with embeddings of n-grams on some layers.

Source: the reference model classes (transformers 5.24, 2026-11): 177,392,830,576 parameters of Qwen3.8 Flash Next.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from estimator.engine.model.spec import Architecture, Attention, Component, Split
from estimator.engine.reading.blocks import LayerBuilder
from estimator.engine.reading.decoder import Decoder, Tables
from estimator.engine.reading.experts import MoeRule
from estimator.engine.reading.fields import MAX_COUNT, Fields
from estimator.engine.reading.kinds import interval, listed
from estimator.engine.reading.mixers import Grouped, replicated
from estimator.engine.reading.shape import HIDDEN, read_layers
from estimator.engine.reading.state_mixers import KERNEL_LIMIT, GatedDelta
from estimator.engine.reading.streams import STREAM_LIMIT

_MOST_TABLES = 1_024
_LARGEST_TABLE = 1_000_000_000


def _add_index(layer: LayerBuilder, fields: Fields, hidden: int, attention: Attention) -> None:
    """The index of sparse attention: queries and one key for every few tokens, each with a norm."""
    width = fields.optional_whole("indexer_head_dim")
    if width is None:
        return
    heads = fields.whole("indexer_n_heads", high=MAX_COUNT)
    keys = fields.whole("indexer_kv_heads", high=MAX_COUNT, default=1)
    layer.attention = replace(
        attention,
        index_heads=heads,
        index_head_dim=width,
        index_top_k=fields.whole("indexer_budget", high=MAX_COUNT),
        index_ratio=fields.whole("indexer_compress_ratio", high=MAX_COUNT),
    )
    replicated(layer, "self_attn.indexer.index_qk_proj", (heads + keys) * width, hidden)
    layer.norms += 2 * width


def _connection(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """Two hyper-connections: a norm of all streams, maps through a low rank, weights that give back to each stream."""
    count = fields.whole("hc_count", high=STREAM_LIMIT)
    rank, wide, whole = fields.whole("hc_lowrank"), count * hidden, Split.REPLICATED
    for name, part in (("attn_hyper_connection", Component.ATTENTION), ("mlp_hyper_connection", Component.MLP)):
        layer.norms += wide
        layer.matrix(f"{name}.input_mix_weight_down", rank, wide, part, 1, whole)
        layer.matrix(f"{name}.input_mix_weight_up", wide, rank, part, 1, whole)
        layer.matrix(f"{name}.block_inject_weight", count, wide, part, 1, whole, quantisable=False)


def _embedding_layers(fields: Fields) -> list[int]:
    """Layers, from 0, that add embeddings of n-grams; the config counts them from 1."""
    ids = fields.sequence("ple_layer_ids") or ()
    return sorted({fields.check_whole("ple_layer_ids", entry, 1, read_layers(fields)) - 1 for entry in ids})


def _kinds(fields: Fields, layers: int) -> list[str]:
    kinds = listed(interval("full_attention_interval", default=4))(fields, layers)
    with_grams = set(_embedding_layers(fields))
    return [f"{kind} grams" if layer in with_grams else kind for layer, kind in enumerate(kinds)]


def _grams(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """What a layer does with embeddings of n-grams: keys and a value, three norms of all streams, a convolution."""
    wide = fields.whole("hc_count", high=STREAM_LIMIT) * hidden
    width = fields.whole("ple_embed_dim", default=hidden)
    kernel = fields.whole("ple_conv_kernel_size", high=KERNEL_LIMIT)
    part, whole = Component.OTHER, Split.REPLICATED
    layer.matrix("ple.key_proj", wide, width, part, 1, whole)
    layer.matrix("ple.value_proj", hidden, width, part, 1, whole)
    layer.matrix("ple.conv1d", wide, kernel, part, 1, whole, quantisable=False)
    layer.norms += 3 * wide


def _with_grams(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    GatedDelta()(layer, fields, hidden)
    _grams(layer, fields, hidden)
    if layer.state is not None:
        wide = fields.whole("hc_count", high=STREAM_LIMIT) * hidden
        reach = (fields.whole("ple_conv_kernel_size", high=KERNEL_LIMIT) - 1) * fields.whole("ngram_size", high=64)
        layer.state = replace(layer.state, side_elements=wide * reach)


_WITNESSES = (2, 3, 5, 7, 11, 13, 17)


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test, exact below 3.4e14 with these witnesses."""
    if number < 2 or any(number % prime == 0 for prime in _WITNESSES):
        return number in _WITNESSES
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in _WITNESSES:
        power = pow(witness, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


@lru_cache(maxsize=64)
def _primes(base: int, count: int) -> tuple[int, ...]:
    """The first primes that are not below a base."""
    found: list[int] = []
    number = base
    while len(found) < count:
        if _is_prime(number):
            found.append(number)
        number += 1
    return tuple(found)


def _tables(fields: Fields, architecture: Architecture) -> Architecture:
    """The tables of n-grams, read by row, and the connection that merges the streams before the head.

    Each n-gram head has a table of its own, as long as the next prime from a base on; the tables of a layer lie in one,
    whose rows are padded to a multiple.
    """
    hidden = fields.whole(*HIDDEN)
    wide = fields.whole("hc_count", high=STREAM_LIMIT) * hidden
    merging = wide + 2 * fields.whole("hc_lowrank") * wide
    layers = _embedding_layers(fields)
    heads = (fields.whole("ngram_size", high=64) - 1) * fields.whole("heads_per_ngram", high=_MOST_TABLES)
    if heads * len(layers) > _MOST_TABLES:
        raise fields.error("heads_per_ngram", f"makes more than {_MOST_TABLES} tables")
    rows = 0
    if layers and heads:
        primes = _primes(fields.whole("ngram_vocab_size_base", high=_LARGEST_TABLE), heads * len(layers))
        multiple = fields.whole("make_ngram_vocab_size_divisible_by", high=MAX_COUNT)
        for position in range(len(layers)):
            total = sum(primes[position * heads : (position + 1) * heads])
            rows += -(-total // multiple) * multiple
    width = fields.whole("ple_embed_dim", default=hidden) // max(heads, 1)
    tables = rows * width
    return replace(
        architecture,
        lookup_parameters=tables,
        split_lookup_parameters=tables,
        lookup_columns=width,
        other_parameters=merging,
    )


_ATTENTION = Grouped(
    qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head", gate="query", also=(_add_index,)
)

QWEN4: Mapping[str, Decoder] = {
    "qwen4_exp_text": Decoder(
        kinds=_kinds,
        mixers={"state": GatedDelta(), "full": _ATTENTION, "state grams": _with_grams},
        moe=MoeRule(shared="width", shared_key="shared_expert_intermediate_size", shared_gate=True),
        norms=0,
        parts=(_connection,),
        tables=Tables(final_norm=False),
        around=_tables,
    ),
}
