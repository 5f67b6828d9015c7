"""Reads what a server printed of its memory at start, from the text of its log."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from estimator.engine.errors import InvalidInputError
from estimator.engine.memory.startup_patterns import (
    BUFFER,
    BUFFER_FIGURES,
    FRACTIONS,
    HOST_BUFFERS,
    MAY_BE_NEGATIVE,
    MOST,
    OTHER_ENGINES,
    PATTERNS,
    PRINTED_SETTINGS,
    VERSIONS,
    bytes_of,
)

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_LONGEST_LINE = 20_000
_SHOWN_CHARACTERS = 200
_PART = "cache_part_bytes"
_WORDS = re.compile("|".join(re.escape(word) for word in {*(pattern.needle for pattern in PATTERNS), "buffer size"}))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedFigure:
    """One printed figure: its name as the ledger spells it, value (bytes, tokens, counts), line from 1, and text."""

    name: str
    value: float
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupLog:
    """What was read of a log: the engine whose lines it holds (None: none known), its version, the figures in order.

    `other_engine` names the engine of a log whose lines are not read.
    """

    engine: str | None
    version: str | None
    figures: tuple[PrintedFigure, ...]
    other_engine: str | None = None

    def first(self, name: str) -> float | None:
        """The first printed value of a figure."""
        return next((figure.value for figure in self.figures if figure.name == name), None)


def read_startup_log(text: str) -> StartupLog:
    """The figures of a log.

    Colours are taken away; a line counts up to 20,000 characters. Ranks print the same lines: a figure is kept once
    with each of its values. The engine is that of most lines read. Settings of 0 and less say that nothing was set.

    Raises:
        InvalidInputError: a line prints what cannot be, such as tokens below 0 or a share above 1.

    >>> log = read_startup_log("INFO [gpu_worker.py:298] Available KV cache memory: 58.11 GiB")
    >>> log.engine, log.figures[0].name, round(log.figures[0].value / 2**30, 2)
    ('vllm', 'kv_cache_bytes', 58.11)
    """
    lines = _lines_of_interest(_COLOUR.sub("", text) if "\x1b" in text else text)
    found = [(engine, figure) for number, line in lines for engine, figure in _read(number, line)]
    buffers = tuple(_buffers(lines))
    votes = Counter(engine for engine, _ in found)
    votes["llama.cpp"] += 3 * len(buffers)
    engine = max(votes, key=lambda name: votes[name]) if votes.total() else None
    figures = _once(figure for named, figure in found if named == engine and not _unset(figure))
    for fault in filter(None, map(_fault, figures)):
        raise InvalidInputError(fault, field="startup_log")
    if engine == "llama.cpp":
        figures += buffers
    if engine == "sglang":
        figures = _cache_as_a_sum(figures)
    other = next((name for needle, name in OTHER_ENGINES.items() if needle in text.lower()), None)
    return StartupLog(
        engine=engine,
        version=_version(engine, text),
        figures=tuple(sorted(figures, key=lambda figure: figure.line)),
        other_engine=other if engine is None else None,
    )


def _lines_of_interest(text: str) -> list[tuple[int, str]]:
    """The lines that hold a word of any pattern, with their numbers: most lines of a log hold none."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line and _WORDS.search(line, 0, _LONGEST_LINE):
            found.append((number, line[:_LONGEST_LINE]))
    return found


def _unset(figure: PrintedFigure) -> bool:
    return figure.name in PRINTED_SETTINGS and figure.value <= 0


def _fault(figure: PrintedFigure) -> str | None:
    """Why a printed figure cannot be, None where it can."""
    name, value = figure.name, figure.value
    if value < 0 and name not in MAY_BE_NEGATIVE:
        why = "is below 0"
    elif name == "utilization" and value > 1:
        why = "is a share above 1"
    elif abs(value) > MOST:
        why = "is more than any server holds"
    elif not name.endswith("_bytes") and name not in FRACTIONS and value != int(value):
        why = "is no whole number"
    else:
        return None
    return f"line {figure.line} cannot be: {name} {why} ({figure.text!r})"


def _read(number: int, line: str) -> Iterator[tuple[str, PrintedFigure]]:
    for pattern in PATTERNS:
        if pattern.needle not in line:
            continue
        found = pattern.regex.search(line)
        if found is None:
            continue
        for name, unit, value in zip(pattern.figures, pattern.units, found.groups(), strict=True):
            figure = float(value.replace(",", "")) * bytes_of(unit)
            yield pattern.engine, PrintedFigure(name=name, value=figure, line=number, text=_shown(line))


def _buffers(lines: list[tuple[int, str]]) -> Iterator[PrintedFigure]:
    """Buffers of llama.cpp: those of the device that holds most, by kind; of the host only where there is no other."""
    sizes: dict[str, dict[str, tuple[float, int, str]]] = {}
    for number, line in lines:
        found = BUFFER.search(line) if "buffer size" in line else None
        if found is None:
            continue
        device, kind, mib = found.groups()
        name = BUFFER_FIGURES[kind]
        value, first, text = sizes.setdefault(device, {}).get(name, (0.0, number, _shown(line)))
        sizes[device][name] = (value + float(mib.replace(",", "")) * 2**20, first, text)
    devices = {device: held for device, held in sizes.items() if not HOST_BUFFERS.search(device)} or sizes
    if not devices:
        return
    fullest = max(devices.values(), key=lambda held: sum(value for value, _, _ in held.values()))
    for name, (value, number, text) in fullest.items():
        yield PrintedFigure(name=name, value=value, line=number, text=text)


def _once(figures: Iterable[PrintedFigure]) -> tuple[PrintedFigure, ...]:
    """Each figure once with each of its values; parts of a cache stay as they are."""
    kept: dict[tuple[str, float, int], PrintedFigure] = {}
    for place, figure in enumerate(figures):
        kept.setdefault((figure.name, figure.value, place if figure.name == _PART else -1), figure)
    return tuple(kept.values())


def _cache_as_a_sum(figures: tuple[PrintedFigure, ...]) -> tuple[PrintedFigure, ...]:
    """SGLang prints keys, values and states apart: their sum is the cache. Ranks that repeat a line count once."""
    parts = [figure for figure in figures if figure.name == _PART]
    if not parts:
        return figures
    by_line: dict[str, list[PrintedFigure]] = {}
    for part in parts:
        shape = re.sub(r"\[.{0,80}?\]", "", part.text).strip()
        same = by_line.setdefault(shape, [])
        if not same or same[0].line == part.line:
            same.append(part)
    whole = sum(part.value for same in by_line.values() for part in same)
    rest = tuple(figure for figure in figures if figure.name != _PART)
    return (*rest, replace(parts[0], name="kv_cache_bytes", value=whole))


def _version(engine: str | None, text: str) -> str | None:
    found = VERSIONS[engine].search(text) if engine in VERSIONS else None
    return next((group for group in found.groups() if group), None) if found else None


def _shown(line: str) -> str:
    return line.strip()[:_SHOWN_CHARACTERS]
