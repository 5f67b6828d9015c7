"""Decoders as data: which mixer and which feed-forward part each layer has, and the numbers that differ by layer.

A model type is one `Decoder`: a few named mixers, a rule that gives a name to each layer, a rule that says which layers
have experts, and counts of norms. Whatever key a mixer reads may hold one value or a list with one value a layer, and
`per_layer_config` (transformers 5) may override any key on single layers or on layers of one type.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from estimator.engine.model.spec import Architecture, LayerGroup
from estimator.engine.reading.blocks import LayerBuilder, add_dense, collect
from estimator.engine.reading.experts import MoeRule, add_moe
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, MAX_TOKENS, Fields
from estimator.engine.reading.shape import HEADS, HIDDEN, MLP_WIDTH, read_context, read_layers, read_vocab
from estimator.engine.reading.switches import Switch, switch

Part = Callable[[LayerBuilder, Fields, int], None]
"""Adds something to a layer: it takes the builder, the fields as that layer sees them, and the hidden size."""
Kinds = Callable[[Fields, int], Sequence[str]]
"""Names the mixer of each layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What stands around the layers.

    `norm_width` is 1, or 2 when full-width norms have a bias (0: no parameters). `positions` is the key of a learned
    position table with `position_offset` extra rows. `head_rows` is the key of the rows of the output matrix where
    they are not those of the token table; `extra_rows` that of rows of the token table beyond the vocabulary.
    """

    norm_width: int = 1
    final_norm: bool = True
    embedding_norm: bool = False
    positions: str = ""
    position_offset: int = 0
    lm_head_bias: Switch = False
    always_tied: bool = False
    head_rows: str = ""
    extra_rows: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Layers that a token passes through several times.

    `uses` says how often for each layer; their parameters exist once, their work and cache as often as they are used.
    Where `one_cache` says so, only the last pass keeps keys and values. `parts` is what a looped layer holds besides.
    """

    uses: Callable[[Fields, int], Sequence[int]]
    parts: tuple[Part, ...] = ()
    one_cache: Callable[[Fields], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """A family of decoders.

    `kinds` names the mixer of each layer, `mixers` says what each name stands for. `dense` is the feed-forward part of
    layers without experts (None: an MLP of the width under `dense_width`), `moe` that of the others. `norms` counts the
    norms as wide as the model in a layer, `norms_if` is a key that adds two. `parts` is what every layer holds besides,
    `tables` what stands around the layers; `around` adds what one family alone has. `loop` passes through layers
    several times. `prepare` brings figures that a family writes in its own way under the usual keys. `family` is the
    name to tell where it is not the model_type.
    """

    kinds: Kinds
    mixers: Mapping[str, Part]
    moe: MoeRule | None = None
    dense: Part | None = None
    dense_width: tuple[str, ...] = MLP_WIDTH
    width_divisor: int = 1
    gated: bool = True
    mlp_bias: Switch = False
    norms: int = 2
    norms_if: str = ""
    parts: tuple[Part, ...] = ()
    tables: Tables = Tables()
    around: Callable[[Fields, Architecture], Architecture] | None = None
    layers: Callable[[Fields], int] = read_layers
    loop: Loop | None = None
    prepare: Callable[[Fields], Fields] | None = None
    family: str = ""


@dataclass(frozen=True, slots=True)
class _View:
    """The fields as one layer sees them."""

    fields: Fields
    index: int


def nothing(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    """No feed-forward part: the layer is one block."""


def read_decoder(fields: Fields, decoder: Decoder, *, family: str) -> Architecture:
    """Read a config as layer groups by its family's decoder.

    Args:
        fields: the config with its class defaults.
        decoder: the family.
        family: its name.

    Raises:
        InvalidInputError: a key has a value that cannot be, or a layer has a kind that the family does not know.
        MissingFigureError: a needed key is absent and its class has no default.
    """
    fields = fields if decoder.prepare is None else decoder.prepare(fields)
    layers = decoder.layers(fields)
    hidden = fields.whole(*HIDDEN)
    kinds = decoder.kinds(fields, layers)
    sparse = _sparse(fields, decoder, layers)
    views = _layer_views(fields, kinds)
    uses = [1] * layers if decoder.loop is None else decoder.loop.uses(fields, layers)
    keys = [(kind, flag, view.index, use) for kind, flag, view, use in zip(kinds, sparse, views, uses, strict=True)]
    groups: list[tuple[LayerGroup, int]] = []
    canonical: dict[tuple[str, bool, int, int], int] = {}
    for key, view in zip(keys, views, strict=True):
        if key in canonical:
            continue
        built = (_layer(view.fields, decoder, hidden, key[0], is_sparse=key[1], is_looped=key[3] > 1), key[3])
        if built not in groups:
            groups.append(built)
        canonical[key] = groups.index(built)
    layer_groups, order = collect([canonical[key] for key in keys], [group for group, _ in groups])
    if decoder.loop is not None:
        layer_groups, order = _looped(fields, decoder.loop, layer_groups, order, uses)
    architecture = finish(fields, decoder.tables, layer_groups, order, family=decoder.family or family)
    return architecture if decoder.around is None else decoder.around(fields, architecture)


def _looped(
    fields: Fields, loop: Loop, groups: tuple[LayerGroup, ...], order: tuple[int, ...], uses: Sequence[int]
) -> tuple[tuple[LayerGroup, ...], tuple[int, ...]]:
    """The groups with every pass counted as layers of its own, whose parameters exist once."""
    looped = {index: use for index, use in zip(order, uses, strict=True) if use > 1}
    if not looped:
        return groups, order
    found = list(groups)
    again = dict.fromkeys(looped, 0)
    for index, use in looped.items():
        group, further = groups[index], (use - 1) * groups[index].layers
        again[index] = index
        if loop.one_cache is not None and loop.one_cache(fields) and group.attention is not None:
            again[index] = len(found)
            without = replace(group.attention, stores_kv=False)
            found.append(replace(group, attention=without, layers=further, parameter_copies=0))
        else:
            found[index] = replace(group, layers=group.layers + further, parameter_copies=group.layers)
    inside = [layer for layer, use in enumerate(uses) if use > 1]
    first, last = inside[0], inside[-1] + 1
    passes = [again[index] for index in order[first:last]] * (uses[first] - 1)
    return tuple(found), (*order[:first], *passes, *order[first:])


def _sparse(fields: Fields, decoder: Decoder, layers: int) -> Sequence[bool]:
    if decoder.moe is None:
        return [False] * layers
    rule = decoder.moe.sparse_layers
    return [True] * layers if rule is None else rule(fields, layers)


def _layer(fields: Fields, decoder: Decoder, hidden: int, kind: str, *, is_sparse: bool, is_looped: bool) -> LayerGroup:
    """One layer of a kind, dense or with experts."""
    mixer = decoder.mixers.get(kind)
    if mixer is None:
        raise fields.error("layer_types", f"may hold {', '.join(decoder.mixers)} for this model_type, not {kind}")
    layer = LayerBuilder()
    mixer(layer, fields, hidden)
    norms = decoder.norms + (2 if decoder.norms_if and fields.flag(decoder.norms_if) else 0)
    layer.norms += norms * decoder.tables.norm_width * hidden
    if is_sparse and decoder.moe is not None:
        add_moe(layer, fields, decoder.moe, hidden, gated=decoder.gated)
    elif decoder.dense is not None:
        decoder.dense(layer, fields, hidden)
    else:
        width = fields.whole(*decoder.dense_width, default=4 * hidden) // decoder.width_divisor
        add_dense(layer, hidden, width, gated=decoder.gated, bias=switch(fields, decoder.mlp_bias))
    looped = decoder.loop.parts if decoder.loop is not None and is_looped else ()
    for part in (*decoder.parts, *looped):
        part(layer, fields, hidden)
    return layer.group(1)


def finish(
    fields: Fields, tables: Tables, layer_groups: tuple[LayerGroup, ...], order: tuple[int, ...], *, family: str
) -> Architecture:
    """Add the embedding, the head, the final norm and position tables to the layer groups."""
    hidden, vocab = fields.whole(*HIDDEN), read_vocab(fields)
    tied = tables.always_tied or fields.flag("tie_word_embeddings", "tie_embedding")
    lookup = 0
    if tables.positions:
        rows = fields.whole(tables.positions, "max_position_embeddings", high=MAX_TOKENS)
        lookup = (rows + tables.position_offset) * hidden
    head_rows = fields.optional_whole(tables.head_rows, high=vocab) if tables.head_rows else None
    head = 0 if tied else (head_rows or vocab) * hidden
    if switch(fields, tables.lm_head_bias):
        head += vocab
    extra_rows = fields.whole(tables.extra_rows, low=0, high=MAX_COUNT, default=0) if tables.extra_rows else 0
    norms = tables.norm_width * hidden * (int(tables.final_norm) + int(tables.embedding_norm))
    return Architecture(
        family=family,
        layer_groups=layer_groups,
        layer_order=order,
        hidden_size=hidden,
        vocab_size=vocab,
        max_context_tokens=read_context(fields),
        tied_embeddings=tied,
        embedding_parameters=(vocab + extra_rows) * hidden,
        lm_head_parameters=head,
        final_norm_parameters=norms,
        lookup_parameters=lookup,
    )


def _layer_views(fields: Fields, kinds: Sequence[str]) -> list[_View]:
    """The fields as each layer sees them; layers that see the same share one view."""
    layers = len(kinds)
    lists = _listed_by_layer(fields, layers)
    overrides = _overrides(fields, kinds)
    if not lists and not overrides:
        return [_View(fields, 0)] * layers
    known: dict[tuple[Any, ...], _View] = {}
    views = []
    for layer in range(layers):
        own = {name: values[layer] for name, values in lists.items()} | overrides.get(layer, {})
        key = tuple(sorted((name, repr(value)) for name, value in own.items()))
        if key not in known:
            known[key] = _View(fields.over(own), len(known))
        views.append(known[key])
    return views


def _listed_by_layer(fields: Fields, layers: int) -> dict[str, Sequence[Any]]:
    """Keys that hold a list of numbers with an entry for each layer (entries of prediction layers may follow)."""
    found: dict[str, Sequence[Any]] = {}
    for name, value in fields.config.items():
        if isinstance(value, list | tuple) and layers <= len(value) <= MAX_LAYERS and layers > 1 and name in BY_LAYER:
            found[name] = value
    return found


BY_LAYER = frozenset(
    {
        *HEADS,
        "num_attention_heads_per_layer", "num_key_value_heads", "num_key_value_heads_per_layer", "head_dim",
        "intermediate_size", "ffn_hidden_size", "moe_intermediate_size", "num_experts", "num_local_experts",
        "n_routed_experts", "num_experts_per_tok", "moe_topk", "num_shared_expert", "sliding_window",
        "sliding_windows", "shared_expert_intermediate_size",
    }
)  # fmt: skip
"""Keys whose list is taken as one value a layer; other lists belong to the rules that know them."""


def _overrides(fields: Fields, kinds: Sequence[str]) -> dict[int, dict[str, Any]]:
    """What `per_layer_config` overrides, by layer: keyed by a layer's number, or by a word of `layer_types`."""
    stated = fields.sub("per_layer_config")
    if stated is None:
        return {}
    types = fields.raw("layer_types")
    words: Sequence[object] = types if isinstance(types, list | tuple) and len(types) >= len(kinds) else kinds
    found: dict[int, dict[str, Any]] = {}
    for key, settings in stated.config.items():
        if not isinstance(settings, Mapping):
            raise fields.error("per_layer_config", "must hold an object for each layer")
        name = str(key)
        if name.isdecimal() and len(name) <= 6:
            indices = [int(name)]
        else:
            indices = [index for index in range(len(kinds)) if words[index] == name]
        for index in indices:
            found.setdefault(index, {}).update(settings)
    return found
