"""Whether the rows of a sweep meet the targets, and their goodput."""

import numpy as np
from numpy.typing import NDArray

from estimator.engine.options import TARGETS, BandSide
from estimator.engine.serving.queue_table import PERCENTILES
from estimator.engine.specs import WorkloadMode
from estimator.estimates.sweep.columns import GOODPUT, Rows
from estimator.estimates.throughput.goodput import goodput
from estimator.estimates.throughput.targets import open_times
from estimator.question.workload import Targets


def meets_slo(columns: Rows, slo: Targets | None, binds_tpot: NDArray[np.bool_]) -> NDArray[np.int8]:
    """1: every target is met, 0: one is not, −1 (null): that is not known; as `meets_slo.all` of an estimate.

    `conservative` holds the slow end of the band against the target, `mid` its middle. Under open load the times are
    those at the percentile, and a queue that grows meets no target: whatever a request takes now, later ones wait more.
    A target of `tpot_s` does not bind answers of one token, which have no such time. Not known: no target binds, or
    none is missed and one has no figure.
    """
    count = len(np.asarray(columns["row_index"]))
    targets = {name: target for name in TARGETS if slo and (target := getattr(slo, name)) is not None}
    if not targets or slo is None:
        return np.full(count, -1, dtype=np.int8)
    side = "mid" if slo.band_side is BandSide.MID else "high"
    opened = np.flatnonzero(~np.isnan(np.asarray(columns["offered_requests_per_s"], dtype=np.float64)))
    under_load = {name: np.asarray(columns[name])[opened] for name in _OPEN_COLUMNS} if len(opened) else {}
    bound, missed, unknown = (np.zeros(count, dtype=bool) for _kind in range(3))
    for name, target in targets.items():
        figures = np.array(columns[f"{name}_{side}"], dtype=np.float64)
        if len(opened):
            percentile = slo.percentile_in(WorkloadMode.OPEN_LOOP)
            figures[opened] = open_times(under_load, name, side, percentile, under_load["output_tokens"])
        binds = binds_tpot if name == "tpot_s" else np.ones(count, dtype=bool)
        known = np.isfinite(figures)
        bound |= binds
        missed |= binds & known & ~(figures <= target)
        unknown |= binds & ~known
    missed |= bound & (np.asarray(columns["utilization"], dtype=np.float64) >= 1.0)
    return np.where(missed, 0, np.where(unknown | ~bound, -1, 1)).astype(np.int8)


def goodput_columns(columns: Rows, slo: Targets | None, binds_tpot: NDArray[np.bool_]) -> Rows:
    """Requests/s within every target at each end of the band, as `goodput_requests_per_s` of an estimate.

    Args:
        columns: the figures of the rows.
        slo: the targets; without one there is no goodput.
        binds_tpot: whether a target of `tpot_s` can bind in each row.
    """
    sides = {"low": "high", "mid": "mid", "high": "low", "ceiling": "ceiling"}
    if slo is None or all(getattr(slo, name) is None for name in TARGETS):
        nothing = np.full(len(binds_tpot), np.nan)
        return {f"{GOODPUT}_{side}": nothing for side in sides}
    opened = ~np.isnan(np.asarray(columns["offered_requests_per_s"], dtype=np.float64))
    tokens = np.asarray(columns["output_tokens"], dtype=np.float64)
    return {
        f"{GOODPUT}_{side}": goodput(columns, slo, times, opened=opened, binds=binds_tpot, output_tokens=tokens)
        for side, times in sides.items()
    }


_OPEN_COLUMNS = (
    "output_tokens",
    *(f"{name}_{side}" for name in TARGETS for side in ("mid", "high")),
    *(f"ttft_s_p{percentile}" for percentile in PERCENTILES),
)
