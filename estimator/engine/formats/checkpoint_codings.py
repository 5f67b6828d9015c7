"""Codings that only checkpoints have: integers of any width and group, average bits, codebooks, named by their numbers.

`int3_g64` has a 16-bit scale and a zero of 3 bits for 64 weights, `int3_g64_symmetric` no zero, `int3_channel` one
scale a row, `gptq_…` the order of the inputs beside it (32 bits each), `bpw_2.55` an average that holds all of it,
`aqlm_1x16_g8x1` one codebook of 2¹⁶ vectors of 8 × 1.
"""

import re
from fractions import Fraction
from functools import lru_cache

from estimator.engine.formats.weight_coding import WeightCoding

INTEGER_BITS = range(2, 9)
MOST_GROUP = 65_536
_INTEGER = re.compile(r"^(gptq_)?int([2-8])_(?:g(\d{1,5})(_symmetric)?|(channel))$")
_AVERAGE = re.compile(r"^bpw_(\d{1,2}(?:\.\d{1,6})?)$")
_CODEBOOKS = re.compile(r"^aqlm_(\d{1,2})x(\d{1,2})_g(\d{1,2})x(\d{1,2})$")
_FP16 = 16
# Names from before there was a rule for all of them.
_SHORT = {"int4_g128": "int4", "gptq_int4_g128": "gptq", "gptq_int8_g128": "gptq_int8"}


def integer_format(bits: object, group: object, *, symmetric: bool = False, indexed: bool = False) -> str | None:
    """The name of an integer coding; None for widths without one.

    Args:
        bits: width of a weight, 2 to 8.
        group: weights that share a scale; -1, 0 and None mean one scale a row.
        symmetric: no zero points are stored.
        indexed: the order of the inputs is stored (GPTQ's g_idx).
    """
    if type(bits) is not int or bits not in INTEGER_BITS:
        return None
    prefix = "gptq_" if indexed else ""
    if group in (None, 0, -1) or isinstance(group, bool):
        return f"{prefix}int{bits}_channel"
    if type(group) is not int or not 1 < group <= MOST_GROUP:
        return None
    name = f"{prefix}int{bits}_g{group}" + ("_symmetric" if symmetric else "")
    return _SHORT.get(name, name)


def average_format(bits: object) -> str | None:
    """The name of an average number of bits a weight, scales and all; None for what is no such number."""
    if isinstance(bits, bool) or not isinstance(bits, int | float) or not 0.5 <= bits <= 16:
        return None
    return f"bpw_{round(float(bits), 6):g}"


@lru_cache(maxsize=256)
def checkpoint_coding(name: str) -> WeightCoding | None:
    """The coding that a name of this module stands for, None for other names."""
    if found := _INTEGER.match(name):
        bits = int(found[2])
        columns = 32 if found[1] else 0
        evidence = "packed integers with 16-bit scales; GPTQ also 32 bits for each input"
        if found[5]:
            return WeightCoding(
                element_bits=Fraction(bits), row_bits=_FP16, column_bits=columns, nominal_bits=Fraction(bits),
                evidence=evidence,
            )  # fmt: skip
        group = int(found[3])
        if not 1 < group <= MOST_GROUP:
            return None
        shared = Fraction(_FP16 + (0 if found[4] else bits), group)
        return WeightCoding(
            element_bits=bits + shared, column_bits=columns, nominal_bits=Fraction(bits), evidence=evidence
        )
    if found := _AVERAGE.match(name):
        return WeightCoding(element_bits=Fraction(found[1]), evidence="the average that the config states")
    if found := _CODEBOOKS.match(name):
        count, width, inputs, outputs = (int(part) for part in found.groups())
        if not (count and 0 < width <= 16 and inputs and outputs):
            return None
        return WeightCoding(
            element_bits=Fraction(count * width, inputs * outputs),
            row_bits=_FP16 // outputs,
            tensor_bits=count * 2**width * inputs * outputs * _FP16,
            evidence="AQLM: codes, codebooks in fp16, one scale for each group of outputs",
        )
    return None


def coding_family(name: str) -> str:
    """The format by which requests and kernels know a coding: narrow integers run as int4 does."""
    if found := _INTEGER.match(name):
        return "int8" if found[2] == "8" else "int4"
    if found := _AVERAGE.match(name):
        return "int8" if float(found[1]) > 6 else "int4"
    return "int4" if _CODEBOOKS.match(name) else _FAMILIES.get(name, name)


_FAMILIES = {
    "fp8_block": "fp8",
    "fp8_block_ue8m0": "fp8",
    "fp8_channel": "fp8",
    "mxfp8": "fp8",
    "gptq": "int4",
    "bitnet": "int4",
    "gptq_int8": "int8",
    "int8_bnb": "int8",
    "nf4_double": "nf4",
}
