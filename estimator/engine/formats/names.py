"""Formats that the names of models tell: what is left to go by where no file says how a checkpoint is stored."""

import re
from collections.abc import Mapping

# Words as publishers write them behind a model's name, with the format that they stand for.
FORMAT_OF_WORD: Mapping[str, str] = {
    "nvfp4": "nvfp4",
    "mxfp4": "mxfp4",
    "mxfp8": "mxfp8",
    "fp4": "nvfp4",
    "fp8": "fp8",
    "awq": "int4",
    "gptq": "gptq",
    "int4": "int4",
    "w4a16": "int4",
    "int8": "int8",
    "w8a8": "int8",
    "bnb-4bit": "nf4",
}
_WORD = re.compile(rf"(?<![a-z0-9])({'|'.join(FORMAT_OF_WORD)})(?![a-z0-9])", re.IGNORECASE)


def format_of_name(name: str) -> tuple[str, str] | None:
    """The word of a name that tells a format, and the format; None where no word does.

    Args:
        name: a model's name or slug, as `DeepSeek-V3.1-NVFP4`.

    >>> format_of_name("NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8")
    ('FP8', 'fp8')
    >>> format_of_name("Qwen3-8B") is None
    True
    """
    found = _WORD.search(name[:400])
    return None if found is None else (found[1], FORMAT_OF_WORD[found[1].lower()])
