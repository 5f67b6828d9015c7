"""Weight bytes of each rank: an architecture folded once, then priced by format, split and pipeline stage."""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from estimator.engine.formats.checkpoint_codings import coding_family
from estimator.engine.formats.gguf_mixes import GGUF_MIXES
from estimator.engine.formats.gguf_sizes import GgufBits, gguf_bits
from estimator.engine.formats.quantisation import MatrixTotals, stored_bits, weight_coding
from estimator.engine.memory.stages import stage_span
from estimator.engine.model.parameters import group_copies, layer_parameters, parameter_totals
from estimator.engine.model.spec import Architecture, Component, LayerGroup, Split
from estimator.engine.specs import Parallelism, Precision

SIXTEEN_BITS = Fraction(16)
# Which field of a precision names the format of a component.
_ATTENTION = (Component.ATTENTION, Component.STATE)


@dataclass(frozen=True, slots=True)
class _Part:
    """Matrices of one component and split in one layer of a group; `stored` when the config names their formats."""

    component: Component
    split: Split
    quantisable: bool
    totals: MatrixTotals
    stored: Mapping[str, MatrixTotals]


@dataclass(frozen=True, slots=True)
class _FoldedGroup:
    layers: int
    copies: int
    kv_heads: int
    parts: tuple[_Part, ...]
    loose_elements: int


@dataclass(slots=True, eq=False)
class FoldedArchitecture:
    """An architecture ready for pricing; compared by identity, so that results can be kept beside it."""

    architecture: Architecture
    groups: tuple[_FoldedGroup, ...]
    order: tuple[int, ...]
    total_parameters: int
    kept: dict[object, object] = field(default_factory=dict)


_FOLDED: OrderedDict[int, FoldedArchitecture] = OrderedDict()
_MOST_FOLDED = 512


def fold(architecture: Architecture) -> FoldedArchitecture:
    """The folded form of an architecture, kept for the objects seen last."""
    found = _FOLDED.get(id(architecture))
    if found is not None and found.architecture is architecture:
        return found
    folded = FoldedArchitecture(
        architecture=architecture,
        groups=tuple(_fold_group(architecture, index, group) for index, group in enumerate(architecture.layer_groups)),
        order=architecture.layer_order
        or tuple(index for index, group in enumerate(architecture.layer_groups) for _ in range(group.layers)),
        total_parameters=parameter_totals(architecture).total,
    )
    _FOLDED[id(architecture)] = folded
    while len(_FOLDED) > _MOST_FOLDED:
        _FOLDED.popitem(last=False)
    return folded


