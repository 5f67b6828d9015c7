"""Goodput: the requests per second that meet every target, for one load or for the rows of a sweep."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.engine.options import TARGETS
from estimator.engine.serving.load import answer_time_s, has_gaps
from estimator.engine.serving.queue_table import PERCENTILES
from estimator.engine.serving.queueing import share_within
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.figures import RATE_SIDE
from estimator.question.workload import ResolvedWorkload, Targets

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def tpot_binds(workload: ResolvedWorkload) -> bool:
    """Whether a target of `tpot_s` can bind: an answer of one token has no time per output token."""
    return workload.mode is WorkloadMode.DECODE_STEP or bool(has_gaps(workload.output_tokens))


def goodput(
    columns: Mapping[str, Any], slo: Targets, side: str, *, opened: Bools, binds: Bools, output_tokens: Floats
) -> Floats:
    """Requests/s within every target: all at the load or none; in open load the share whose wait is short enough.

    Args:
        columns: figures of the loads.
        slo: the targets.
        side: `low`, `mid`, `high` of the times, or `ceiling`.
        opened: whether each load is one of arrivals.
        binds: whether a target of `tpot_s` can bind there.
        output_tokens: mean answer of a request.

    Returns:
        One rate for each load; NaN where none is said.
    """
    rate = np.asarray(columns[f"requests_per_s_{RATE_SIDE[side]}"], dtype=np.float64)
    share = _all_within(columns, slo, side, binds).astype(np.float64)
    if side != "ceiling" and opened.any():
        at = {name: np.asarray(columns[name], dtype=np.float64)[opened] for name in _columns_of(side)}
        share[opened] = _share_within(at, slo, side, binds[opened], output_tokens[opened])
    return rate * share


def _all_within(columns: Mapping[str, Any], slo: Targets, side: str, binds: Bools) -> Bools:
    inside = np.ones(len(binds), dtype=bool)
    for name in TARGETS:
        target = getattr(slo, name)
        if target is not None:
            with np.errstate(invalid="ignore"):
                met = np.asarray(columns[f"{name}_{side}"], dtype=np.float64) <= target
            inside &= met | ~binds if name == "tpot_s" else met
    return inside


def _share_within(
    columns: Mapping[str, Floats], slo: Targets, side: str, binds: Bools, output_tokens: Floats
) -> Floats:
    """Share of requests inside every target, from the percentiles of TTFT; tokens after the first take equal time."""
    tpot = columns[f"tpot_s_{side}"]
    room = np.full(len(binds), np.inf)
    if slo.ttft_s is not None:
        room = np.minimum(room, slo.ttft_s)
    if slo.e2e_s is not None:
        later = np.where(has_gaps(output_tokens), answer_time_s(0.0, tpot, output_tokens), 0.0)
        room = np.minimum(room, slo.e2e_s - later)
    least = columns["ttft_s_ceiling"]
    scale = columns[f"ttft_s_{side}"] / columns["ttft_s_mid"]
    waits = np.stack([np.zeros(len(binds)), *(columns[f"ttft_s_p{p}"] * scale - least for p in PERCENTILES)], axis=-1)
    known = np.isfinite(waits).all(axis=-1)
    share = np.where(known, share_within(room, np.nan_to_num(waits), least), 0.0)
    share = np.where(np.isinf(room), 1.0, share)
    with np.errstate(invalid="ignore"):
        slow = binds & (tpot > slo.tpot_s) if slo.tpot_s is not None else np.zeros(len(binds), dtype=bool)
    return np.where(slow, 0.0, share)


def _columns_of(side: str) -> tuple[str, ...]:
    percentiles = (f"ttft_s_p{p}" for p in PERCENTILES)
    return ("ttft_s_mid", "ttft_s_ceiling", f"ttft_s_{side}", f"tpot_s_{side}", *percentiles)
