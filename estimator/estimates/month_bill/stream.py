"""A month's usage from pieces of a file as they arrive: lines are cut out one by one, the file is never held whole."""

import codecs
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from estimator.engine.errors import InvalidInputError
from estimator.estimates.month_bill.read import Usage, read_csv, read_ndjson

LONGEST_LINE = 1_000_000
_READERS: Final[Mapping[str, Callable[[Iterable[str]], Usage]]] = {"csv": read_csv, "ndjson": read_ndjson}
FORMATS: Final = tuple(_READERS)


def read_stream(pieces: Iterable[bytes], *, form: str, most_rows: int | None = None) -> Usage:
    """Usage from the bytes of a CSV or NDJSON, in pieces of any size (`read_csv`, `read_ndjson`).

    Args:
        pieces: Parts of the file in order, UTF-8.
        form: One of `FORMATS`.
        most_rows: More lines than that are refused; None: any number.

    Raises:
        InvalidInputError: Another form, no UTF-8, a line of more than 1,000,000 characters, too many lines, or a
            header that cannot be read.
    """
    reader = _READERS.get(form)
    if reader is None:
        raise InvalidInputError(f"a month is read as {' or '.join(FORMATS)}", field="form")
    return reader(_counted(lines_of(pieces), most_rows))


def lines_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """The lines of a text in pieces, ends kept (a quoted cell of a CSV may hold one).

    >>> list(lines_of([b"a,b", b"\\n1,", b"2\\n3"]))
    ['a,b\\n', '1,2\\n', '3']
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    rest = ""
    for number, text in enumerate(_decoded(decoder, pieces)):
        lines = (rest + text).split("\n")
        rest = lines.pop()
        for line in lines:
            yield f"{line}\n"
        if len(rest) > LONGEST_LINE:
            raise InvalidInputError(
                f"a line has more than {LONGEST_LINE:,} characters (in part {number + 1} of the file)", field="file"
            )
    if rest:
        yield rest


def _decoded(decoder: codecs.IncrementalDecoder, pieces: Iterable[bytes]) -> Iterator[str]:
    try:
        for piece in pieces:
            yield decoder.decode(piece)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as wrong:
        raise InvalidInputError(f"the file is no UTF-8: {wrong.reason}", field="file") from None


def _counted(lines: Iterator[str], most: int | None) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if most is not None and number > most:
            raise InvalidInputError(f"the file has more than {most:,} lines", field="file")
        yield line
