"""The dimensions every decoder has, read with the aliases that families use, and which layers see a window."""

from collections.abc import Sequence
from dataclasses import dataclass

from estimator.engine.model.spec import AttentionKind
from estimator.engine.reading.fields import MAX_COUNT, MAX_LAYERS, MAX_TOKENS, MAX_VOCABULARY, MAX_WIDTH, Fields

LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads")
HIDDEN = ("hidden_size", "n_embd", "n_embed", "d_model")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", "num_attention_groups")
HEAD_DIM = ("head_dim", "attention_head_dim", "kv_channels")
MLP_WIDTH = ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size")
MTP_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
CONTEXT = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "n_ctx")

# What configs call the two kinds of attention layer in `layer_types`.
_LAYER_TYPE_KINDS = {
    "full_attention": AttentionKind.FULL,
    "attention": AttentionKind.FULL,
    "global_attention": AttentionKind.FULL,
    "sliding_attention": AttentionKind.WINDOW,
    "sliding_window_attention": AttentionKind.WINDOW,
    "local_attention": AttentionKind.WINDOW,
    "chunked_attention": AttentionKind.CHUNK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Dimensions of a decoder: layers, widths and heads in counts, context in tokens (None when not stated)."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    context: int | None


def read_layers(fields: Fields) -> int:
    """The number of layers."""
    return fields.whole(*LAYERS, high=MAX_LAYERS)


def read_context(fields: Fields) -> int | None:
    """The longest context the config states, in tokens."""
    return fields.optional_whole(*CONTEXT, high=MAX_TOKENS)


def read_vocab(fields: Fields) -> int:
    """Rows of the token table."""
    return fields.whole("vocab_size", "padded_vocab_size", high=MAX_VOCABULARY)


def head_width(fields: Fields, hidden: int, heads: int) -> int:
    """The stated head width; else hidden size over heads, rounded down as the reference classes do."""
    stated = fields.optional_whole(*HEAD_DIM, high=MAX_WIDTH)
    if stated is not None:
        return stated
    if heads > hidden:
        raise fields.error(
            HEADS[0], f"must not exceed the hidden size {hidden} where no head_dim is given, not {heads}"
        )
    return hidden // heads


def read_kv_heads(fields: Fields, heads: int, *, whole_groups: bool = True) -> int:
    """KV heads: as stated, else as many as query heads; they divide the query heads where groups must be whole."""
    stated = fields.optional_whole(*KV_HEADS, high=MAX_COUNT)
    kv_heads = heads if stated is None else stated
    if whole_groups and (kv_heads > heads or heads % kv_heads):
        raise fields.error(KV_HEADS[0], f"must divide the {heads} query heads, not {kv_heads}")
    return kv_heads


def read_shape(fields: Fields) -> Shape:
    """The dimensions of a decoder with grouped-query attention."""
    hidden = fields.whole(*HIDDEN)
    heads = fields.whole(*HEADS, high=MAX_COUNT)
    return Shape(
        layers=read_layers(fields),
        hidden=hidden,
        heads=heads,
        kv_heads=read_kv_heads(fields, heads),
        head_dim=head_width(fields, hidden, heads),
        vocab=read_vocab(fields),
        context=read_context(fields),
    )


def read_mlp_width(fields: Fields, hidden: int, *names: str) -> int:
    """The MLP width; families without the key (and null) use 4 × hidden."""
    return fields.whole(*(names or MLP_WIDTH), default=4 * hidden)


def listed_types(fields: Fields, layers: int, *names: str) -> Sequence[object] | None:
    """One type for each layer, or None without the list; only entries of the stated MTP layers may follow."""
    types = fields.sequence(*names)
    if types is None or len(types) == layers:
        return types
    extra = fields.whole(*MTP_LAYERS, low=0, high=MAX_LAYERS, default=0)
    if len(types) != layers + extra:
        return fields.sequence(*names, length=layers)
    return types[:layers]


def layer_kinds(fields: Fields, layers: int) -> list[AttentionKind] | None:
    """The attention kind of each layer from `layer_types`, or None when the config has no such list."""
    types = listed_types(fields, layers, "layer_types")
    if types is None:
        return None
    kinds = []
    for entry in types:
        kind = _LAYER_TYPE_KINDS.get(entry) if isinstance(entry, str) else None
        if kind is None:
            known = ", ".join(_LAYER_TYPE_KINDS)
            raise fields.error("layer_types", f"may hold {known}; not {str(entry)[:40]!r}")
        kinds.append(kind)
    return kinds


def every_nth_full(layers: int, interval: int) -> list[AttentionKind]:
    """Every `interval`-th layer full, the others with a window (the first layers have one)."""
    return [AttentionKind.WINDOW if (layer + 1) % interval else AttentionKind.FULL for layer in range(layers)]


def window_layers(fields: Fields, layers: int, pattern: str, implicit_interval: int = 0) -> list[AttentionKind]:
    """The attention kind of each layer by a family's window rule.

    Args:
        fields: the config.
        layers: number of layers.
        pattern: which layers see a stated window where no list says it: `none`, `all`, `upper` (Qwen: with
            `use_sliding_window`, layers from `max_window_layers`), `from` (the same without the switch), `switched`
            (every layer, with the switch), `alternate` (Qwen2-MoE: with the switch, even layers before
            `max_window_layers`), `leading` (all but the first of every n), or `interval` (all but the last of every
            n, by `sliding_window_pattern`, else `implicit_interval`).
        implicit_interval: n where the family has no key for it.

    Returns:
        One kind for each layer; `layer_types` wins over the rule, a null window makes every layer full.
    """
    full = [AttentionKind.FULL] * layers
    window = fields.raw("sliding_window")
    if pattern == "none":
        stated = layer_kinds(fields, layers)
        return full if stated is None or window is None else stated
    if pattern in ("upper", "switched", "alternate") and not fields.flag("use_sliding_window"):
        return full
    stated = layer_kinds(fields, layers)
    if window is None:
        return full
    if stated is not None:
        return stated
    if pattern == "leading":
        return [AttentionKind.WINDOW if layer % implicit_interval else AttentionKind.FULL for layer in range(layers)]
    if pattern in ("all", "switched"):
        return [AttentionKind.WINDOW] * layers
    if pattern in ("upper", "from", "alternate"):
        first = fields.whole("max_window_layers", low=0, high=MAX_LAYERS, default=layers)
        if pattern == "alternate":
            windowed = [layer < first and layer % 2 == 0 for layer in range(layers)]
        else:
            windowed = [layer >= first for layer in range(layers)]
        return [AttentionKind.WINDOW if flag else AttentionKind.FULL for flag in windowed]
    return _interval_kinds(fields, layers, implicit_interval)


def _interval_kinds(fields: Fields, layers: int, implicit_interval: int) -> list[AttentionKind]:
    """Kinds from `sliding_window_pattern`: a number n, or a text such as LLLG repeated over the layers."""
    names = ("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers")
    value = fields.raw(*names)
    if isinstance(value, str):
        if not value or set(value) - {"L", "G"}:
            raise fields.error("sliding_window_pattern", "must be a number or a text of L and G")
        letters = [value[layer % len(value)] for layer in range(layers)]
        return [AttentionKind.FULL if letter == "G" else AttentionKind.WINDOW for letter in letters]
    interval = fields.whole(*names, high=MAX_LAYERS, default=implicit_interval or layers + 1)
    return every_nth_full(layers, interval)


def check_flags(fields: Fields, name: str, entries: Sequence[object]) -> list[bool]:
    """A list of 0 and 1 (or booleans) as booleans."""
    flags = []
    for entry in entries:
        if entry not in (0, 1) or isinstance(entry, float):
            raise fields.error(name, "may hold only 0 and 1")
        flags.append(bool(entry))
    return flags
