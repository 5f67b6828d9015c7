"""The speed of several columns against the users, in one drawing: a line each, its band shown when it is pointed at."""

from collections.abc import Sequence
from dataclasses import dataclass

from estimator.estimates.answers import Band
from estimator.estimates.verdict.parts import CurvePoint
from estimator.figures import written
from pages.drawing.curve import ROOM, Figure, Tick, ticks

_LOADS_SHOWN = 4
"""The axis ends at so many times the load asked for: beyond it nothing is decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One column: its class in the style sheet, its name, line, band and points; places in percent."""

    kind: str
    name: str
    line: str
    area: str
    dots: tuple[tuple[float, float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A drawing of one figure for several columns; paths are in a box of 100 × 100 with y downwards."""

    kind: str
    name: str
    unit: str
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    target: Tick | None
    asked: float | None
    full: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A column to draw: its class, its name and its speed by load."""

    kind: str
    name: str
    points: Sequence[CurvePoint]


def lines(figure: Figure, columns: Sequence[Drawn], *, asked: int | None, target: float | None) -> Lines | None:
    """The drawing of a figure; None where no column says two points of it.

    Args:
        figure: what is drawn.
        columns: the columns, each with its speed at ascending loads.
        asked: the load that all columns are asked for, requests in flight; None where they differ.
        target: what the figure should be at most, in its own unit.
    """
    most = max((column.points[-1].concurrency for column in columns if column.points), default=0)
    x_end = min(most, _LOADS_SHOWN * asked if asked else most) * ROOM
    said = [(column, _said(figure, column, x_end)) for column in columns]
    said = [(column, points) for column, points in said if len(points) > 1]
    if not said:
        return None
    y_end = max([target or 0.0, *(band.mid for _column, points in said for _load, band in points)])
    y_end = y_end * figure.scale * ROOM * ROOM or 1.0

    def x(load: float) -> float:
        return round(min(load / x_end, 1.0) * 100, 2)

    def y(value: float) -> float:
        return round(100 - min(value * figure.scale / y_end, 1.0) * 100, 2)

    def line(column: Drawn, points: list[tuple[int, Band]]) -> Line:
        above = [f"{x(load)},{y(band.high)}" for load, band in points]
        below = [f"{x(load)},{y(band.low)}" for load, band in reversed(points)]
        return Line(
            kind=column.kind,
            name=column.name,
            line="M" + "L".join(f"{x(load)},{y(band.mid)}" for load, band in points),
            area="M" + "L".join([*above, *below]) + "Z",
            dots=tuple((x(load), y(band.mid), _words(figure, column, load, band)) for load, band in points),
        )

    return Lines(
        kind=figure.field,
        name=figure.name,
        unit=figure.unit,
        lines=tuple(line(column, points) for column, points in said),
        x_ticks=tuple(Tick(at=x(at), words=written.count(at)) for at in ticks(x_end, whole=True)),
        y_ticks=tuple(Tick(at=y(at / figure.scale), words=f"{at:,g}") for at in ticks(y_end)),
        target=None if target is None else Tick(at=y(target), words=figure.write(target)),
        asked=x(asked) if asked and asked <= x_end else None,
    )


def _said(figure: Figure, column: Drawn, end: float) -> list[tuple[int, Band]]:
    bands = [(point.concurrency, getattr(point, figure.field)) for point in column.points]
    return [(load, band) for load, band in bands if isinstance(band, Band) and load <= end]


def _words(figure: Figure, column: Drawn, load: int, band: Band) -> str:
    ends = f"{figure.write(band.low)} – {figure.write(band.high)}"
    return f"{column.name}, {written.count(load)}: {figure.write(band.mid)} ({ends})"
