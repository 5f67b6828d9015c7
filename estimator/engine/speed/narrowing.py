"""What a measurement would tell of a decision: the doubt whether targets are met, now and after it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from estimator.constants.bands import REPEAT_HALF_WIDTHS
from estimator.engine.speed.odds import Ends, Times, time_at, together

# Equal shares of each error at which outcomes of the measurement are tried.
_OUTCOMES = 9


def doubt(chance: Any) -> Any:
    """How uncertain a yes or no of this chance is: its variance, 0 where it is sure, a quarter where it is even.

    A share. Equation: docs/model.md, eq. (78). Source: Brier 1950; the variance of a yes or no.

    >>> doubt(0.5), doubt(1.0)
    (0.25, 0.0)
    """
    return chance * (1.0 - chance)


def doubt_after(times: Times, targets: Mapping[str, float]) -> float:
    """The doubt that is left on average once TTFT and TPOT of the one row are measured: runs repeat within a band.

    A share. Outcomes are tried at equal shares of both errors, as if the two were apart. Equation: docs/model.md,
    eq. (78). Source: docs/constants.md, runs of one setting.

    >>> times = Times(
    ...     first=Ends(low=0.5, mid=1.0, high=2.0, least=0.1), each=Ends(low=0.01, mid=0.02, high=0.04, least=0.001),
    ...     whole=Ends(low=1.0, mid=3.0, high=6.0, least=0.1), gaps=100.0, first_of_whole_s=1.0,
    ... )
    >>> round(doubt_after(times, {"ttft_s": 1.0}), 3)
    0.034
    """
    shares = (np.arange(_OUTCOMES) + 0.5) / _OUTCOMES
    first, each = (part.ravel() for part in np.meshgrid(time_at(shares, times.first), time_at(shares, times.each)))
    longer = first / times.first.mid
    # A slower step leaves less to a queue; beyond its end none is finite.
    slower = np.where(times.gaps > 0.0, each / times.each.mid, 1.0)
    load = np.minimum(times.load_share * slower, 1.0 - 1e-9) if np.any(times.load_share) else 0.0
    measured = replace(
        times,
        first=_repeats(first, "ttft", times.first),
        each=_repeats(each, "tpot", times.each),
        whole=_repeats(times.whole.mid * longer, "ttft", times.whole),
        first_of_whole_s=times.first_of_whole_s * longer,
        unhurried_s=times.unhurried_s * longer,
        load_share=load,
    )
    return float(np.mean(doubt(together(measured, targets))))


def _repeats(middle: Any, metric: str, before: Ends) -> Ends:
    """The band of a figure that was measured once."""
    width = np.exp(REPEAT_HALF_WIDTHS[metric])
    return Ends(low=middle / width, mid=middle, high=middle * width, least=before.least)
