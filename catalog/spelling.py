"""Names as people write them: "Llama 3.1 8B", "meta-llama/Llama-3.1-8B-Instruct", "NVIDIA H100 80GB HBM3".

A spelling is taken for a row where it can mean no other: by case and separators, by the repository's or the board's
full name, by a model's name with or without the words for how it was tuned (which change no weight's shape), by a GPU's
name with words left out. Where several rows remain, none is taken.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

MAX_NEAR = 5
_LONGEST = 100
# Percent of the letters that two names have in common, in order.
_LEAST_ALIKE = 50
_SEPARATORS = re.compile(r"[\s_\-:,;()+]+")
_WITHIN_NAME = re.compile(r"(?<=[a-z])-(?=\d)")

# Words that say nothing about which row is meant.
_EMPTY_WORDS = {
    "model": frozenset({"meta", "hf"}),
    "gpu": frozenset(
        {
            "nvidia", "amd", "intel", "google", "aws", "amazon", "tesla", "geforce", "instinct", "cloud", "gpu",
            "accelerator", "graphics", "tensor", "core",
        }
    ),
}  # fmt: skip
# Words for how a model was tuned: the same architecture, size and cache.
_TUNING = frozenset({"instruct", "inst", "chat", "it", "base", "pt"})
# Words of a GPU that may be left out; "ti", "ada" or "max" may not: without them another product is meant.
_BOARD = re.compile(r"\d+gb|sxm\d?|pcie|nvl|oam|hbm\w*|gddr\w*|rtx|apple")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A row by its slug, its other full names, and further words that may be used of it."""

    slug: str
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class Spellings:
    """The rows of one kind, to be found by what people write."""

    def __init__(self, kind: str, rows: Iterable[Named]) -> None:
        self._empty = _EMPTY_WORDS.get(kind, frozenset[str]())
        rows = tuple(rows)
        whole = [(row.slug, {key(name) for name in (row.slug, *row.names)}) for row in rows]
        self._steps: list[Callable[[str], list[str]]] = [
            lambda given: [slug for slug, keys in whole if key(given) in keys],
            self._by_words(whole, self._empty),
        ]
        if kind == "model":
            self._steps.append(self._by_words(whole, self._empty | _TUNING))
        if kind == "gpu":
            words = [(row.slug, _apart(row.slug), _all_words(row)) for row in rows]
            self._steps.append(lambda given: self._shortened(words, given))

    def find(self, given: str) -> tuple[str, ...]:
        """Slugs that a spelling may mean: one where it is clear, several where it is not, none where it is unknown."""
        text = given[:_LONGEST].rsplit("/", 1)[-1]
        for step in self._steps:
            if key(text) and (found := step(text)):
                return tuple(found)
        return ()

    @staticmethod
    def _by_words(whole: Sequence[tuple[str, set[str]]], ignored: frozenset[str]) -> Callable[[str], list[str]]:
        rows = [(slug, {_words(name, ignored) for name in keys}) for slug, keys in whole]
        return lambda given: [slug for slug, names in rows if _words(key(given), ignored) in names]

    def _shortened(self, rows: Sequence[tuple[str, frozenset[str], frozenset[str]]], given: str) -> list[str]:
        wanted = _apart(given) - self._empty
        if all(_BOARD.fullmatch(word) for word in wanted):
            return []
        return [
            slug
            for slug, own, known in rows
            if wanted <= known and all(_BOARD.fullmatch(word) for word in own - wanted)
        ]


def key(text: str) -> str:
    """A name without regard to case and separators: "Llama 3.1_8B" and "llama3.1-8b" are one; dots count."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _WITHIN_NAME.sub("", _SEPARATORS.sub("-", plain).strip("-"))


def model_words(text: str) -> tuple[str, ...]:
    """What the names of one model have in common: their words without those for how it was tuned, in any order."""
    return _words(key(text[:_LONGEST].rsplit("/", 1)[-1]), _EMPTY_WORDS["model"] | _TUNING)


def near_matches(given: str, known: Iterable[str]) -> tuple[str, ...]:
    """Up to five known names like the given one, best first; spelling of case, space and underscore is forgiven."""
    wanted = given[:_LONGEST].strip().lower().replace("_", "-").replace(" ", "-")
    if not wanted:
        return ()
    by_key = {name.lower(): name for name in sorted(known)}
    starts = [name for low, name in by_key.items() if low.startswith(wanted)]
    alike = process.extract(wanted, list(by_key), scorer=fuzz.ratio, limit=MAX_NEAR, score_cutoff=_LEAST_ALIKE)
    close = [by_key[low] for low, _score, _place in alike]
    holds = [name for low, name in by_key.items() if len(wanted) >= 3 and wanted in low]
    found = list(dict.fromkeys([*starts, *close, *holds]))
    # Of a model or a board, the number says which generation it is: others come after those of the same.
    return tuple(sorted(found, key=lambda name: not _same_generation(wanted, name)))[:MAX_NEAR]


def _same_generation(given: str, name: str) -> bool:
    """Whether two names have the same numbers as far as both have any; days and sizes of six digits and more aside."""
    one, other = (_generation(text) for text in (given, name))
    shorter = min(len(one), len(other))
    return shorter > 0 and one[:shorter] == other[:shorter]


def _generation(text: str) -> list[str]:
    return [number for number in re.findall(r"\d+", text) if len(number) < 4]


def _words(text: str, ignored: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(word for word in text.split("-") if word not in ignored))


def _apart(text: str) -> frozenset[str]:
    return frozenset(_SEPARATORS.split(unicodedata.normalize("NFKC", text).casefold().strip(" -_"))) - {""}


def _all_words(row: Named) -> frozenset[str]:
    """Every word of a GPU, joined as in `key` and apart, and a socket without its generation."""
    texts = (row.slug, *row.names, *row.words)
    words = {word for text in texts for word in (*key(text).split("-"), *_apart(text))}
    return frozenset(words | {"sxm" for word in words if word.startswith("sxm")})


def words_of(kind: str, text: str) -> tuple[str, ...]:
    """The words that tell which row a name means, sorted: without makers' names and words for tuning."""
    return _words(key(text), _EMPTY_WORDS.get(kind, frozenset()) | _TUNING)
