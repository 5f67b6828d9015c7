"""Chances said and what happened: rows with their source left out of fit and evidence, held against usual targets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from estimator.engine.speed.odds import Ends, Times, odds
from estimator.validation.components import Component
from estimator.validation.coverage import band_class, ends_without_source
from estimator.validation.predictions import Prediction
from estimator.validation.rows import Metric

Floats = npt.NDArray[np.float64]
# Targets that people ask for, seconds.
FIRST_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
EACH_S = (0.01, 0.02, 0.03, 0.05, 0.1)
# Borders of the bins of said chances.
BINS = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0)
_ASKED = {"TTFT": FIRST_S, "TPOT": EACH_S}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Questions whose chance was said to lie between two borders: how many, the mean said, the share that happened."""

    low: float
    high: float
    questions: int
    said: float
    happened: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Questions of one kind: rows, Brier score of the chances, of the plain yes or no of the middle, and the bins."""

    kind: str
    rows: int
    questions: int
    brier: float
    brier_of_middle: float
    bins: tuple[Bin, ...]


def reliability(predictions: Iterable[Prediction]) -> tuple[Reliability, ...]:
    """Chances of TTFT, of TPOT and of both together, of rows as they are predicted without their source."""
    alone: dict[Metric, list[Prediction]] = {Metric.TPOT: [], Metric.TTFT: []}
    for prediction in predictions:
        if prediction.row.metric in alone and band_class(prediction) is not None:
            alone[prediction.row.metric].append(prediction)
    first, each = alone[Metric.TTFT], alone[Metric.TPOT]
    runs = {_run(p): p for p in each}
    pairs = [(p, runs[_run(p)]) for p in first if _run(p) in runs]
    found = [
        _of("TTFT", first, [({"ttft_s": target}, first, each[:0]) for target in FIRST_S]),
        _of("TPOT", each, [({"tpot_s": target}, first[:0], each) for target in EACH_S]),
    ]
    one, other = [p for p, _ in pairs], [p for _, p in pairs]
    both = [({"ttft_s": a, "tpot_s": b}, one, other) for a in FIRST_S for b in EACH_S]
    return (*found, _of("both together", one, both))


Question = tuple[dict[str, float], Sequence[Prediction], Sequence[Prediction]]


def _run(prediction: Prediction) -> object:
    """What two figures of one run share."""
    return replace(prediction.row, id="", metric=Metric.TPOT, value=0.0, core=False, source_row="")


def _of(kind: str, rows: Sequence[Prediction], questions: Sequence[Question]) -> Reliability:
    said, happened, middle = [], [], []
    for targets, first, each in questions if rows else ():
        measured = np.ones(len(rows), dtype=bool)
        expected = measured.copy()
        for name, members in (("ttft_s", first), ("tpot_s", each)):
            if name in targets:
                measured &= np.array([p.row.value for p in members]) <= targets[name]
                expected &= np.array([p.expected for p in members]) <= targets[name]
        said.append(odds(_times(first or each, each or first), targets).together)
        happened.append(measured)
        middle.append(expected)
    chance, real, plain = (np.concatenate([[], *values]).astype(np.float64) for values in (said, happened, middle))
    known = np.isfinite(chance)
    chance, real, plain = chance[known], real[known], plain[known]
    return Reliability(
        kind=kind,
        rows=len(rows),
        questions=len(chance),
        brier=float(np.mean((chance - real) ** 2)) if len(chance) else 0.0,
        brier_of_middle=float(np.mean((plain - real) ** 2)) if len(chance) else 0.0,
        bins=tuple(_bins(chance, real)),
    )


def _bins(chance: Floats, real: Floats) -> Iterable[Bin]:
    for low, high in pairwise(BINS):
        inside = (chance >= low) & ((chance < high) | (high == BINS[-1]))
        if inside.any():
            yield Bin(
                low=low,
                high=high,
                questions=int(inside.sum()),
                said=float(chance[inside].mean()),
                happened=float(real[inside].mean()),
            )


def _times(first: Sequence[Prediction], each: Sequence[Prediction]) -> Times:
    ends = [_ends(members) for members in (first, each)]
    gaps = np.ones(len(first))
    return Times(first=ends[0], each=ends[1], whole=ends[0], gaps=gaps, first_of_whole_s=ends[0].mid)


def _ends(members: Sequence[Prediction]) -> Ends:
    """The band of each row as it would be had its source never measured anything; the ceiling is not looked at."""
    middle = np.array([p.expected for p in members])
    band = np.array([ends_without_source(p) for p in members])
    return Ends(low=middle * band[:, 0], mid=middle, high=middle * band[:, 1], least=np.zeros(len(middle)))


def odds_table(predictions: Iterable[Prediction]) -> Component:
    """The chances as a table of the accuracy page.

    Args:
        predictions: of rows without their source.
    """
    return Component(
        key="odds",
        title="Chances said and what happened",
        note=(
            "Each row with its source left out of fit and evidence, asked for usual targets (TTFT "
            f"{_listed(FIRST_S)} s, TPOT {_listed(EACH_S)} s): the chance said that it is within, and the share that "
            "was. The Brier score is the mean squared distance of the two, beside that of the plain yes or no of the "
            "middle."
        ),
        headings=("target", "chance said %", "questions", "mean said %", "happened %", "Brier", "Brier of yes or no"),
        lines=tuple(
            (
                each.kind,
                f"{100 * one.low:.0f} to {100 * one.high:.0f}",
                str(one.questions),
                f"{100 * one.said:.1f}",
                f"{100 * one.happened:.1f}",
                f"{each.brier:.4f}",
                f"{each.brier_of_middle:.4f}",
            )
            for each in reliability(predictions)
            for one in each.bins
        ),
    )


def _listed(targets: Sequence[float]) -> str:
    return ", ".join(f"{target:g}" for target in targets)
