"""What a GPU draws: idle, and a share of what is left that grows with what it does and never passes its limit.

Shares of bandwidth and peak in use come from the ceiling's bytes and FLOPs at the expected rate, so that they are at
most 1. Constants and their evidence: docs/constants.md, power.
"""

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from estimator.constants.power import POWER, half_width_row
from estimator.engine.cost.self_hosted import TOKENS_PER_MTOK
from estimator.engine.errors import InvalidInputError
from estimator.engine.specs import Gpu

# A thousand watts for an hour.
JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """Power of one GPU in W, numbers or arrays over keys; NaN where its design power is not known.

    `most_w` is what it sustains, `limit_w` its design power or a lower cap, `half_width` that of its band in ln.
    """

    idle_w: Any
    most_w: Any
    limit_w: Any
    half_width: Any


def draw_of(gpu: Gpu, cap_w: float | None = None) -> Draw:
    """The power of a GPU, perhaps capped.

    Args:
        gpu: with its design power in W, if that is known.
        cap_w: most power that the GPU may draw, W; None for its design power.

    Raises:
        InvalidInputError: a cap at which the GPU could do nothing.
    """
    width = half_width_row(gpu.slug, gpu.kernel_family).value
    if gpu.tdp_w is None:
        return Draw(idle_w=nan, most_w=nan, limit_w=nan, half_width=width)
    idle = POWER.idle_share * gpu.tdp_w
    if cap_w is not None and cap_w <= idle:
        raise InvalidInputError(f"power_cap_w must be above what this GPU draws idle, {idle:g} W", field="power_cap_w")
    limit = gpu.tdp_w if cap_w is None else min(cap_w, gpu.tdp_w)
    return Draw(idle_w=idle, most_w=POWER.most_share * gpu.tdp_w, limit_w=limit, half_width=width)


def gpu_watts(draw: Draw, *, busy: Any, memory_share: Any, compute_share: Any) -> Any:
    """Power that a GPU without a cap would draw.

    Args:
        draw: idle and sustained power.
        busy: share of the time in which it runs kernels, 0 to 1.
        memory_share: share of its bandwidth in use, 0 to 1.
        compute_share: share of its dense peak in use, 0 to 1.

    Returns:
        W, from idle to sustained power.

    Equation: docs/model.md, eq. (74). Source: docs/constants.md, power.

    >>> h100 = Draw(idle_w=70.0, most_w=679.0, limit_w=700.0, half_width=0.27)
    >>> [round(float(gpu_watts(h100, busy=b, memory_share=m, compute_share=c)))
    ...  for b, m, c in ((0.0, 0.0, 0.0), (1.0, 0.7, 0.02), (1.0, 0.2, 0.4))]
    [70, 546, 658]
    """
    work = POWER.active * busy + POWER.memory * memory_share + POWER.compute * compute_share
    return draw.idle_w - (draw.most_w - draw.idle_w) * np.expm1(-work)


def watts_ends(draw: Draw, watts: Any) -> tuple[Any, Any, Any]:
    """Low end, middle and high end of the power, between idle and the limit.

    Unit: W. Equation: docs/model.md, eq. (75). Source: docs/constants.md, power.

    >>> h100 = Draw(idle_w=70.0, most_w=679.0, limit_w=500.0, half_width=0.27)
    >>> [round(float(end)) for end in watts_ends(h100, 600.0)]
    [458, 500, 500]
    """
    spread = np.exp(draw.half_width)
    ends = (watts / spread, watts, watts * spread)
    low, mid, high = (np.minimum(np.maximum(end, draw.idle_w), draw.limit_w) for end in ends)
    return low, mid, high


def unknown_work_ends(draw: Draw) -> tuple[Any, Any, Any]:
    """Power of a busy GPU of whose work nothing is known: from busy without traffic to its limit, and their mean.

    Unit: W. Equation: docs/model.md, eq. (75). Source: docs/constants.md, power.

    >>> h100 = Draw(idle_w=70.0, most_w=679.0, limit_w=700.0, half_width=0.27)
    >>> [round(float(end)) for end in unknown_work_ends(h100)]
    [497, 598, 700]
    """
    low = np.minimum(gpu_watts(draw, busy=1.0, memory_share=0.0, compute_share=0.0), draw.limit_w)
    return low, (low + draw.limit_w) / 2.0, draw.limit_w


def mean_watts(draw: Draw, watts: Any, load_share: Any) -> Any:
    """Power of a GPU that works a share of the time and is idle the rest.

    Unit: W. Equation: docs/model.md, eq. (53). Source: definition.

    >>> h100 = Draw(idle_w=70.0, most_w=679.0, limit_w=700.0, half_width=0.27)
    >>> mean_watts(h100, 570.0, 0.5)
    320.0
    """
    return load_share * watts + (1.0 - load_share) * draw.idle_w


def capped_slowdown(draw: Draw, watts: Any) -> tuple[Any, Any, Any]:
    """How much longer everything takes under a cap: at the fast end, in the middle, and at the slow end of the band.

    At best nothing (transfers bind, and memory keeps its clock). At worst in proportion to the power beyond idle that
    the cap leaves, as if each operation took as much energy as before. The middle is that of a clock that falls with
    its voltage.

    Args:
        draw: with its limit.
        watts: what it would draw without a cap, W.

    Without unit: factors of times, 1 or more. Equation: docs/model.md, eq. (76). Source: docs/constants.md, power.

    >>> h100 = Draw(idle_w=70.0, most_w=679.0, limit_w=385.0, half_width=0.27)
    >>> [round(float(factor), 2) for factor in capped_slowdown(h100, 600.0)]
    [1.0, 1.19, 1.68]
    """
    worst = np.maximum((watts - draw.idle_w) / (draw.limit_w - draw.idle_w), 1.0)
    # As a function of arrays: the power of a number alone may differ from it in the last bit.
    return np.ones_like(worst), np.power(worst, POWER.capped_exponent), worst


def joules_to_kwh_per_mtok(joules_per_token: Any) -> Any:
    """Energy of a million tokens: 10^6 tokens of so many joules, 3.6 · 10^6 J a kWh.

    Unit: kWh. Equation: docs/model.md, eq. (77). Source: definition.

    >>> float(joules_to_kwh_per_mtok(0.9))
    0.25
    """
    return joules_per_token / JOULES_PER_KWH * TOKENS_PER_MTOK
