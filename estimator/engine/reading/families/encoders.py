"""Encoders for embedding and reranking: every token sees every other, and nothing is kept between passes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from estimator.engine.model.spec import Architecture, AttentionKind
from estimator.engine.reading.blocks import LayerBuilder
from estimator.engine.reading.decoder import Decoder, Tables
from estimator.engine.reading.fields import MAX_COUNT, Fields
from estimator.engine.reading.kinds import every
from estimator.engine.reading.mixers import Grouped

NOTE = (
    "an encoder: it keeps no cache and gives no tokens, one pass over the input is its whole work; times of output "
    "tokens mean nothing for it, and pairs of attention are counted as in a decoder, half of what it computes"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What stands on an encoder: `pooled` where the plain model has a pooler, `norm` is 1 where every head has a norm.

    `plain_lm`: the head of words is one matrix of its own.
    """

    pooled: bool = False
    norm: int = 0
    plain_lm: bool = False


def _kept_nowhere(grouped: Grouped) -> Callable[[LayerBuilder, Fields, int], None]:
    """Attention whose keys and values are gone after the pass."""

    def add(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
        grouped(layer, fields, hidden)
        if layer.attention is not None:
            layer.attention = replace(layer.attention, stores_kv=False)

    return add


def _labels(fields: Fields) -> int:
    named = fields.raw("id2label")
    count = len(named) if isinstance(named, dict | list) else None
    return count or fields.whole("num_labels", high=MAX_COUNT, default=2)


def _purpose(fields: Fields) -> str:
    """What the class named in `architectures` does; nothing stated is the plain model."""
    named = fields.raw("architectures")
    name = str(named[0]) if isinstance(named, list | tuple) and named else ""
    return name.partition("For")[2]


def _crowned(head: Head) -> Callable[[Fields, Architecture], Architecture]:
    """The rest of an encoder: token types, buckets of positions, and the head of its purpose."""

    def add(fields: Fields, plain: Architecture) -> Architecture:
        hidden, purpose = plain.hidden_size, _purpose(fields)
        types = fields.whole("type_vocab_size", low=0, high=MAX_COUNT, default=0)
        buckets = fields.whole("relative_attention_num_buckets", low=0, high=MAX_COUNT, default=0)
        heads = plain.layer_groups[0].attention.query_heads if plain.layer_groups[0].attention else 0
        norm_width = 2 if fields.flag("norm_bias") else 1
        bias = hidden if not head.norm or fields.flag("classifier_bias") else 0
        dense = hidden * hidden + bias + head.norm * norm_width * hidden
        word_head = purpose in ("MaskedLM", "PreTraining")
        other = buckets * heads
        if purpose in ("SequenceClassification", "MultipleChoice") or (purpose == "TokenClassification" and head.norm):
            other += dense + (hidden + 1) * _labels(fields)
        elif purpose in ("TokenClassification", "QuestionAnswering"):
            other += (hidden + 1) * _labels(fields)
        elif word_head and not head.plain_lm:
            other += dense + (0 if head.norm else 2 * hidden)
            other += plain.vocab_size if not head.norm or fields.flag("decoder_bias", default=True) else 0
        elif not word_head and head.pooled:
            other += dense
        norms = plain.final_norm_parameters * (norm_width if head.norm else 1)
        return replace(
            plain,
            tied_embeddings=word_head and not head.plain_lm,
            lm_head_parameters=plain.lm_head_parameters if word_head and head.plain_lm else 0,
            lookup_parameters=plain.lookup_parameters + types * hidden,
            other_parameters=other,
            final_norm_parameters=norms,
            warnings=(*plain.warnings, NOTE),
        )

    return add


def _modern_kinds(fields: Fields, layers: int) -> Sequence[str]:
    """ModernBERT: no norm before the first layer's attention; one layer in three sees the whole input."""
    stated, each = fields.raw("layer_types"), fields.whole("global_attn_every_n_layers", high=MAX_COUNT, default=3)
    if isinstance(stated, list | tuple) and len(stated) >= layers:
        whole = [stated[layer] == "full_attention" for layer in range(layers)]
    else:
        whole = [layer % each == 0 for layer in range(layers)]
    first = ["first" if whole[0] else "first_window"]
    return first + ["full" if full else "window" for full in whole[1:]]


def _norm(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
    layer.norms += (2 if fields.flag("norm_bias") else 1) * hidden


def _after_norm(grouped: Grouped) -> Callable[[LayerBuilder, Fields, int], None]:
    def add(layer: LayerBuilder, fields: Fields, hidden: int) -> None:
        _norm(layer, fields, hidden)
        _kept_nowhere(grouped)(layer, fields, hidden)

    return add


def _bert(head: Head) -> Decoder:
    return Decoder(
        kinds=every("full"),
        mixers={"full": _kept_nowhere(Grouped(qkv_bias=True, out_bias=True, prefix="attention"))},
        gated=False,
        mlp_bias=True,
        tables=Tables(norm_width=2, final_norm=False, embedding_norm=True, positions="max_position_embeddings"),
        around=_crowned(head),
    )


_MODERN = Grouped(qkv_bias="attention_bias", out_bias="attention_bias", prefix="attn")
_MODERN_LOCAL = replace(_MODERN, kind=AttentionKind.WINDOW, window=("local_attention", "sliding_window"))


def _named_as_bert(fields: Fields) -> Fields:
    """DistilBERT's names under the usual keys."""
    names = {"dim": "hidden_size", "hidden_dim": "intermediate_size"}
    return fields.over({usual: fields.whole(own) for own, usual in names.items()})


ENCODERS: dict[str, Decoder] = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert", "mpnet"), _bert(Head(pooled=True))),
    "distilbert": replace(_bert(Head()), prepare=_named_as_bert),
    "nomic_bert": Decoder(
        kinds=every("full"),
        mixers={"full": _kept_nowhere(Grouped(prefix="attn", qkv_bias="qkv_proj_bias", out_bias="qkv_proj_bias"))},
        mlp_bias="mlp_fc1_bias",
        tables=Tables(norm_width=2, final_norm=False, embedding_norm=True),
        around=_crowned(Head()),
    ),
    "modernbert": Decoder(
        kinds=_modern_kinds,
        mixers={
            "first": _kept_nowhere(_MODERN),
            "first_window": _kept_nowhere(_MODERN_LOCAL),
            "full": _after_norm(_MODERN),
            "window": _after_norm(_MODERN_LOCAL),
        },
        mlp_bias="mlp_bias",
        norms=0,
        parts=(_norm,),
        tables=Tables(embedding_norm=True),
        around=_crowned(Head(norm=1)),
    ),
    "eurobert": Decoder(
        kinds=every("full"),
        mixers={"full": _kept_nowhere(Grouped(qkv_bias="attention_bias", out_bias="attention_bias"))},
        mlp_bias="mlp_bias",
        around=_crowned(Head(plain_lm=True)),
    ),
}
