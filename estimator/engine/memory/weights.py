"""Weight bytes of each rank: an architecture folded once, then priced by format, split and pipeline stage."""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

from estimator.engine.formats.gguf_mixes import GGUF_MIXES
from estimator.engine.formats.quantisation import MatrixTotals, stored_bits, weight_coding
from estimator.engine.memory.stages import stage_span
from estimator.engine.memory.weight_parts import (
    SIXTEEN_BITS,
    FoldedArchitecture,
    MxfpPadding,
    file_bits,
    part_bits,
    same_family,
    share_of,
    table_element_bytes,
)
from estimator.engine.model.parameters import group_copies
from estimator.engine.model.spec import Architecture, Component, Split
from estimator.engine.specs import Parallelism, Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWeights:
    """Weight bytes of one pipeline stage on one rank: layers of each group held, and bytes by what they are.

    `host_` bytes lie in host memory, beside the others.
    """

    stage: int
    layers: tuple[int, ...]
    layer_bytes: float
    embedding_bytes: float
    head_bytes: float
    other_bytes: float
    host_expert_bytes: float = 0.0
    host_embedding_bytes: float = 0.0
    host_table_bytes: float = 0.0

    @property
    def total_bytes(self) -> float:
        """All weights of the rank on its GPU."""
        return self.layer_bytes + self.embedding_bytes + self.head_bytes + self.other_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where an engine puts parts of a model.

    `host_embedding`: the input embedding stays in host memory; a tied head is a copy of its own on the GPU.
    `head_is_layer`: stages are equal parts of the layers and the head together, so that the last holds fewer layers.
    `host_tables`: tables of n-grams stay in host memory, rows are looked up there.
    `host_expert_layers`: the routed experts of the first layers of the model, dense ones counted, stay in host memory.
    """

    host_embedding: bool = False
    head_is_layer: bool = False
    host_expert_layers: int = 0
    host_tables: bool = False


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
    if placement and placement.host_expert_layers:
        kept = slice(span.start, max(min(span.stop, placement.host_expert_layers), span.start))
        built = _without_experts(built, _expert_bytes(folded, precision, parallelism, kept))
    if placement and placement.host_tables and stage == 0:
        on_host = _gram_bytes(folded, precision, parallelism)
        built = replace(built, other_bytes=built.other_bytes - on_host, host_table_bytes=on_host)
    if placement and placement.host_embedding:
        built = _without_embedding(folded, parallelism, built)
    folded.kept[key] = built
    return built


def _without_embedding(folded: FoldedArchitecture, parallelism: Parallelism, held: RankWeights) -> RankWeights:
    """The rank's weights when the input embedding is read in host memory; a tied head is a copy on the GPU."""
    on_host = held.embedding_bytes if held.stage == 0 else 0.0
    copied = folded.architecture.tied_embeddings and held.stage == parallelism.pp - 1
    left = held.embedding_bytes if copied else 0.0
    return replace(held, embedding_bytes=left, host_embedding_bytes=on_host)


def _without_experts(held: RankWeights, on_host: float) -> RankWeights:
    return replace(held, layer_bytes=held.layer_bytes - on_host, host_expert_bytes=on_host)


def _gram_bytes(folded: FoldedArchitecture, precision: Precision, parallelism: Parallelism) -> float:
    """Bytes of the tables of n-grams on one rank."""
    architecture = folded.architecture
    if not architecture.split_lookup_parameters or _totals_only(folded):
        return 0.0
    spread = Fraction(architecture.split_lookup_parameters, architecture.lookup_parameters)
    if precision.weights in GGUF_MIXES:
        whole = file_bits(folded, precision).lookup * spread / 8
    else:
        whole = architecture.split_lookup_parameters * table_element_bytes(architecture, precision)
    return float(whole / parallelism.tp)


def _expert_bytes(folded: FoldedArchitecture, precision: Precision, parallelism: Parallelism, layers: slice) -> float:
    """Bytes of the routed experts of some layers on one rank, as the file or the format holds them.

    Source: llama.cpp common/arg.cpp, --n-cpu-moe (tensors ffn_(up|down|gate|gate_up)_exps of the first layers).
    """
    total = Fraction(0)
    in_file = precision.weights in GGUF_MIXES and not _totals_only(folded)
    kinds = file_bits(folded, precision) if in_file else None
    for place in range(layers.start, layers.stop):
        index = folded.order[place]
        group = folded.groups[index]
        if kinds is not None:
            bits = kinds.kinds[kinds.layers[place]].get(Split.EXPERTS, Fraction(0))
            bits *= share_of(Split.EXPERTS, group, parallelism)
        else:
            routed = (part for part in group.parts if part.component is Component.ROUTED_EXPERTS)
            bits = sum(
                (part_bits(folded, group, part, precision, None) * share_of(part.split, group, parallelism)
                 for part in routed),
                Fraction(0),
            )  # fmt: skip
        total += bits * Fraction(group.copies, group.layers)
    return float(total / 8)


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
    bits = file_bits(folded, precision)
    total = Fraction(0)
    for (index, number), held in Counter(zip(folded.order[span], bits.layers[span], strict=True)).items():
        group = folded.groups[index]
        kind = bits.kinds[number].items()
        layer = sum((one * share_of(split, group, parallelism) for split, one in kind), Fraction(0))
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
            bits += part_bits(folded, group, part, precision, padding) * share_of(part.split, group, parallelism)
        total += bits * held / 8
    first, last = stage == 0, stage == pp - 1
    sixteen = Fraction(4 if precision.weights == "fp32" else 2)
    tied = architecture.tied_embeddings
    embedding = architecture.embedding_parameters * sixteen / tp if first or (last and tied) else Fraction(0)
    head = _head_bytes(architecture, precision, sixteen) / tp if last else Fraction(0)
    other = Fraction(0)
    if first:
        other += (
            architecture.lookup_parameters
            * table_element_bytes(architecture, precision)
            * _lookup_share(architecture, tp)
        )
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
