"""Open load: waits of requests that arrive at a rate, bursty or not, by a stated approximation.

Prompts wait for one server that takes them one after the other in equal time: GI/D/1 with Gamma gaps between arrivals.
Its waits are tabulated (`queue_table`) and interpolated. Waits for a free sequence, which matter only near the capacity
of the KV cache, are added as those of GI/D/c by Sakasegawa's formula.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.constants.scheduling import SCHEDULING
from estimator.engine.serving.queue_table import LOADS, PERCENTILES, VARIATIONS, WAITS

Floats = npt.NDArray[np.float64]

_TABLE = np.array(WAITS, dtype=np.float64)
# Shares of requests beyond the 99th percentile, and beyond the 95th over beyond the 99th.
_BEYOND_LAST, _TAIL_RATIO = 0.01, 5.0
_LOADS = np.array(LOADS, dtype=np.float64)
_SQUARES = np.array(VARIATIONS, dtype=np.float64) ** 2
# Waits grow as 1 / (1 − load): what is left varies slowly enough to interpolate. Load 0 waits nothing.
_SCALED = _TABLE * (1.0 - _LOADS)[None, :, None]


def wait_in_services(load: Any, variation: Any) -> Floats:
    """Waits before service in units of the service time: last axis mean, p50, p90, p95, p99.

    Args:
        load: utilization of the server in [0, 1); at 1 and above the waits are infinite.
        variation: coefficient of variation of the gaps between arrivals; 1 is Poisson, 0 regular.

    Returns:
        Array of the broadcast shape plus one axis of five.

    Source: simulation of Lindley's recursion, `queue_table`; beyond 95 % load the last row grows with 1 / (1 − load).

    Unit: services, multiples of the service seconds. Equation: docs/model.md, eq. (45).

    >>> wait_in_services(0.5, 1.0)[0].item()  # M/D/1: load / (2 · (1 − load)) = 0.5
    0.50028
    """
    rho, cv = np.broadcast_arrays(np.asarray(load, dtype=np.float64), np.asarray(variation, dtype=np.float64))
    inside = np.clip(rho, 0.0, _LOADS[-1])
    column = np.clip(np.searchsorted(_LOADS, inside, side="right") - 1, 0, len(_LOADS) - 2)
    share = (inside - _LOADS[column]) / (_LOADS[column + 1] - _LOADS[column])
    squares = np.minimum(cv**2, _SQUARES[-1])
    row = np.clip(np.searchsorted(_SQUARES, squares, side="right") - 1, 0, len(_SQUARES) - 2)
    weight = (squares - _SQUARES[row]) / (_SQUARES[row + 1] - _SQUARES[row])
    below = inside < _LOADS[0]

    def at(row_index: Any) -> Floats:
        low = _SCALED[row_index, column]
        high = _SCALED[row_index, column + 1]
        value = low + (high - low) * share[..., None]
        small = _SCALED[row_index, 0] * (inside / _LOADS[0])[..., None]
        found: Floats = np.where(below[..., None], small, value)
        return found

    low_row, high_row = at(row), at(row + 1)
    scaled = low_row + (high_row - low_row) * weight[..., None]
    # Regular arrivals (variation 0) never wait: below the first row waits shrink with the square.
    first = np.minimum(squares / _SQUARES[0], 1.0)
    scaled = np.maximum(scaled, 0.0)
    scaled = np.where((squares < _SQUARES[0])[..., None], at(np.zeros_like(row)) * first[..., None], scaled)
    with np.errstate(divide="ignore"):
        waits: Floats = np.where((rho < 1.0)[..., None], scaled / np.maximum(1.0 - rho, 1e-12)[..., None], np.inf)
    return waits


def slot_wait_s(*, load: Any, servers: Any, service_s: Any, variation: Any) -> Floats:
    """Wait for one of `servers` places, each busy `service_s`: last axis mean, p50, p90, p95, p99, seconds.

    Mean `cv²/2 · load^(√(2(c+1)) − 1) / (c·(1 − load)) · service` (Sakasegawa 1977, equal service times); those who
    wait, a share `load^(√(2(c+1)) − 1)`, wait exponentially long.

    Equation: docs/model.md, eq. (46). Source: Sakasegawa 1977, doi 10.1007/BF02532766.

    >>> waits = slot_wait_s(load=0.9, servers=10.0, service_s=5.0, variation=1.0)
    >>> round(float(waits[0]), 2)
    1.69
    """
    places = np.maximum(np.asarray(servers, dtype=np.float64), 1.0)
    rho = np.clip(np.asarray(load, dtype=np.float64), 0.0, SCHEDULING.open_loop_load_limit)
    waiting = np.power(rho, np.sqrt(2.0 * (places + 1.0)) - 1.0)
    long = np.asarray(variation) ** 2 / 2.0 * service_s / (places * (1.0 - rho))
    ends = [waiting * long]
    for percentile in PERCENTILES:
        beyond = 1.0 - percentile / 100.0
        ends.append(long * np.log(np.maximum(waiting / beyond, 1.0)))
    out: Floats = np.stack(np.broadcast_arrays(*ends), axis=-1)
    return out


def share_within(target_s: Any, waits_s: Any, base_s: Any) -> Floats:
    """Share of requests whose `base + wait` meets a target, from the percentiles of the wait (last axis of five).

    Linear between the tabulated percentiles; beyond the 99th the tail falls as between the 95th and the 99th.

    Equation: docs/model.md, eq. (47). Source: interpolation of the percentiles.

    >>> round(float(share_within(1.0, [0.2, 0.1, 0.5, 0.8, 1.6], 0.4)), 3)  # 0.6 s of room: between P90 and P95
    0.917
    """
    room = np.asarray(target_s) - np.asarray(base_s)
    points = np.asarray(waits_s)[..., 1:]
    levels = np.array([p / 100.0 for p in PERCENTILES])
    share = np.where(room >= 0.0, levels[0] * np.minimum(room / np.maximum(points[..., 0], 1e-12), 1.0), 0.0)
    for k in range(len(levels) - 1):
        gap = np.maximum(points[..., k + 1] - points[..., k], 1e-12)
        part = np.clip((room - points[..., k]) / gap, 0.0, 1.0)
        share = np.where(room >= points[..., k], levels[k] + (levels[k + 1] - levels[k]) * part, share)
    tail = np.maximum(points[..., 3] - points[..., 2], 1e-12) / np.log(_TAIL_RATIO)
    beyond = 1.0 - _BEYOND_LAST * np.exp(-np.maximum(room - points[..., 3], 0.0) / tail)
    out: Floats = np.where(room >= points[..., 3], beyond, share)
    return out
