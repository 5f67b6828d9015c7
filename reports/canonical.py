"""One spelling of JSON for hashes: sorted keys, no spaces, no NaN."""

import hashlib
from typing import Any

import orjson


def dumps(value: Any) -> bytes:
    """The value as canonical JSON bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def sha256(value: Any) -> str:
    """Hexadecimal sha256 of the canonical JSON of `value`."""
    return hashlib.sha256(dumps(value)).hexdigest()
