"""Bars: a figure with its band and target, and the memory of a GPU by what takes it."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from estimator.estimates.answers import Band
from estimator.estimates.memory_fit.answer import MemoryLedger
from estimator.figures import written

_NARROW = 35.0
_ROOM = 1.12
"""Length of an axis over the largest figure on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BandBar:
    """A figure with its band on an axis from 0; places in percent."""

    name: str
    value: str
    unit: str
    low: float
    high: float
    width: float
    mid: float
    target: float | None
    low_words: str
    high_words: str
    label: str

    @property
    def narrow(self) -> bool:
        """Whether the words of both ends would run into each other under their ends."""
        return self.width < _NARROW

    @property
    def right(self) -> bool:
        """Whether words of a narrow band stand better before its end than after its start."""
        return self.low > 50.0


def band_bar(
    name: str, band: Band | None, write: Callable[[float | None], str], target: float | None
) -> BandBar | None:
    """The bar of a figure; None where it is not said.

    Args:
        name: what the figure is.
        band: its ends and middle.
        write: writes a figure with its unit.
        target: what it should be at most, in the figure's unit.
    """
    if band is None:
        return None
    end = max(band.high, target or 0.0) * _ROOM or 1.0
    words = _("%(name)s: from %(low)s to %(high)s, middle %(mid)s") % {
        "name": name, "low": write(band.low), "high": write(band.high), "mid": write(band.mid),
    }  # fmt: skip
    if target is not None:
        words += _(", target %(target)s") % {"target": write(target)}
    number, _space, unit = write(band.mid).partition(" ")
    return BandBar(
        name=name,
        value=number,
        unit=unit,
        low=percent(band.low, end),
        high=percent(band.high, end),
        width=percent(band.high - band.low, end),
        mid=percent(band.mid, end),
        target=None if target is None else percent(target, end),
        low_words=_without(write(band.low), unit if unit.endswith("/s") else ""),
        high_words=_without(write(band.high), unit if unit.endswith("/s") else ""),
        label=words,
    )


def _without(words: str, unit: str) -> str:
    """A figure without a long unit, which stands beside the bar already."""
    return words.removesuffix(unit).rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a GPU's memory: its class in the style sheet, its place and width in percent."""

    kind: str
    name: str
    start: float
    width: float
    size: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBar:
    """The memory of the worst GPU; `end` is where the GPU's memory ends when more is needed, in percent."""

    pieces: tuple[Piece, ...]
    end: float | None
    lacking: str | None
    free: str | None


def memory_bar(ledger: MemoryLedger) -> MemoryBar:
    """The ledger of a GPU, drawn: what passes its memory stands beyond the dashed line."""
    over = max(-ledger.slack_bytes, 0)
    whole = ledger.memory_bytes + over
    parts = (
        ("weights", _("Weights"), ledger.weights_bytes),
        ("cache", _("Cache"), ledger.kv_cache_bytes),
        ("activations", _("Activations"), ledger.activation_bytes),
        ("graphs", _("Graphs"), ledger.cuda_graph_bytes),
        ("runtime", _("Runtime"), ledger.runtime_overhead_bytes),
        ("unmanaged", _("Left to the driver"), ledger.unmanaged_bytes),
        ("free", _("Free"), max(ledger.slack_bytes, 0)),
    )
    pieces, start = [], 0.0
    for kind, name, size in parts:
        if size > 0:
            width = percent(size, whole)
            pieces.append(Piece(kind=kind, name=name, start=start, width=width, size=written.gib(size)))
            start = round(start + width, 3)
    return MemoryBar(
        pieces=tuple(pieces),
        end=percent(ledger.memory_bytes, whole) if over else None,
        lacking=written.gib(over) if over else None,
        free=None if over else written.gib(ledger.slack_bytes),
    )


def percent(value: float, whole: float) -> float:
    """A share in percent, inside the drawing."""
    return round(min(max(value / whole, 0.0), 1.0) * 100, 3)
