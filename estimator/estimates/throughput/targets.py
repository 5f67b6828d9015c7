"""Targets: whether a load meets them, the goodput, and the highest rate of requests within them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from django.utils.translation import gettext as _

from estimator.engine.codes import Reason
from estimator.engine.options import TARGETS, BandSide
from estimator.engine.serving.load import answer_time_s, has_gaps
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.figures import RATE_SIDE
from estimator.engine.speed.odds import Ends, time_at
from estimator.engine.speed.sweep import Sweep
from estimator.estimates.throughput.figures import SpeedFigures, Triple
from estimator.estimates.throughput.goodput import goodput, tpot_binds
from estimator.estimates.throughput.odds import LIKELY, SAFE, TargetOdds, chances, odds_at, targets_of
from estimator.estimates.throughput.rows import rows_of
from estimator.question.workload import ResolvedWorkload, Targets

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_POINTS = 48
_SEARCHED = (WorkloadMode.CLOSED_LOOP, WorkloadMode.OPEN_LOOP, WorkloadMode.SINGLE_STREAM)
_LIMIT = 100_000.0
# Times the stable rate at which every end of the band has a growing queue.
_BEYOND = 10.0
_SIDES = ("low", "mid", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetResult:
    """Whether each target is met (None: not asked or not known), and rates in requests/s with their ends."""

    met: dict[str, bool | None]
    all_met: bool | None
    percentile: int
    band_side: BandSide
    goodput: Triple
    goodput_ceiling: float | None
    max_rate: Triple
    max_rate_ceiling: float | None
    odds: TargetOdds


def binding_targets(slo: Targets, workload: ResolvedWorkload) -> Targets:
    """The targets that can bind: an answer of one token has no time per output token to hold against one."""
    return slo if tpot_binds(workload) else slo.model_copy(update={"tpot_s": None})


def no_gap_text() -> str:
    """What is said where a target of `tpot_s` does not bind."""
    return _("The target of tpot_s does not bind: an answer of one token has no time per output token.")


def no_percentile_text() -> str:
    """What is said where a percentile is asked for and nothing waits at random."""
    return _("Not used: slo.percentile; only an open loop's requests wait for different times.")


def targets_met(sweep: Sweep, workload: ResolvedWorkload, slo: Targets, figures: SpeedFigures) -> TargetResult:
    """Targets at the workload's load, and the highest rate that meets them.

    A closed loop is searched over its concurrency, an open loop over its rate; the answer is on a grid refined twice
    (within 0.2 %). A target that cannot bind is left out. The percentile applies to the waiting of an open loop; a
    closed loop's figures are model values.
    """
    slo = binding_targets(slo, workload)
    percentile = slo.percentile_in(workload.mode)
    side = "high" if slo.band_side is BandSide.CONSERVATIVE else "mid"
    at_load = sweep.evaluate(rows_of(workload, np.array([figures.concurrency])))
    met = _met(at_load, slo, side, workload)
    good = {s: _goodput(at_load, slo, s, workload) for s in (*_SIDES, "ceiling")}
    opened = workload.mode is WorkloadMode.OPEN_LOOP
    sides = ("ceiling",) if opened else (*_SIDES, "ceiling")
    best = {s: _highest_rate(sweep, workload, slo, s, percentile) for s in sides}
    return TargetResult(
        met=met,
        all_met=_all_met(met, slo, figures.reason),
        percentile=percentile,
        band_side=slo.band_side,
        goodput=_as_rate(good),
        goodput_ceiling=good["ceiling"],
        max_rate=rates_within(sweep, workload, slo) if opened else _as_rate(best),
        max_rate_ceiling=best["ceiling"],
        odds=odds_at(at_load, workload, slo),
    )


def met_at(sweep: Sweep, workload: ResolvedWorkload, slo: Targets, side: str) -> bool | None:
    """Whether a load meets every target that binds at one side of the band (`mid`, or `high`: the slow end).

    None where one is not known or none is asked.
    """
    slo = binding_targets(slo, workload)
    columns = sweep.evaluate(rows_of(workload, np.array([float(workload.concurrency)])))
    return _all_met(_met(columns, slo, side, workload), slo, Reason(int(columns["reason"][0])))


def rates_within(sweep: Sweep, workload: ResolvedWorkload, slo: Targets) -> Triple:
    """The highest rate of arrivals within every target: safely (9 in 10), likely (even), and hardly (1 in 10).

    What the replica hardly serves is that of the fast end of its band, whose queue is shorter at every rate.
    """
    slo = binding_targets(slo, workload)
    percentile = slo.percentile_in(workload.mode)
    if not targets_of(slo):
        return _as_rate({side: _highest_rate(sweep, workload, slo, side, percentile) for side in _SIDES})
    fast = _highest_rate(sweep, workload, slo, "low", percentile)
    low, mid = (rate_with_chance(sweep, workload, slo, chance) for chance in (SAFE, LIKELY))
    return Triple(low=low, mid=mid, high=None if fast is None or mid is None else max(fast, mid))


def rate_with_chance(sweep: Sweep, workload: ResolvedWorkload, slo: Targets, chance: float) -> float | None:
    """The highest stable rate of arrivals that meets every target with this chance; 0 where none does.

    It is no more than the replica serves with this chance.
    """
    slo = binding_targets(slo, workload)
    ones = np.ones(1)
    stable = float(sweep.evaluate(rows_of(workload, ones, rate=ones))["max_stable_requests_per_s"][0])
    if not np.isfinite(stable) or stable <= 0.0:
        return None
    beyond = sweep.evaluate(rows_of(workload, ones, rate=_BEYOND * stable * ones))
    served = [float(beyond[f"requests_per_s_{RATE_SIDE[side]}"][0]) for side in ("low", "mid", "high")]
    if min(served) <= 0.0:
        return None
    fast, most, slow = served
    each = Ends(low=most / fast, mid=1.0, high=most / slow, least=0.0)
    low, high, best = 0.0, min(stable, most / float(time_at(chance, each))), 0.0
    for _pass in range(3):
        points = np.linspace(low, high, _POINTS + 1)[1:]
        said, _alone = chances(sweep.evaluate(rows_of(workload, np.ones(_POINTS), rate=points)), workload, slo)
        inside = np.flatnonzero(np.nan_to_num(said) >= chance)
        if not len(inside):
            high = float(points[0])
            continue
        best = float(points[inside[-1]])
        if inside[-1] + 1 >= len(points):
            break
        low, high = best, float(points[inside[-1] + 1])
    return best


def _met(columns: dict[str, Any], slo: Targets, side: str, workload: ResolvedWorkload) -> dict[str, bool | None]:
    """Each target at one side of the band; None where it is not asked or not known."""
    met: dict[str, bool | None] = {}
    for name in TARGETS:
        target = getattr(slo, name)
        value = float(times_of(columns, name, side, slo.percentile_in(workload.mode), workload)[0])
        met[name] = None if target is None else (bool(value <= target) if np.isfinite(value) else None)
    return met


def _all_met(met: Mapping[str, bool | None], slo: Targets, reason: Reason) -> bool | None:
    """Whether all targets are met; None where one is not known or none is asked.

    Where the queue grows none of them is: whatever a request in service takes, ever more of them wait without end.
    """
    asked = [met[name] for name in TARGETS if getattr(slo, name) is not None]
    if asked and reason is Reason.QUEUE_GROWS:
        return False
    if None in asked or not asked:
        return False if False in asked else None
    return all(asked)


def _as_rate(by_time_side: dict[str, float | None]) -> Triple:
    return Triple(low=by_time_side["high"], mid=by_time_side["mid"], high=by_time_side["low"])


def times_of(columns: dict[str, Any], name: str, side: str, percentile: int, workload: ResolvedWorkload) -> Floats:
    """Times of one side; those of an open load at the percentile."""
    times: Floats = columns[f"{name}_{side}"]
    if workload.mode is not WorkloadMode.OPEN_LOOP or side == "ceiling":
        return times
    return open_times(columns, name, side, percentile, workload.output_tokens)


def open_times(columns: Mapping[str, Any], name: str, side: str, percentile: int, output_tokens: Any) -> Floats:
    """Times of an open load: TTFT and end-to-end time at the percentile, scaled by the band of the mean.

    Both are the client's, whichever first token `workload.traffic` asks for: `ttft_s` of a column may be another.
    """
    times: Floats = columns[f"{name}_{side}"]
    if name == "tpot_s":
        return times
    first = columns[f"ttft_s_p{percentile}"] * (columns[f"ttft_s_{side}"] / columns["ttft_s_mid"])
    if name == "ttft_s":
        return np.asarray(first, dtype=np.float64)
    tokens = np.asarray(output_tokens, dtype=np.float64)
    later = np.where(has_gaps(tokens), answer_time_s(0.0, columns[f"tpot_s_{side}"], tokens), 0.0)
    return np.asarray(first + later, dtype=np.float64)


def _within(columns: dict[str, Any], slo: Targets, side: str, workload: ResolvedWorkload, percentile: int) -> Bools:
    inside = np.ones(np.shape(columns["reason"]), dtype=bool)
    for name in TARGETS:
        target = getattr(slo, name)
        if target is not None:
            with np.errstate(invalid="ignore"):
                inside &= times_of(columns, name, side, percentile, workload) <= target
    return inside


def _goodput(columns: dict[str, Any], slo: Targets, side: str, workload: ResolvedWorkload) -> float | None:
    """Goodput at one side of the band, requests/s; None where no rate is said."""
    found = goodput(
        columns,
        slo,
        side,
        opened=np.array([workload.mode is WorkloadMode.OPEN_LOOP]),
        binds=np.array([tpot_binds(workload)]),
        output_tokens=np.array([float(workload.output_tokens)]),
    )[0]
    return float(found) if np.isfinite(found) else None


def _highest_rate(sweep: Sweep, workload: ResolvedWorkload, slo: Targets, side: str, percentile: int) -> float | None:
    if workload.mode not in _SEARCHED:
        return None
    if workload.mode is WorkloadMode.OPEN_LOOP:
        return _highest_open(sweep, workload, slo, side, percentile)
    return _highest_closed(sweep, workload, slo, side, percentile)


def _highest_closed(sweep: Sweep, workload: ResolvedWorkload, slo: Targets, side: str, percentile: int) -> float | None:
    """Best requests/s over concurrencies whose times meet the targets."""
    mode = WorkloadMode.CLOSED_LOOP
    first = sweep.evaluate(rows_of(workload, np.ones(1), mode=mode))
    room = float(first["max_sequences"][0])
    if not np.isfinite(room) or room < 1:
        return None
    low, high = 1.0, max(min(room, _LIMIT), 1.0)
    best = 0.0
    for _pass in range(3):
        points = np.unique(np.round(np.geomspace(low, high, _POINTS)))
        columns = sweep.evaluate(rows_of(workload, points, mode=mode))
        inside = _within(columns, slo, side, workload, percentile)
        rates = np.where(inside, columns[f"requests_per_s_{RATE_SIDE[side]}"], 0.0)
        if not inside.any():
            return best
        best = max(best, float(np.nanmax(rates)))
        last = int(np.flatnonzero(inside)[-1])
        if last + 1 >= len(points):
            return best
        low, high = float(points[last]), float(points[last + 1])
    return best


def _highest_open(sweep: Sweep, workload: ResolvedWorkload, slo: Targets, side: str, percentile: int) -> float | None:
    """Highest stable rate of arrivals whose times meet the targets.

    The search runs on the model's own rates; a replica that yields `share` of them queues at `share` of each.
    """
    ones = np.ones(1)
    stable = float(sweep.evaluate(rows_of(workload, ones, rate=ones))["max_stable_requests_per_s"][0])
    if not np.isfinite(stable) or stable <= 0.0:
        return None
    beyond = sweep.evaluate(rows_of(workload, ones, rate=_BEYOND * stable * ones))
    stable = float(beyond["requests_per_s_mid"][0])
    at_most = float(beyond[f"requests_per_s_{RATE_SIDE[side]}"][0])
    if side == "ceiling":
        return at_most if bool(_within(beyond, slo, side, workload, percentile)[0]) else 0.0
    share = at_most / stable
    low, high, best = 0.0, stable, 0.0
    for _pass in range(3):
        points = np.linspace(low, high, _POINTS + 1)[1:]
        columns = sweep.evaluate(rows_of(workload, np.ones(_POINTS), rate=points))
        inside = _within(columns, slo, side, workload, percentile)
        if not inside.any():
            high = float(points[0])
            continue
        last = int(np.flatnonzero(inside)[-1])
        best = float(points[last])
        if last + 1 >= len(points):
            break
        low, high = best, float(points[last + 1])
    return best * share
