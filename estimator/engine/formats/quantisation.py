"""Stored size of weights by format: bits of an element and the scales, zeros and indices that come with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from estimator.engine.errors import InvalidInputError
from estimator.engine.formats.checkpoint_codings import checkpoint_coding
from estimator.engine.formats.weight_coding import WeightCoding

BLOCK = 128


def _grouped(bits: int, group: int, scale: int, zero: int = 0) -> Fraction:
    return bits + Fraction(scale + zero, group)


_FLOAT = "IEEE and bfloat16 element width"
_GGML = "ggml block layouts (gguf.constants.GGML_QUANT_SIZES)"
_LLAMA_CPP = "llama.cpp README, Llama-3.1-8B, bits per weight of the whole file"
_NF4 = "bitsandbytes: fp32 absmax for 64 weights; double quantisation 4.127"


def _plain(bits: int) -> WeightCoding:
    return WeightCoding(element_bits=Fraction(bits), evidence=_FLOAT)


def _ggml(text: str) -> WeightCoding:
    return WeightCoding(element_bits=Fraction(text), evidence=_GGML)


def _mix(text: str, nominal: int) -> WeightCoding:
    return WeightCoding(
        element_bits=Fraction(text), nominal_bits=Fraction(nominal), whole_model=True, evidence=_LLAMA_CPP
    )


WEIGHT_CODINGS: Mapping[str, WeightCoding] = {
    "fp32": _plain(32),
    "fp16": _plain(16),
    "bf16": _plain(16),
    "native": _plain(16),
    "fp8": WeightCoding(element_bits=Fraction(8), tensor_bits=32, evidence="one fp32 scale for a tensor"),
    "fp8_channel": WeightCoding(element_bits=Fraction(8), row_bits=16, evidence="compressed-tensors: bf16 per channel"),
    "fp8_block": WeightCoding(
        element_bits=Fraction(8), block_bits=32, evidence="DeepSeek V3 files: fp32 scale_inv for 128 × 128, rounded up"
    ),
    "fp8_block_ue8m0": WeightCoding(
        element_bits=Fraction(8), block_bits=32, evidence="DeepSeek V3.1 and later: the scale is stored in fp32 too"
    ),
    "int8": WeightCoding(element_bits=Fraction(8), row_bits=16, evidence="W8A8 compressed-tensors: bf16 per channel"),
    "int8_bnb": WeightCoding(element_bits=Fraction(8), row_bits=32, evidence="bitsandbytes LLM.int8: fp32 per row"),
    "int4": WeightCoding(
        element_bits=_grouped(4, 128, 16, 4), nominal_bits=Fraction(4), evidence="AWQ g128: 16-bit scale, 4-bit zero"
    ),
    "gptq": WeightCoding(
        element_bits=_grouped(4, 128, 16, 4),
        column_bits=32,
        nominal_bits=Fraction(4),
        evidence="GPTQ g128: AWQ + g_idx",
    ),
    "gptq_int8": WeightCoding(
        element_bits=_grouped(8, 128, 16, 8), column_bits=32, nominal_bits=Fraction(8), evidence="GPTQ int8 g128"
    ),
    "mxfp4": WeightCoding(
        element_bits=_grouped(4, 32, 8), nominal_bits=Fraction(4), evidence="OCP MX: one E8M0 scale for 32"
    ),
    "mxfp8": WeightCoding(
        element_bits=_grouped(8, 32, 8), nominal_bits=Fraction(8), evidence="OCP MX: one E8M0 scale for 32"
    ),
    "nvfp4": WeightCoding(
        element_bits=_grouped(4, 16, 8),
        tensor_bits=64,
        nominal_bits=Fraction(4),
        evidence="NVIDIA ModelOpt: fp8 scale for 16, fp32 scales of weight and input for a tensor",
    ),
    "bitnet": WeightCoding(
        element_bits=Fraction(2), tensor_bits=32, evidence="BitNet b1.58 files: four ternary weights a byte, one scale"
    ),
    "nf4": WeightCoding(element_bits=_grouped(4, 64, 32), nominal_bits=Fraction(4), evidence=_NF4),
    "nf4_double": WeightCoding(element_bits=Fraction("4.127"), nominal_bits=Fraction(4), evidence=_NF4),
    "q4_0": _ggml("4.5"),
    "q4_1": _ggml("5"),
    "q5_0": _ggml("5.5"),
    "q5_1": _ggml("6"),
    "q2_k": _mix("3.16", 2),
    "q3_k_s": _mix("3.64", 3),
    "q3_k_m": _mix("3.91", 3),
    "q3_k_l": _mix("4.30", 3),
    "q4_k_s": _mix("4.67", 4),
    "q4_k_m": _mix("4.89", 4),
    "q5_k_s": _mix("5.57", 5),
    "q5_k_m": _mix("5.70", 5),
    "q6_k": _mix("6.56", 6),
    "q8_0": _mix("8.50", 8),
    "iq4_xs": _mix("4.46", 4),
    "iq3_m": _mix("3.76", 3),
    "iq2_m": _mix("2.93", 2),
    "iq1_s": _mix("2.00", 1),
}

# File types of llama.cpp.
GGUF_FORMATS = frozenset(name for name, coding in WEIGHT_CODINGS.items() if coding.evidence in (_GGML, _LLAMA_CPP))


def weight_coding(weight_format: str) -> WeightCoding:
    """The coding of a format by name.

    Raises:
        InvalidInputError: the format is not known.
    """
    found = WEIGHT_CODINGS.get(weight_format) or checkpoint_coding(weight_format)
    if found is None:
        known = ", ".join(WEIGHT_CODINGS)
        raise InvalidInputError(f"weights must be one of {known}, not {weight_format!r}", field="precision.weights")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixTotals:
    """Sums over matrices of one kind, all that a coding needs: elements, rows, columns, 128 × 128 blocks, tensors."""

    elements: int = 0
    rows: int = 0
    columns: int = 0
    blocks: int = 0
    tensors: int = 0

    def plus(self, rows: int, columns: int, copies: int) -> "MatrixTotals":
        """These totals with `copies` matrices of rows × columns more."""
        return MatrixTotals(
            elements=self.elements + rows * columns * copies,
            rows=self.rows + rows * copies,
            columns=self.columns + columns * copies,
            blocks=self.blocks + -(-rows // BLOCK) * -(-columns // BLOCK) * copies,
            tensors=self.tensors + copies,
        )


def stored_bits(totals: MatrixTotals, coding: WeightCoding) -> Fraction:
    """Bits that the matrices take in a coding, exact."""
    return (
        coding.element_bits * totals.elements
        + coding.row_bits * totals.rows
        + coding.column_bits * totals.columns
        + coding.block_bits * totals.blocks
        + coding.tensor_bits * totals.tensors
    )


def matrix_bytes(rows: int, columns: int, weight_format: str, copies: int = 1) -> Fraction:
    """Bytes of `copies` matrices of rows × columns in a format, scales and zeros included, exact."""
    return stored_bits(MatrixTotals().plus(rows, columns, copies), weight_coding(weight_format)) / 8
