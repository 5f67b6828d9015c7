"""An architecture folded for pricing its weights: matrices by component and split, bits in a format, and shares."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from estimator.engine.formats.checkpoint_codings import coding_family
from estimator.engine.formats.gguf_sizes import GgufBits, gguf_bits
from estimator.engine.formats.quantisation import MatrixTotals, stored_bits, weight_coding
from estimator.engine.model.parameters import group_copies, layer_parameters, parameter_totals
from estimator.engine.model.spec import Architecture, Component, LayerGroup, Split
from estimator.engine.specs import Parallelism, Precision

SIXTEEN_BITS = Fraction(16)
# Which field of a precision names the format of a component.
_ATTENTION = (Component.ATTENTION, Component.STATE)


@dataclass(frozen=True, slots=True)
class Part:
    """Matrices of one component and split in one layer of a group; `stored` when the config names their formats."""

    component: Component
    split: Split
    quantisable: bool
    totals: MatrixTotals
    stored: Mapping[str, MatrixTotals]


@dataclass(frozen=True, slots=True)
class FoldedGroup:
    """Layers of one kind: their matrices by component and split, and what is no matrix."""

    layers: int
    copies: int
    kv_heads: int
    parts: tuple[Part, ...]
    loose_elements: int


@dataclass(slots=True, eq=False)
class FoldedArchitecture:
    """An architecture ready for pricing; compared by identity, so that results can be kept beside it."""

    architecture: Architecture
    groups: tuple[FoldedGroup, ...]
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


def _fold_group(architecture: Architecture, index: int, group: LayerGroup) -> FoldedGroup:
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
    return FoldedGroup(
        layers=group.layers,
        copies=group_copies(group),
        kv_heads=group.attention.kv_heads if group.attention is not None else 0,
        parts=tuple(Part(*key, totals, stored.get(key, {})) for key, totals in sums.items()),
        loose_elements=layer_parameters(group) - elements,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MxfpPadding:
    """Multiples that engines round inputs of mxfp4 expert matrices, and besides the hidden width, up to (0: none)."""

    columns: int = 0
    hidden: int = 0


def file_bits(folded: FoldedArchitecture, precision: Precision) -> GgufBits:
    """Bits of the model in the mix, kept with the model: they depend on the formats alone."""
    key = ("gguf", precision.weights, precision.expert_weights, precision.attention_weights)
    kept = folded.kept.get(key)
    if isinstance(kept, GgufBits):
        return kept
    built = gguf_bits(folded.architecture, precision.weights, lambda component: component_format(precision, component))
    folded.kept[key] = built
    return built


def share_of(split: Split, group: FoldedGroup, parallelism: Parallelism) -> Fraction:
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


def part_bits(
    folded: FoldedArchitecture, group: FoldedGroup, part: Part, precision: Precision, padding: MxfpPadding | None
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


def _padded(bits: Fraction, name: str, part: Part, totals: MatrixTotals, padding: MxfpPadding | None) -> Fraction:
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


_NARROW_TABLES = ("qwen4",)


def table_element_bytes(architecture: Architecture, precision: Precision) -> Fraction:
    """Bytes of an element of the tables read by row: 16 bits; those of n-grams 8 where the weights are narrower.

    Source: the FP8 and NVFP4 checkpoints of Qwen3.8-Flash-Next hold 47.7 GiB of n-grams (vLLM pull request 53896,
    SGLang pull request 39928, 2026-09).
    """
    if precision.weights == "fp32":
        return Fraction(4)
    coding = weight_coding(precision.weights)
    narrow = architecture.model_type.startswith(_NARROW_TABLES) and coding.element_bits < SIXTEEN_BITS
    return Fraction(1) if narrow else Fraction(2)
