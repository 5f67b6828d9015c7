"""The tensor types of a GGUF mix in one model: layer by layer for the matrices, and for the token table and the head.

Source: as `gguf_mixes`; names of fused matrices: llama.cpp convert_hf_to_gguf, read 2026-11-29.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from estimator.engine.formats.gguf_mixes import GgufMix, Rules, When, block_elements, stored_type
from estimator.engine.model.spec import Architecture, Component, LayerGroup, Matrix

_EIGHT = 8
_MANY = 4
_LARGE_LAYERS = 80
# Families whose 80-layer models llama.cpp knows as its 70B kind, where their values take more bits.
_LARGE_FAMILIES = frozenset({"llama", "qwen2", "nemotron-nas", "olmo2"})
_FALCON = "falcon"
# Families whose queries, keys and values are one matrix in GGUF files.
_FUSED_FAMILIES = frozenset(
    {"bloom", "chatglm", "dbrx", "falcon", "gpt2", "gpt_bigcode", "gpt_neox", "mpt", "phi3", "qwen"}
)


class Kind(StrEnum):
    """What the rules of a mix tell apart."""

    KEY = "key"
    VALUE = "value"
    ATTENTION_OUT = "attention_out"
    DOWN = "down"
    OTHER = "other"


_ATTENTION_KINDS = {"k_proj": Kind.KEY, "v_proj": Kind.VALUE, "o_proj": Kind.ATTENTION_OUT}
_FUSED_NAMES = frozenset({"q_proj", "k_proj", "v_proj"})
_LINEAR_FUSED = frozenset({"in_proj_qkv", "in_proj_qkvz", "qkv_proj"})
_FEED_FORWARD = (Component.MLP, Component.ROUTED_EXPERTS, Component.SHARED_EXPERTS)


def kind_of(matrix: Matrix, model_type: str) -> Kind:
    """The kind of a matrix, by its name below the layer."""
    name = matrix.name.rsplit(".", 1)[-1]
    if matrix.component in _FEED_FORWARD:
        return Kind.DOWN if name == "down_proj" else Kind.OTHER
    if matrix.component not in (Component.ATTENTION, Component.STATE) or "indexer" in matrix.name:
        return Kind.OTHER
    if name in _LINEAR_FUSED or (name in _FUSED_NAMES and model_type in _FUSED_FAMILIES):
        return Kind.VALUE
    return _ATTENTION_KINDS.get(name, Kind.OTHER)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What the rules ask of a model; `large`: llama.cpp's 70B kind."""

    layers: int
    values: int
    experts: int
    grouped: bool
    large: bool
    falcon: bool

    @property
    def eight_experts(self) -> bool:
        """Exactly 8 experts: the rules made for Mixtral 8x7B."""
        return self.experts == _EIGHT


def model_facts(architecture: Architecture) -> ModelFacts:
    """The facts of a model; the sharing of keys as its first attention layer has it."""
    groups = architecture.layer_groups
    layers = sum(group.layers for group in groups)
    first = next((group.attention for group in groups if group.attention is not None), None)
    sharing = 0 if first is None else first.query_heads // max(first.kv_heads, 1)
    model_type = architecture.model_type
    return ModelFacts(
        layers=layers,
        values=sum(group.layers * tensors_of(group, model_type).count(Kind.VALUE) for group in groups),
        experts=max((group.feed_forward.experts for group in groups if group.feed_forward is not None), default=0),
        grouped=sharing >= _MANY,
        large=layers == _LARGE_LAYERS and sharing > 1 and model_type in _LARGE_FAMILIES,
        falcon=model_type == _FALCON,
    )


def tensors_of(group: LayerGroup, model_type: str) -> tuple[Kind, ...]:
    """The kinds of the tensors of one layer; the parts of a fused q-k-v matrix are one tensor."""
    kinds = [kind_of(matrix, model_type) for matrix in group.matrices]
    if Kind.VALUE in kinds and model_type in _FUSED_FAMILIES:
        kinds = [Kind.VALUE, *(kind for kind in kinds if kind is not Kind.VALUE)]
    return tuple(kinds)


def holds(when: When, place: int, of: int, facts: ModelFacts) -> bool:
    """Whether a rule holds for a tensor at a place, from 0, among `of`."""
    if when is When.GROUPED:
        return facts.grouped
    if when is When.GROUPED_OR_EXPERTS:
        return facts.grouped or facts.experts >= _MANY
    if when is When.EIGHT_EXPERTS_SPREAD:
        return facts.eight_experts and holds(When.SPREAD, place, of, facts)
    if when is When.SPREAD:
        start, end = of // 8, 7 * of // 8
        return place < start or place >= end or (place - start) % 3 == 2
    first = {When.FIRST_TWO: 2, When.FIRST_FOUR: 4, When.FIRST_EIGHTH: of // 8, When.FIRST_SIXTEENTH: of // 16}
    return when is When.ALWAYS or place < first[when]


def _first(rules: Rules, place: int, of: int, facts: ModelFacts, otherwise: str) -> str:
    return next((named for when, named in rules if holds(when, place, of, facts)), otherwise)


def meant_type(mix: GgufMix, kind: Kind, place: int, facts: ModelFacts) -> str:
    """The type a mix means for a kind of matrix at a place, before its rows are looked at."""
    if kind is Kind.KEY and facts.eight_experts:
        return mix.eight_key_value
    if kind is Kind.VALUE:
        if facts.eight_experts:
            return mix.eight_key_value
        found = _first(mix.value, place, facts.values, facts, mix.main)
        return "Q5_K" if facts.large and not mix.low_bit and found in ("Q3_K", "Q4_K") else found
    if kind is Kind.ATTENTION_OUT:
        if facts.falcon and not mix.low_bit:
            return _first(mix.falcon_attention_out, place, facts.layers, facts, mix.main)
        if facts.eight_experts:
            return mix.eight_attention_out or mix.main
        return _first(mix.attention_out, place, facts.layers, facts, mix.main)
    if kind is Kind.DOWN:
        rules = mix.falcon_down if facts.falcon and mix.falcon_down is not None else mix.down
        return _first(rules, place, facts.layers, facts, mix.main)
    return mix.main


def layer_types(
    mix: GgufMix, facts: ModelFacts, layers: Iterable[tuple[Kind, ...]]
) -> tuple[tuple[tuple[Kind, str], ...], ...]:
    """For each layer, first layer first, the type meant for each kind.

    Values are counted as they come, and so are down-projections, but beside experts these go by the layer's number.
    A low-bit mix counts down-projections one by one everywhere; of two in one layer the first tells for both.
    """
    by_layer = facts.experts > 1 and not mix.low_bit
    met = dict.fromkeys(Kind, 0)
    found = []
    for number, kinds in enumerate(layers):
        places = met | ({Kind.DOWN: number} if by_layer else {})
        found.append(tuple((kind, meant_type(mix, kind, places[kind], facts)) for kind in Kind))
        for kind in kinds:
            met[kind] += 1
    return tuple(found)


def head_type(mix: GgufMix, facts: ModelFacts, columns: int) -> str:
    """The type of the output matrix, and of a token table that is that matrix too."""
    narrow = facts.falcon or columns % block_elements(mix.main)
    return stored_type("Q8_0" if narrow else mix.head, columns)


def table_type(mix: GgufMix, columns: int) -> str:
    """The type of a token table beside a head of its own."""
    return stored_type(mix.table or mix.main, columns)
