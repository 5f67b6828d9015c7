"""Which field an unknown word means: words of engines, benchmarks and people (field_words.csv), fields elsewhere."""

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from rapidfuzz import fuzz, process

_FILE = Path(__file__).parent / "field_words.csv"
_MOST_NEAR = 3
_LEAST_ALIKE = 75
_LONGEST = 60
_DEEPEST = 4


@cache
def field_words() -> dict[str, tuple[str, ...]]:
    """Fields by word, each with those of other endpoints behind the plan's; none where no field holds what it says."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        return {row["word"]: tuple(row["fields"].split()) for row in csv.DictReader(file)}


def fields_near(word: str, model: type[BaseModel]) -> tuple[str, ...]:
    """Fields of a request that an unknown word may mean, the likeliest first, as dotted places from its root.

    Args:
        word: as the caller wrote it: `isl`, `--max-model-len`, `tensorParallelSize`.
        model: the request.
    """
    key = _key(word)
    if not key:
        return ()
    if field_words().get(key) == ():
        return ()
    known = _fields(model)
    found = [field for field in field_words().get(key, ()) if field in known]
    # The word itself, where it stands at another place of the request.
    found += [field for field in known if field.rsplit(".", 1)[-1] == key]
    if not found:
        last = {field: field.rsplit(".", 1)[-1] for field in known}
        hits = process.extract(key, last, scorer=fuzz.ratio, limit=_MOST_NEAR, score_cutoff=_LEAST_ALIKE)
        found = [hit[2] for hit in hits]
    return tuple(dict.fromkeys(found))[:_MOST_NEAR]


def _key(word: str) -> str:
    """The word as the list spells it.

    >>> _key("--max-model-len"), _key("tensorParallelSize"), _key("ISL")
    ('max_model_len', 'tensor_parallel_size', 'isl')
    """
    text = word[:_LONGEST].strip().lstrip("-").replace("-", "_").replace(" ", "_").rsplit(".", 1)[-1]
    if text.isupper():
        return text.lower()
    parts = (f"_{letter.lower()}" if letter.isupper() and place else letter for place, letter in enumerate(text))
    return "".join(parts).replace("__", "_").lower()


@cache
def _fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Every field of a request, as a dotted place; lists and objects of anything are one field."""
    return tuple(_below(model, "", 0))


def _below(model: type[BaseModel], prefix: str, depth: int) -> Iterator[str]:
    for name, info in model.model_fields.items():
        yield f"{prefix}{name}"
        if depth < _DEEPEST:
            for part in _parts(info.annotation):
                yield from _below(part, f"{prefix}{name}.", depth + 1)


def _parts(annotation: Any) -> Iterator[type[BaseModel]]:
    """The objects that a field holds by itself, not in a list; of several kinds none, for their fields are unlike."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    inner = [one for one in get_args(annotation) if isinstance(one, type) and issubclass(one, BaseModel)]
    if len(inner) == 1 and not isinstance(annotation, type(list[int])):
        yield inner[0]
