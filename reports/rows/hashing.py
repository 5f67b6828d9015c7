"""The hash of what a version holds: over inputs, snapshot and the hashes of blocks of its rows.

Whoever computes a part hashes its blocks; the last step hashes their hashes, no row. Blocks begin at each
multiple of LEAF_ROWS and where a part begins, so the hash is the same for all chunks that are such multiples.
"""

import hashlib
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from estimator.estimates.sweep.columns import COLUMNS, ColumnKind, TextValues
from reports import canonical
from reports.rows import tables
from reports.storage import RowFiles

LEAF_ROWS = 10_000


def leaves_of(part: Path, first_row: int, rows: int) -> list[str]:
    """The hexadecimal sha256 of each block of the rows of a part, as it is stored."""
    return _hashes((part,), _blocks(first_row, rows))


def content_sha256(inputs: Any, snapshot: Any, leaves: Iterable[str]) -> str:
    """sha256 over canonical inputs and snapshot and the hashes of all blocks in their order."""
    digest = hashlib.sha256()
    digest.update(canonical.dumps({"inputs": inputs, "snapshot": snapshot}))
    for leaf in leaves:
        digest.update(f"\n{leaf}".encode())
    return digest.hexdigest()


def same_rows(one: RowFiles, other: RowFiles) -> bool:
    """Whether two versions hold the same rows, however they are cut; it reads them all."""
    return _of_all(one) == _of_all(other)


def _of_all(rows: RowFiles) -> list[str]:
    return _hashes(rows, [slice(None)])


def _blocks(first_row: int, rows: int) -> list[slice]:
    """Where the blocks of a part lie in it."""
    edges = [0, *range(-first_row % LEAF_ROWS or LEAF_ROWS, rows, LEAF_ROWS), rows]
    return [slice(start, end) for start, end in pairwise(edges)]


def _hashes(rows: RowFiles, blocks: list[slice]) -> list[str]:
    """sha256 over the columns of each block as little-endian buffers, in the order of columns.

    Columns that a file of an older release lacks are left out. It does not depend on the writer of the Parquet file.
    """
    digests = [hashlib.sha256() for _block in blocks]
    absent = tables.missing_columns(rows[0])
    columns = [column for column in COLUMNS if column.name not in absent]
    with tables.connect() as connection:
        texts = tables.read_texts(connection, rows, [c.name for c in columns if c.kind is ColumnKind.TEXT])
        numbers = tables.read_numbers(connection, rows, [c.name for c in columns if c.kind is not ColumnKind.TEXT])
    for column in columns:
        head = f"\n{column.name}:{column.kind}\n".encode()
        values = numbers.pop(column.name, None)
        if values is not None:
            values = np.where(np.isnan(values), np.float64("nan"), values + 0.0)
        for digest, block in zip(digests, blocks, strict=True):
            digest.update(head)
            if values is None:
                _hash_text(digest, texts[column.name], block)
            else:
                digest.update(_buffer(values[block], "<f8"))
    return [digest.hexdigest() for digest in digests]


def _hash_text(digest: Any, text: TextValues, block: slice) -> None:
    """The labels that stand in the block, sorted, and the codes into them; -1 is null."""
    codes = text.codes[block]
    used = np.unique(codes)
    used = used[used >= 0]
    digest.update(orjson.dumps([text.labels[code] for code in used]))
    digest.update(_buffer(np.where(codes < 0, -1, np.searchsorted(used, codes)), "<i4"))


def _buffer(values: NDArray[Any], kind: str) -> Any:
    return np.ascontiguousarray(values, dtype=kind).data
