"""Which tensor types llama.cpp's quantiser puts into a GGUF file of a named mix: rules as data, one row a mix.

Source: ggml-org/llama.cpp src/llama-quant.cpp at commit 007dbbf (2026), read 2026-11-29; checked against the sizes of
published files (tests/engine/memory/test_gguf_files.py). Rules that need an importance matrix are those of a file made
without one. Mixes of other tools ("dynamic" UD files, files with hand-picked tensor types) are not these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

# Bits of an element in each tensor type, its scales included, and the elements of one block (ggml block layouts).
GGML_TENSOR_BITS: Mapping[str, Fraction] = {
    name: Fraction(text)
    for name, text in {
        "F32": "32", "F16": "16", "BF16": "16", "Q4_0": "4.5", "Q4_1": "5", "Q5_0": "5.5", "Q5_1": "6", "Q8_0": "8.5",
        "Q2_K": "2.625", "Q3_K": "3.4375", "Q4_K": "4.5", "Q5_K": "5.5", "Q6_K": "6.5625", "IQ2_XXS": "2.0625",
        "IQ2_XS": "2.3125", "IQ2_S": "2.5625", "IQ3_XXS": "3.0625", "IQ3_S": "3.4375", "IQ4_XS": "4.25",
        "IQ4_NL": "4.5", "IQ1_S": "1.5625", "IQ1_M": "1.75", "MXFP4": "4.25", "NVFP4": "4.5",
    }.items()
}  # fmt: skip
_SUPER_BLOCK = 256
_SMALL_BLOCK = 32
_SMALL_BLOCKS = frozenset({"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "MXFP4"})
_UNBLOCKED = frozenset({"F32", "F16", "BF16"})
# What a matrix takes whose rows are no multiple of its type's block.
_NARROW_ROWS: Mapping[str, str] = {
    "Q2_K": "Q4_0", "Q3_K": "Q4_0", "Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0", "IQ1_S": "IQ4_NL",
    "IQ2_XXS": "IQ4_NL", "IQ2_S": "IQ4_NL", "IQ3_S": "IQ4_NL", "IQ4_XS": "IQ4_NL",
}  # fmt: skip


def block_elements(tensor_type: str) -> int:
    """Elements that share one block of a tensor type; rows are whole blocks."""
    if tensor_type in _UNBLOCKED:
        return 1
    return _SMALL_BLOCK if tensor_type in _SMALL_BLOCKS else _SUPER_BLOCK


def stored_type(tensor_type: str, columns: int) -> str:
    """The type that a matrix with rows of `columns` elements takes when `tensor_type` is meant for it."""
    if columns % block_elements(tensor_type) == 0:
        return tensor_type
    narrow = _NARROW_ROWS.get(tensor_type, "F16")
    return narrow if columns % block_elements(narrow) == 0 else "F16"


class When(StrEnum):
    """Where in a model a rule holds: for tensor l of n of its kind, or in models of some shape."""

    ALWAYS = "always"
    FIRST_TWO = "l < 2"
    FIRST_FOUR = "l < 4"
    FIRST_EIGHTH = "l < n/8"
    FIRST_SIXTEENTH = "l < n/16"
    SPREAD = "the first and last eighth and every third layer between"
    GROUPED = "at least 4 query heads share a key"
    GROUPED_OR_EXPERTS = "at least 4 query heads share a key, or at least 4 experts"
    EIGHT_EXPERTS_SPREAD = "8 experts, and spread"


Rules = tuple[tuple[When, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufMix:
    """Tensor types of one mix; of each rule list the first that holds counts, else `main`.

    `head`: the output matrix, and the token table where it is that matrix too. `table`: a token table of its own.
    `value` rules also hold for a fused q-k-v matrix. `eight_*` replace the rules in models of exactly 8 experts.
    `falcon_*` replace them in the Falcon family. `low_bit` mixes do not widen values of 80-layer models further, and
    count down-projections one by one.
    """

    main: str
    head: str = "Q6_K"
    table: str | None = None
    value: Rules = ()
    down: Rules = ()
    attention_out: Rules = ()
    eight_key_value: str = "Q8_0"
    eight_attention_out: str | None = "Q5_K"
    falcon_down: Rules | None = None
    falcon_attention_out: Rules = ()
    low_bit: bool = False


def _always(tensor_type: str) -> Rules:
    return ((When.ALWAYS, tensor_type),)


_SPREAD_Q6: Rules = ((When.SPREAD, "Q6_K"),)

GGUF_MIXES: Mapping[str, GgufMix] = {
    "q4_0": GgufMix(main="Q4_0", eight_attention_out=None),
    "q4_1": GgufMix(main="Q4_1", eight_attention_out=None),
    "q5_0": GgufMix(main="Q5_0", eight_attention_out=None),
    "q5_1": GgufMix(main="Q5_1", eight_attention_out=None),
    "q8_0": GgufMix(main="Q8_0", head="Q8_0", eight_attention_out=None),
    "q2_k": GgufMix(
        main="Q2_K",
        value=((When.GROUPED, "Q4_K"), (When.ALWAYS, "Q3_K")),
        down=_always("Q3_K"),
        attention_out=_always("Q3_K"),
    ),
    "q3_k_s": GgufMix(main="Q3_K"),
    "q3_k_m": GgufMix(
        main="Q3_K",
        value=((When.FIRST_TWO, "Q5_K"), (When.ALWAYS, "Q4_K")),
        down=((When.FIRST_SIXTEENTH, "Q5_K"), (When.ALWAYS, "Q4_K")),
        attention_out=_always("Q4_K"),
        falcon_down=((When.FIRST_SIXTEENTH, "Q5_K"), (When.SPREAD, "Q4_K")),
    ),
    "q3_k_l": GgufMix(
        main="Q3_K",
        value=_always("Q5_K"),
        down=_always("Q5_K"),
        attention_out=_always("Q5_K"),
        eight_attention_out=None,
        falcon_down=_always("Q4_K"),
        falcon_attention_out=_always("Q4_K"),
    ),
    "q4_k_s": GgufMix(
        main="Q4_K", value=((When.FIRST_FOUR, "Q5_K"),), down=((When.FIRST_EIGHTH, "Q5_K"),), falcon_down=()
    ),
    "q4_k_m": GgufMix(
        main="Q4_K",
        value=_SPREAD_Q6,
        down=_SPREAD_Q6,
        falcon_down=((When.FIRST_SIXTEENTH, "Q6_K"), (When.SPREAD, "Q5_K")),
    ),
    "q5_k_s": GgufMix(main="Q5_K", eight_attention_out=None),
    "q5_k_m": GgufMix(main="Q5_K", value=_SPREAD_Q6, down=_SPREAD_Q6, eight_attention_out=None),
    "q6_k": GgufMix(main="Q6_K", eight_attention_out=None),
    "iq4_xs": GgufMix(main="IQ4_XS", value=((When.GROUPED, "Q5_K"),), down=((When.FIRST_EIGHTH, "Q5_K"),)),
    "iq3_m": GgufMix(
        main="IQ3_S",
        value=_always("Q4_K"),
        down=((When.FIRST_EIGHTH, "Q4_K"), (When.EIGHT_EXPERTS_SPREAD, "Q4_K")),
        attention_out=_always("Q4_K"),
    ),
    "iq2_m": GgufMix(
        main="IQ2_S",
        head="Q5_K",
        table="IQ3_S",
        value=((When.GROUPED_OR_EXPERTS, "Q4_K"), (When.ALWAYS, "IQ3_S")),
        down=((When.FIRST_EIGHTH, "IQ3_S"),),
        attention_out=_always("IQ3_S"),
        eight_key_value="Q4_K",
        low_bit=True,
    ),
    "iq1_s": GgufMix(
        main="IQ1_S",
        head="Q5_K",
        table="Q2_K",
        value=((When.GROUPED_OR_EXPERTS, "Q4_K"), (When.ALWAYS, "Q2_K")),
        down=((When.FIRST_EIGHTH, "Q2_K"),),
        attention_out=_always("IQ2_XXS"),
        eight_key_value="Q4_K",
        low_bit=True,
    ),
}
