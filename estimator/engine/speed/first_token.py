"""Time to the first token as a question asks for it: mean or percentile, and from where it is taken."""

from enum import IntEnum
from typing import Any

import numpy as np

from estimator.engine.elementwise import any_of
from estimator.engine.serving.queue_table import PERCENTILES
from estimator.engine.serving.waves import Loop, quantiles_s
from estimator.engine.speed.figures import Columns


class TakenAt(IntEnum):
    """Where the clock of a first token starts, by code.

    CLIENT: the client sends; it stops when the client has the token. ADMISSION: the scheduler has the request, so that
    client and server are left out. FORWARD: the first pass of the prompt starts, so that waits are left out too.
    """

    CLIENT = 0
    ADMISSION = 1
    FORWARD = 2


_SHARES = tuple(percentile / 100.0 for percentile in PERCENTILES)


def loop_columns(loop: Loop, queue_s: Any, columns: Columns) -> Columns:
    """Percentiles of TTFT in a closed loop, and the seconds of its mean that are outside the engine and in waits.

    Everybody waits `queue_s` for a place where more are in flight than run at once.
    """
    found: Columns = {}
    for percentile, value in zip(PERCENTILES, quantiles_s(loop, _SHARES), strict=True):
        found[f"ttft_s_p{percentile}"] = np.maximum(value + queue_s, columns["ttft_s_ceiling"])
    wait: Any = 0.0
    for share, each in zip(loop.shares, loop.waits_s, strict=True):
        wait = wait + share * each
    waiting = loop.steps_s + wait + queue_s
    forward = loop.ttft_s + queue_s - loop.first_s - waiting
    return found | {"ttft_outside_s": loop.first_s, "ttft_waiting_s": waiting, "ttft_forward_s": forward}


def as_asked(columns: Columns, statistic: Any, taken_at: Any) -> Columns:
    """TTFT of the statistic and place that a row asks for, its band scaled with it.

    `statistic` is the percentile's share, 0 for the mean; end-to-end times stay those of the client's mean.
    """
    if "ttft_outside_s" not in columns or not (any_of(statistic) or any_of(taken_at)):
        return columns
    mean = columns["ttft_s_mid"]
    outside = np.where(np.asarray(taken_at) >= TakenAt.ADMISSION, columns["ttft_outside_s"], 0.0)
    value = mean - outside
    for percentile, share in zip(PERCENTILES, _SHARES, strict=True):
        value = np.where(statistic == share, columns[f"ttft_s_p{percentile}"] - outside, value)
    value = np.where(np.asarray(taken_at) == TakenAt.FORWARD, columns["ttft_forward_s"], value)
    scale = np.maximum(value, columns["ttft_s_ceiling"]) / mean
    for side in ("low", "mid", "high"):
        columns[f"ttft_s_{side}"] = np.maximum(columns[f"ttft_s_{side}"] * scale, columns["ttft_s_ceiling"])
    return columns
