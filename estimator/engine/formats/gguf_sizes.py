"""Bits that a model takes in a GGUF file of a mix: layer by layer and by split, and its tables and head."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from estimator.engine.formats.checkpoint_codings import coding_family
from estimator.engine.formats.gguf_mixes import GGML_TENSOR_BITS, GGUF_MIXES, GgufMix, stored_type
from estimator.engine.formats.gguf_tensors import (
    Kind,
    head_type,
    kind_of,
    layer_types,
    model_facts,
    table_type,
    tensors_of,
)
from estimator.engine.formats.quantisation import MatrixTotals, stored_bits, weight_coding
from estimator.engine.model.parameters import layer_parameters
from estimator.engine.model.spec import Architecture, Component, LayerGroup, Matrix, Split

# Norms, biases, routers, convolutions and position tables.
_UNQUANTISED = GGML_TENSOR_BITS["F32"]
# Families whose lookup tables are per-layer embeddings, which count as token tables; their rows are whole blocks.
_PER_LAYER_TABLES = ("gemma3n", "gemma4")
_PER_LAYER_COLUMNS = 256
# Matrices that the file keeps as the checkpoint has them (gpt-oss: every published mix holds its experts so).
_KEPT = "mxfp4"

Types = tuple[tuple[Kind, str], ...]
SplitBits = Mapping[Split, Fraction]


@dataclass(frozen=True, slots=True)
class GgufBits:
    """Bits of one copy of a model: `kinds` of layers by how ranks split them; `layers` names each layer's kind."""

    kinds: tuple[SplitBits, ...]
    layers: tuple[int, ...]
    embedding: Fraction
    head: Fraction
    lookup: Fraction
    final_norm: Fraction


def gguf_bits(architecture: Architecture, weights: str, format_of: Callable[[Component], str]) -> GgufBits:
    """Bits of a model in a GGUF mix.

    Every matrix takes the type that the mix means for its kind and place, or the next one whose blocks fit its rows;
    what the quantiser leaves alone stays in 32 bits. A component may ask for another mix, or for another format.

    Args:
        architecture: a model whose matrices are known.
        weights: a name of `GGUF_MIXES`, for what no component claims.
        format_of: the format asked for by component.

    Returns:
        Exact bits; the checks against published files: tests/engine/memory/test_gguf_files.py.
    """
    facts = model_facts(architecture)
    order = architecture.layer_order or tuple(
        index for index, group in enumerate(architecture.layer_groups) for _ in range(group.layers)
    )
    kinds = [tensors_of(group, architecture.model_type) for group in architecture.layer_groups]
    formats = {component: format_of(component) for component in Component}
    planned = {
        name: layer_types(GGUF_MIXES[name], facts, (kinds[index] for index in order))
        for name in {weights, *formats.values()}
        if name in GGUF_MIXES
    }
    found: dict[object, int] = {}
    priced: list[SplitBits] = []
    layers: list[int] = []
    for number, index in enumerate(order):
        types = {name: planned[name][number] for name in planned}
        key = (index, *types.values())
        if key not in found:
            found[key] = len(priced)
            priced.append(_layer_bits(architecture, index, formats, types))
        layers.append(found[key])
    mix = GGUF_MIXES[weights]
    columns = architecture.hidden_size
    head = GGML_TENSOR_BITS[head_type(mix, facts, columns)]
    tied = architecture.tied_embeddings
    return GgufBits(
        kinds=tuple(priced),
        layers=tuple(layers),
        embedding=architecture.embedding_parameters * (head if tied else GGML_TENSOR_BITS[table_type(mix, columns)]),
        head=architecture.lm_head_parameters * head,
        lookup=architecture.lookup_parameters * _lookup_bits(architecture, mix, head if tied else None),
        final_norm=architecture.final_norm_parameters * _UNQUANTISED,
    )


def _lookup_bits(architecture: Architecture, mix: GgufMix, tied_head: Fraction | None) -> Fraction:
    """Bits of an element of the lookup tables: per-layer embeddings as the token table, positions in 32 bits."""
    if architecture.lookup_columns:
        return GGML_TENSOR_BITS[table_type(mix, architecture.lookup_columns)]
    if not architecture.model_type.startswith(_PER_LAYER_TABLES):
        return _UNQUANTISED
    return GGML_TENSOR_BITS[table_type(mix, _PER_LAYER_COLUMNS)] if tied_head is None else tied_head


def _layer_bits(
    architecture: Architecture, index: int, formats: Mapping[Component, str], types: Mapping[str, Types]
) -> SplitBits:
    """Bits of one layer of a group by split; norms and biases are whole on every rank."""
    group = architecture.layer_groups[index]
    named = {name: dict(one) for name, one in types.items()}
    sums: dict[Split, Fraction] = {}
    loose = layer_parameters(group)
    for position, matrix in enumerate(group.matrices):
        elements = matrix.rows * matrix.columns * matrix.copies
        loose -= elements
        asked = formats[matrix.component]
        if not matrix.quantisable:
            bits = elements * _UNQUANTISED
        elif asked not in named:
            totals = MatrixTotals().plus(matrix.rows, matrix.columns, matrix.copies)
            bits = stored_bits(totals, weight_coding(asked))
        elif _is_kept(architecture, index, position):
            bits = elements * GGML_TENSOR_BITS["MXFP4"]
        else:
            bits = _matrix_bits(matrix, group, named[asked][kind_of(matrix, architecture.model_type)])
        sums[matrix.split] = sums.get(matrix.split, Fraction(0)) + bits
    sums[Split.REPLICATED] = sums.get(Split.REPLICATED, Fraction(0)) + loose * _UNQUANTISED
    return sums


def _is_kept(architecture: Architecture, index: int, position: int) -> bool:
    """Whether the checkpoint holds a matrix in the format that files keep."""
    quantization = architecture.quantization
    if quantization is None:
        return False
    return all(coding_family(one.weight_format) == _KEPT for one in quantization.matrices[index][position])


def _matrix_bits(matrix: Matrix, group: LayerGroup, meant: str) -> Fraction:
    """Bits of a matrix in the type meant for it.

    The up-projection of latent attention is two tensors in a file, and that of the keys is stored with its short side
    (the part of a head without positions) as its rows.
    """
    elements, attention = matrix.rows * matrix.columns * matrix.copies, group.attention
    whole = GGML_TENSOR_BITS[stored_type(meant, matrix.columns)]
    if attention is None or not attention.latent_nope_dim or not matrix.name.endswith("kv_b_proj"):
        return elements * whole
    nope = attention.latent_nope_dim
    keys = elements * Fraction(nope, nope + attention.head_dim_v)
    return keys * GGML_TENSOR_BITS[stored_type(meant, nope)] + (elements - keys) * whole
