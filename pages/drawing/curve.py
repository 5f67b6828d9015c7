"""The speed against the users: a line, its band as an area, the target, the load asked for, the end of memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from django.utils.translation import gettext as _

from estimator.estimates.answers import Band
from estimator.estimates.verdict.parts import CurvePoint
from estimator.figures import written

ROOM = 1.06
_TICKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A place on an axis in percent, with its words."""

    at: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A point of the curve: its place in percent, its words, whether it is the load asked for."""

    x: float
    y: float
    words: str
    asked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A drawing of one figure; paths are in a box of 100 × 100 with y downwards."""

    kind: str
    name: str
    unit: str
    area: str
    line: str
    dots: tuple[Dot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    target: Tick | None
    asked: float | None
    full: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What is drawn: a field of the points, its words, how it is written, and what a unit of the axis is."""

    field: str
    name: str
    unit: str
    write: Callable[[float | None], str]
    scale: float = 1.0


def speed_figures() -> tuple[Figure, ...]:
    """What is drawn of a speed, the figure shown first at the beginning."""
    return (
        Figure(field="tpot_s", name=_("Each further token"), unit="ms", write=written.seconds, scale=1000),
        Figure(field="ttft_s", name=_("First token"), unit="s", write=written.seconds),
        Figure(field="tokens_per_s_total", name=_("All users together"), unit="tokens/s", write=tokens_per_s),
    )


def tokens_per_s(value: float | None) -> str:
    """Tokens per second with their unit."""
    return f"{written.two_digits(value)} tokens/s"


def curve(figure: Figure, points: Sequence[CurvePoint], *, asked: int, held: int, target: float | None) -> Curve | None:
    """The drawing of a figure; None where fewer than two points are said.

    Args:
        figure: what is drawn.
        points: the speed at each load, ascending.
        asked: the load asked for, requests in flight.
        held: the most that memory holds.
        target: what the figure should be at most, in its own unit.
    """
    said = [(point.concurrency, band) for point in points if isinstance(band := getattr(point, figure.field), Band)]
    if len(said) < 2:
        return None
    x_end = max(said[-1][0], min(asked, 2 * said[-1][0])) * ROOM
    y_end = max(max(band.high for _load, band in said), target or 0.0) * figure.scale * ROOM

    def x(load: float) -> float:
        return round(min(load / x_end, 1.0) * 100, 2)

    def y(value: float) -> float:
        return round(100 - min(value * figure.scale / y_end, 1.0) * 100, 2)

    above = [f"{x(load)},{y(band.high)}" for load, band in said]
    below = [f"{x(load)},{y(band.low)}" for load, band in reversed(said)]
    return Curve(
        kind=figure.field,
        name=figure.name,
        unit=figure.unit,
        area="M" + "L".join([*above, *below]) + "Z",
        line="M" + "L".join(f"{x(load)},{y(band.mid)}" for load, band in said),
        dots=tuple(_dot(figure, load, band, asked, x(load), y(band.mid)) for load, band in said),
        x_ticks=tuple(Tick(at=x(at), words=written.count(at)) for at in ticks(x_end, whole=True)),
        y_ticks=tuple(Tick(at=y(at / figure.scale), words=f"{at:,g}") for at in ticks(y_end)),
        target=None if target is None else Tick(at=y(target), words=figure.write(target)),
        asked=x(asked) if asked <= x_end else None,
        full=x(held) if held <= x_end else None,
    )


def _dot(figure: Figure, load: int, band: Band, asked: int, x: float, y: float) -> Dot:
    words = f"{written.count(load)}: {figure.write(band.mid)} ({figure.write(band.low)} – {figure.write(band.high)})"
    return Dot(x=x, y=y, words=words, asked=load == asked)


def ticks(end: float, *, whole: bool = False) -> list[float]:
    """About five round numbers from 0 to the end of an axis."""
    rough = end / _TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= rough)
    if whole:
        step = float(max(ceil(step), 1))
    return [round(step * place, 10) for place in range(int(end / step) + 1)]