def _fold_group(architecture: Architecture, index: int, group: LayerGroup) -> _FoldedGroup:
    """Sum the matrices of one layer by component, split and whether they may be quantised."""
    sums: dict[tuple[Component, Split, bool], MatrixTotals] = {}
    stored: dict[tuple[Component, Split, bool], dict[str, MatrixTotals]] = {}
    elements = 0
    quantization = architecture.quantization
    for position, matrix in enumerate(group.matrices):
        key = (matrix.component, matrix.split, matrix.quantisable)
        sums[key] = sums.get(key, MatrixTotals()).plus(matrix.rows, matrix.columns, matrix.copies)
        elements += matrix.rows * matrix.columns * matrix.copies
        if quantization is not None:
            formats = stored.setdefault(key, {})
            for name, layers in quantization.matrices[index][position]:
                copies = matrix.copies * layers
                formats[name] = formats.get(name, MatrixTotals()).plus(matrix.rows, matrix.columns, copies)
    return _FoldedGroup(
        layers=group.layers,
        copies=group_copies(group),
        kv_heads=group.attention.kv_heads if group.attention is not None else 0,
        parts=tuple(_Part(*key, totals, stored.get(key, {})) for key, totals in sums.items()),
        loose_elements=layer_parameters(group) - elements,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWeights:
    """Weight bytes of one pipeline stage on one rank: layers of each group held, and bytes by what they are."""

    stage: int
    layers: tuple[int, ...]
    layer_bytes: float
    embedding_bytes: float
    head_bytes: float
    other_bytes: float

    @property
    def total_bytes(self) -> float:
        """All weights of the rank."""
        return self.layer_bytes + self.embedding_bytes + self.head_bytes + self.other_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MxfpPadding:
    """Multiples that engines round inputs of mxfp4 expert matrices, and besides the hidden width, up to (0: none)."""

    columns: int = 0
    hidden: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where an engine puts parts of a model.

    `host_embedding`: the input embedding stays in host memory; a tied head is a copy of its own on the GPU.
    `head_is_layer`: stages are equal parts of the layers and the head together, so that the last holds fewer layers.
    """

    host_embedding: bool = False
    head_is_layer: bool = False


def stage_layers(folded: FoldedArchitecture, pp: int, stage: int, *, head_is_layer: bool = False) -> tuple[int, ...]:
    """Layers of each group on one stage."""
    return _layers_in(folded, stage_span(len(folded.order), pp, stage, head_is_layer=head_is_layer))


def _layers_in(folded: FoldedArchitecture, span: slice) -> tuple[int, ...]:
    held = Counter(folded.order[span])
    return tuple(held[index] for index in range(len(folded.groups)))


def rank_weights(
    folded: FoldedArchitecture,
    precision: Precision,
    parallelism: Parallelism,
    *,
    stage: int = 0,
    nominal: bool = False,
    padding: MxfpPadding | None = None,
    placement: Placement | None = None,
) -> RankWeights:
    """Weight bytes of one rank of a pipeline stage.

    Matrices split over tp; KV projections by whole heads (at least one a rank); experts over max(ep, tp·dp) ranks;
    down-projections of latent attention, routers and norms are whole on every rank. Embedding, head, norms and biases
    stay in 16 bits. Where the config states a checkpoint of the same format, its own list of formats is followed.
    GGUF mixes store every tensor in the type that their rule gives it (`gguf_mixes`).

    Args:
        folded: the model.
        precision: formats by name.
        parallelism: degrees.
        stage: pipeline stage, from 0.
        nominal: count every parameter at the bare bits of the format (the source documents' way).
        padding: what the kernels for mxfp4 experts round up.
        placement: where an engine puts parts otherwise than equal stages with the embedding on the first.

    Returns:
        Bytes, exact up to the rounding of floats.
    """
    key = ("weights", precision, parallelism, stage, nominal, padding, placement)
    kept = folded.kept.get(key)
    if isinstance(kept, RankWeights):
        return kept
    head_is_layer = bool(placement and placement.head_is_layer)
    span = stage_span(len(folded.order), parallelism.pp, stage, head_is_layer=head_is_layer)
    layers = _layers_in(folded, span)
    if nominal or _totals_only(folded):
        built = _nominal(folded, precision, parallelism, stage, layers)
    elif precision.weights in GGUF_MIXES:
        built = _in_file(folded, precision, parallelism, stage, span)
    else:
        built = _priced(folded, precision, parallelism, stage, layers, padding)
    if placement and placement.host_embedding:
        built = _without_embedding(folded, parallelism, built)
    folded.kept[key] = built
    return built


def _without_embedding(folded: FoldedArchitecture, parallelism: Parallelism, held: RankWeights) -> RankWeights:
    """The rank's weights when the input embedding is read in host memory."""
    copied = folded.architecture.tied_embeddings and held.stage == parallelism.pp - 1
    return held if copied else replace(held, embedding_bytes=0.0)


def _totals_only(folded: FoldedArchitecture) -> bool:
    """Whether the model is known by its totals only: then every parameter takes the same bits."""
    return not any(group.parts for group in folded.groups)


def _nominal(
    folded: FoldedArchitecture, precision: Precision, parallelism: Parallelism, stage: int, layers: tuple[int, ...]
) -> RankWeights:
    """All parameters at one number of bits, split evenly over tp (experts over their ranks) and stages."""
    coding = weight_coding(precision.weights)
    bits = coding.element_bits if coding.whole_model else coding.plain_bits
    share = Fraction(1, parallelism.tp * parallelism.pp)
    routed = sum(group.parameters.routed_experts * group_copies(group) for group in folded.architecture.layer_groups)
    expert_bits = weight_coding(precision.expert_weights or precision.weights)
    expert = expert_bits.element_bits if expert_bits.whole_model else expert_bits.plain_bits
    ranks = parallelism.expert_ranks * parallelism.pp
    total = (folded.total_parameters - routed) * bits * share + routed * expert * Fraction(1, ranks)
    return RankWeights(
        stage=stage,
        layers=layers,
        layer_bytes=float(total / 8),
        embedding_bytes=0.0,
        head_bytes=0.0,
        other_bytes=0.0,
    )


def _in_file(
    folded: FoldedArchitecture, precision: Precision, parallelism: Parallelism, stage: int, span: slice
) -> RankWeights:
    """Bytes in a GGUF file, each layer of the stage by its own tensor types."""
    architecture, tp = folded.architecture, parallelism.tp
    bits = _file_bits(folded, precision)
    total = Fraction(0)
    for (index, number), held in Counter(zip(folded.order[span], bits.layers[span], strict=True)).items():
        group = folded.groups[index]
        layer = sum((one * _share(split, group, parallelism) for split, one in bits.kinds[number].items()), Fraction(0))
        total += layer * Fraction(held * group.copies, group.layers)
    first, last = stage == 0, stage == parallelism.pp - 1
    other = Fraction(0)
    if first:
        other += bits.lookup * _lookup_share(architecture, tp) + architecture.other_parameters * SIXTEEN_BITS
        other += architecture.vision_audio_parameters * SIXTEEN_BITS / tp
    if last:
        other += bits.final_norm
    has_table = first or (last and architecture.tied_embeddings)
    return RankWeights(
        stage=stage,
        layers=_layers_in(folded, span),
        layer_bytes=float(total / 8),
        embedding_bytes=float(bits.embedding / tp / 8) if has_table else 0.0,
        head_bytes=float(bits.head / tp / 8) if last else 0.0,
        other_bytes=float(other / 8),
    )


def _lookup_share(architecture: Architecture, tp: int) -> Fraction:
    """The share of the tables read by row that one of `tp` ranks holds: those of n-grams are spread, others whole."""
    if not architecture.split_lookup_parameters:
        return Fraction(1)
    spread = Fraction(architecture.split_lookup_parameters, architecture.lookup_parameters)
    return 1 - spread + spread / tp


def _file_bits(folded: FoldedArchitecture, precision: Precision) -> GgufBits:
    """Bits of the model in the mix, kept with the model: they depend on the formats alone."""
    key = ("gguf", precision.weights, precision.expert_weights, precision.attention_weights)
    kept = folded.kept.get(key)
    if isinstance(kept, GgufBits):
        return kept
    built = gguf_bits(folded.architecture, precision.weights, lambda component: component_format(precision, component))
    folded.kept[key] = built
    return built


def _priced(
    folded: FoldedArchitecture,
    precision: Precision,
    parallelism: Parallelism,
    stage: int,
    layers: tuple[int, ...],
    padding: MxfpPadding | None,
) -> RankWeights:
    """Bytes by matrix kind."""
    architecture = folded.architecture
    tp, pp = parallelism.tp, parallelism.pp
    total = Fraction(0)
    for index, group in enumerate(folded.groups):
        if not layers[index]:
            continue
        held = Fraction(layers[index] * group.copies, group.layers)
        bits = group.loose_elements * SIXTEEN_BITS
        for part in group.parts:
            bits += _part_bits(folded, group, part, precision, padding) * _share(part.split, group, parallelism)
        total += bits * held / 8
    first, last = stage == 0, stage == pp - 1
    sixteen = Fraction(4 if precision.weights == "fp32" else 2)
    tied = architecture.tied_embeddings
    embedding = architecture.embedding_parameters * sixteen / tp if first or (last and tied) else Fraction(0)
    head = _head_bytes(architecture, precision, sixteen) / tp if last else Fraction(0)
    other = Fraction(0)
    if first:
        other += architecture.lookup_parameters * sixteen * _lookup_share(architecture, tp)
        other += architecture.other_parameters * sixteen
        other += architecture.vision_audio_parameters * sixteen / tp
    if last:
        other += architecture.final_norm_parameters * sixteen
    if precision.weights == "fp32":
        total += sum(
            Fraction(group.loose_elements * layers[index] * group.copies, group.layers) * 2
            for index, group in enumerate(folded.groups)
        )
    return RankWeights(
        stage=stage,
        layers=layers,
        layer_bytes=float(total),
        embedding_bytes=float(embedding),
        head_bytes=float(head),
        other_bytes=float(other),
    )


def _head_bytes(architecture: Architecture, precision: Precision, sixteen: Fraction) -> Fraction:
    """Bytes of the whole head: 16 bits, or the format of the checkpoint's own head where that format is asked for."""
    quantization = architecture.quantization
    if (
        quantization is None
        or quantization.lm_head_format == "native"
        or not architecture.lm_head_parameters
        or not same_family(precision.weights, quantization.weight_format)
    ):
        return architecture.lm_head_parameters * sixteen
    head = MatrixTotals().plus(architecture.vocab_size, architecture.hidden_size, 1)
    rest = architecture.lm_head_parameters - head.elements
    return stored_bits(head, weight_coding(quantization.lm_head_format)) / 8 + rest * sixteen


def _share(split: Split, group: _FoldedGroup, parallelism: Parallelism) -> Fraction:
    """The part of a matrix that one rank holds."""
    tp = parallelism.tp
    if split is Split.REPLICATED:
        return Fraction(1)
    if split is Split.EXPERTS:
        return Fraction(1, parallelism.expert_ranks)
    if split is Split.KV_HEADS and group.kv_heads:
        return Fraction(-(-group.kv_heads // tp), group.kv_heads)
    return Fraction(1, tp)


def component_format(precision: Precision, component: Component) -> str:
    """The format that a precision names for a component."""
    if component is Component.ROUTED_EXPERTS:
        return precision.expert_weights or precision.weights
    if component in _ATTENTION:
        return precision.attention_weights or precision.weights
    return precision.weights


def _part_bits(
    folded: FoldedArchitecture, group: _FoldedGroup, part: _Part, precision: Precision, padding: MxfpPadding | None
) -> Fraction:
    """Bits of one part in one layer, by the requested format or the checkpoint's own formats."""
    name = component_format(precision, part.component)
    if not part.quantisable:
        return part.totals.elements * (Fraction(32) if name == "fp32" else SIXTEEN_BITS)
    quantization = folded.architecture.quantization
    if quantization is not None and part.stored and same_family(name, quantization.weight_format):
        bits = sum(
            (
                _padded(stored_bits(totals, weight_coding(stored)), stored, part, totals, padding)
                for stored, totals in part.stored.items()
            ),
            Fraction(0),
        )
        return bits / group.layers
    coding = weight_coding(name)
    return _padded(stored_bits(part.totals, coding), name, part, part.totals, padding)


def _padded(bits: Fraction, name: str, part: _Part, totals: MatrixTotals, padding: MxfpPadding | None) -> Fraction:
    """Bits with the padding that kernels for mxfp4 experts need: rows, and the hidden width, rounded up."""
    if padding is None or name != "mxfp4" or part.split is not Split.EXPERTS or not totals.tensors:
        return bits
    width = Fraction(totals.columns, totals.tensors)
    for multiple in (padding.columns, padding.hidden):
        if multiple:
            bits *= (-(-width // multiple) * multiple) / width
    return bits


def own_weight_format(architecture: Architecture) -> str | None:
    """The name of the format of a model's own files; None where its config states no quantisation."""
    quantization = architecture.quantization
    if quantization is None or quantization.weight_format == "native":
        return None
    return coding_family(quantization.weight_format)


def same_family(asked: str, stored: str) -> bool:
    """Whether a checkpoint's format is a kind of the format asked for (fp8_block is fp8)."""
    return coding_family(asked) == coding_family(stored)
