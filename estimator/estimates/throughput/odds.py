"""Chance that loads meet their targets, from the figures of a row or of a sweep."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
from django.utils.translation import gettext as _

from estimator.engine.options import TARGETS
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.narrowing import doubt_after
from estimator.engine.speed.odds import Ends, Times, odds, together
from estimator.estimates.throughput.goodput import tpot_binds
from estimator.question.workload import ResolvedWorkload, Targets

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
# From these chances on a load is called safe, and likely: the slow end of one target's band, and its middle.
SAFE, LIKELY, HARDLY = 0.9, 0.5, 0.1
# From this chance on, or from its opposite down, nothing is left to find out.
SURE = 0.98


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOdds:
    """Chance that each target is met (None: not asked, or not known), and all together.

    `doubt_after` is the doubt whether all are met that is left on average once the load is measured.
    """

    ttft_s: float | None
    tpot_s: float | None
    e2e_s: float | None
    together: float | None
    doubt_after: float | None = None


def targets_of(slo: Targets) -> dict[str, float]:
    """The targets that are asked for, seconds by name."""
    return {name: float(target) for name in TARGETS if (target := getattr(slo, name)) is not None}


def times_of_loads(
    columns: Mapping[str, Any],
    *,
    opened: Bools,
    binds: Bools,
    output_tokens: Floats,
    percentile: int,
    whole_apart: bool = False,
) -> Times:
    """The times of loads as chances are worked out from them.

    Args:
        columns: figures of the loads; of an open load the percentiles of its first token, too.
        opened: whether each load is one of arrivals, whose first tokens are those at the percentile.
        binds: whether a target of `tpot_s` can bind there.
        output_tokens: mean answer of a request.
        percentile: share of an open load's requests within the targets, percent.
        whole_apart: the loads are batches that start together.
    """
    figures = {name: {side: _floats(columns[f"{name}_{side}"]) for side in _SIDES} for name in TARGETS}
    gaps = np.where(binds, np.maximum(output_tokens - 1.0, 1e-9), 0.0)
    first, tpot = figures["ttft_s"], np.where(gaps > 0.0, figures["tpot_s"]["mid"], 0.0)
    whole = figures["e2e_s"]["mid"] - gaps * tpot
    load, unhurried = np.zeros(len(gaps)), np.zeros(len(gaps))
    if opened.any():
        at, mean = _floats(columns[f"ttft_s_p{percentile}"]), first["mid"]
        of_side = {side: np.where(opened, at * first[side] / mean, first[side]) for side in ("low", "mid", "high")}
        first = first | of_side
        whole = np.where(opened, at, whole)
        load = np.where(opened, _floats(columns["utilization"]), 0.0)
        unhurried = np.where(opened, _floats(columns["ttft_s_p50"]), 0.0)
    return Times(
        first=_ends(first),
        each=_ends(figures["tpot_s"]),
        whole=_ends(figures["e2e_s"]),
        gaps=gaps,
        first_of_whole_s=whole,
        load_share=load,
        unhurried_s=unhurried,
        whole_apart=whole_apart,
    )


_SIDES = ("low", "mid", "high", "ceiling")
_BANDS = tuple(f"{name}_{side}" for name in TARGETS for side in ("low", "high"))


def _floats(column: Any) -> Floats:
    return np.asarray(column, dtype=np.float64)


def _ends(by_side: Mapping[str, Floats]) -> Ends:
    return Ends(low=by_side["low"], mid=by_side["mid"], high=by_side["high"], least=by_side["ceiling"])


def _times(columns: Mapping[str, Any], workload: ResolvedWorkload, slo: Targets) -> Times:
    count = len(columns["reason"])
    return times_of_loads(
        columns,
        opened=np.full(count, workload.mode is WorkloadMode.OPEN_LOOP),
        binds=np.full(count, tpot_binds(workload)),
        output_tokens=np.full(count, float(workload.output_tokens)),
        percentile=slo.percentile_in(workload.mode),
        whole_apart=workload.mode is WorkloadMode.STATIC_BATCH,
    )


def odds_at(columns: Mapping[str, Any], workload: ResolvedWorkload, slo: Targets) -> TargetOdds:
    """Chances of the first row of the engine's columns."""
    asked, times = targets_of(slo), _times(columns, workload, slo)
    if all(_width({name: _floats(columns[name]) for name in _BANDS}, name)[0] <= 0.0 for name in TARGETS):
        return TargetOdds(ttft_s=None, tpot_s=None, e2e_s=None, together=None)
    found = odds(times, asked)
    said = {name: _said(getattr(found, name)) for name in TARGETS}
    if not tpot_binds(workload):
        said["tpot_s"] = None
    known = bool(asked) and (tpot_binds(workload) or set(asked) != {"tpot_s"})
    every = _said(found.together) if known else None
    after = None if every is None or not 1.0 - SURE < every < SURE else doubt_after(times, asked)
    return TargetOdds(**said, together=every, doubt_after=after)


def _said(chance: Any) -> float | None:
    if chance is None:
        return None
    value = float(np.ravel(chance)[0])
    return value if isfinite(value) else None


def chances(columns: Mapping[str, Any], workload: ResolvedWorkload, slo: Targets) -> tuple[Floats, dict[str, Floats]]:
    """Of each row the chance that all targets are met, and by name of each target alone; NaN where not known."""
    found = odds(_times(columns, workload, slo), targets_of(slo))
    alone = {name: np.asarray(value) for name in TARGETS if (value := getattr(found, name)) is not None}
    return np.asarray(found.together), alone


def chance_column(
    columns: Mapping[str, Any], slo: Targets | None, *, opened: Bools, static: Bools, binds: Bools
) -> Floats:
    """Of each row of a sweep the chance that all targets are met; NaN without targets and where it is not known."""
    asked = {} if slo is None else targets_of(slo)
    found = np.full(len(binds), np.nan)
    if slo is None or not asked:
        return found
    names = [f"{name}_{side}" for name in TARGETS for side in _SIDES]
    names += ["utilization", "output_tokens", "ttft_s_p50", f"ttft_s_p{slo.percentile_in(WorkloadMode.OPEN_LOOP)}"]
    for apart, arriving in ((False, False), (False, True), (True, False)):
        rows = np.flatnonzero((static == apart) & (opened == arriving) & (binds | (set(asked) != {"tpot_s"})))
        if len(rows):
            part = {name: _floats(columns[name])[rows] for name in names}
            times = times_of_loads(
                part,
                opened=opened[rows],
                binds=binds[rows],
                output_tokens=part["output_tokens"],
                percentile=slo.percentile_in(WorkloadMode.OPEN_LOOP),
                whole_apart=apart,
            )
            told = np.maximum.reduce([_width(part, name) for name in TARGETS]) > 0.0
            found[rows] = np.where(told, together(times, asked), np.nan)
    return found


def _width(columns: Mapping[str, Floats], name: str) -> Floats:
    """Width of a band, seconds; 0 where a figure is not known."""
    width: Floats = np.nan_to_num(columns[f"{name}_high"] - columns[f"{name}_low"])
    return width


def unknown_text(found: TargetOdds, reason: str | None, *, ideal: bool) -> str | None:
    """Why no chance of meeting all targets is said; None where it is."""
    if found.together is not None:
        return None
    if ideal:
        return _("The engine ideal is an assumption: nothing was measured that tells its error.")
    return reason or _("No target can bind.")
