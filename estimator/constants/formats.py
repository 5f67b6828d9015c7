"""Bytes that weights of a format take in a kernel's traffic, scales included."""

from types import MappingProxyType

from estimator.constants.rows import DATA_DIR, read_constants


def _values(name: str) -> MappingProxyType[str, float]:
    rows = read_constants(DATA_DIR / "formats.csv")
    return MappingProxyType({row.scope["format"]: row.value for row in rows if row.name == name})


BYTES_PER_WEIGHT = _values("bytes_per_weight")
# File types whose layers take other bits than the mean of the file: the head is priced apart.
BODY_BITS = _values("body_bits_per_weight")
# llama.cpp keeps the head of smaller file types in this one.
HEAD_BITS = _values("head_bits_per_weight")["q6_k"]
