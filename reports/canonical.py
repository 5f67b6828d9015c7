"""One spelling of JSON for the hashes of a version: sorted keys, no spaces.

The catalog has another (`catalog.canonical`), which writes 1e-05 where this one writes 0.00001. Neither can serve both:
the hashes of frozen versions are made of this one, those of the catalog's rows and revisions of the other, and nearly
every engine profile holds such a number. A version rebuilt from equal inputs would no longer have the first one's hash.
Inputs and snapshot are JSON that was checked before: money as text, no NaN, which would become null here, and no whole
number over 64 bits, which is refused here.
"""

import hashlib
from typing import Any

import orjson


def dumps(value: Any) -> bytes:
    """The value as canonical JSON bytes.

    >>> dumps({"b": 1e-05, "a": 5e-06})
    b'{"a":5e-6,"b":0.00001}'
    """
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def sha256(value: Any) -> str:
    """Hexadecimal sha256 of the canonical JSON of `value`."""
    return hashlib.sha256(dumps(value)).hexdigest()
