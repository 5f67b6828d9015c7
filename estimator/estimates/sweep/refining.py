"""Between the last batch size of a list that holds the targets and the first that misses them: the largest that holds.

A list of powers of two says where the targets end to a factor of two, and the cheapest setting stands at that end.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from estimator.engine.options import TARGETS, BandSide
from estimator.estimates.sweep.loads import Loads, of_batches
from estimator.question.workload import Targets

Ints = NDArray[np.int64]
Holds = Callable[[Ints, Ints], NDArray[np.int8]]


def has_targets(slo: Targets) -> bool:
    """Whether any target is asked for."""
    return any(getattr(slo, name) is not None for name in TARGETS)


def of_side(slo: Targets, side: BandSide) -> Targets:
    """The same targets held against a side of the band."""
    return slo.model_copy(update={"band_side": side})


def with_refined(lists: Sequence[Loads], points: Ints, holds: Sequence[Holds]) -> list[Loads]:
    """The loads of each point with those found between them, marked; at most one more for each side of the band.

    Args:
        lists: loads of every point, batch sizes ascending.
        points: those whose loads are batch sizes of a list.
        holds: for each side of the band, whether points hold the targets at batch sizes (1, 0; −1: not known).
    """
    found = [_largest(lists, points, of_side) for of_side in holds]
    refined = list(lists)
    for place, point in enumerate(points):
        given = lists[point].batch
        more = sorted({int(side[place]) for side in found} - {0, *map(int, given)})
        if more:
            refined[point] = of_batches(np.sort(np.append(given, more)), more)
    return refined


def _largest(lists: Sequence[Loads], points: Ints, holds: Holds) -> Ints:
    """The largest batch of each point that holds the targets below the first of its list that misses them; 0: none.

    Halving finds it in as many looks as the widest gap has bits, for all points at once.
    """
    sizes = [lists[point].batch for point in points]
    counts = np.array([len(one) for one in sizes])
    met = holds(np.repeat(points, counts), np.concatenate(sizes))
    ends = np.cumsum(counts)
    low, high = np.zeros(len(points), dtype=np.int64), np.zeros(len(points), dtype=np.int64)
    for place, (batches, end) in enumerate(zip(sizes, ends, strict=True)):
        own = met[end - len(batches) : end]
        misses = np.flatnonzero(own == 0)
        if len(misses) and (misses[0] == 0 or own[misses[0] - 1] == 1):
            low[place] = batches[misses[0] - 1] if misses[0] else 0
            high[place] = batches[misses[0]]
    while len(open_ := np.flatnonzero(high - low > 1)):
        middle = (low[open_] + high[open_]) // 2
        kept = holds(points[open_], middle)
        low[open_] = np.where(kept == 1, middle, low[open_])
        # Where it is not known whether a load holds, nothing is said between.
        high[open_] = np.where(kept == 0, middle, np.where(kept == 1, high[open_], low[open_]))
    return low
