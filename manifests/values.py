"""Values of flags: whole numbers, lengths with k and M, shares, formats; None where a text is none of them."""

import json
import re
from typing import Any

_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([kKmMgG]?)")
# vLLM reads 1k as 1,000 and 1K as 1,024 (utils of its argument parser).
_UNITS = {"": 1, "k": 1000, "K": 1024, "m": 1000**2, "M": 1024**2, "g": 1000**3, "G": 1024**3}
_LARGEST = 100_000_000
WEIGHTS_OF_DTYPE = {
    "bfloat16": "bf16", "bf16": "bf16", "half": "fp16", "float16": "fp16", "fp16": "fp16", "float": "fp32",
    "float32": "fp32",
}  # fmt: skip
WEIGHTS_OF_METHOD = {
    "fp8": "fp8", "w8a8_fp8": "fp8", "fbgemm_fp8": "fp8", "modelopt_fp8": "fp8", "ptpc_fp8": "fp8",
    "fp8_per_tensor": "fp8", "fp8_per_block": "fp8", "awq": "int4", "awq_marlin": "int4", "gptq": "int4",
    "gptq_marlin": "int4", "w8a8_int8": "int8", "bitsandbytes": "nf4", "mxfp4": "mxfp4", "modelopt_fp4": "nvfp4",
    "nvfp4": "nvfp4", "petit_nvfp4": "nvfp4", "experts_int8": "int8", "int8_wo": "int8", "moe_wna16": "int4",
}  # fmt: skip
CACHES = {
    "fp8": "fp8", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "bfloat16": "bf16", "bf16": "bf16", "f16": "fp16",
    "float16": "fp16", "fp16": "fp16", "q8_0": "q8_0", "q5_1": "q5_1", "q5_0": "q5_0", "q4_1": "q4_1", "q4_0": "q4_0",
}  # fmt: skip


def whole(text: str) -> int | None:
    """A count from 1.

    >>> whole("8"), whole("8.0"), whole("-1"), whole("many")
    (8, 8, None, None)
    """
    if not re.fullmatch(r"\d{1,12}(\.0)?", text):
        return None
    found = int(text.split(".")[0])
    return found if 1 <= found <= _LARGEST else None


def length(text: str) -> int | None:
    """Tokens, with the units that engines take.

    >>> length("32768"), length("32k"), length("32K"), length("auto")
    (32768, 32000, 32768, None)
    """
    found = _LENGTH.fullmatch(text)
    if found is None:
        return None
    value = int(float(found[1]) * _UNITS[found[2]])
    return value if 1 <= value <= _LARGEST else None


def number(text: str) -> float | None:
    """A number above 0, at most a million.

    >>> number("0.92"), number(".9"), number("-1"), number("1e400")
    (0.92, 0.9, None, None)
    """
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 < found <= 1e6 else None


def share(text: str) -> float | None:
    """A share above 0 up to 1.

    >>> share("0.9"), share("90")
    (0.9, None)
    """
    found = number(text)
    return found if found is not None and found <= 1 else None


def json_object(text: str) -> dict[str, Any] | None:
    """A JSON object; None for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
