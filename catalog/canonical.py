"""One way to write facts down, so that equal facts have equal hashes on every machine.

Reports have a spelling of their own, which writes small numbers otherwise; `reports.canonical` says why there are two.
"""

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> bytes:
    """`value` as JSON with sorted keys and no spaces, UTF-8; NaN and infinity are refused.

    >>> canonical_json({"b": 1e-05, "a": 2**64})
    b'{"a":18446744073709551616,"b":1e-05}'
    """
    # The standard library's writer: orjson refuses whole numbers over 64 bits, which a config may hold.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def sha256_of(value: Any) -> str:
    """Hex sha256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
