"""Questions and limits of columns that are as quick for a single number, where numpy takes ten times as long."""

from typing import Any

import numpy as np


def any_of(flags: Any) -> bool:
    """Whether a number, or any of a column, is true or not 0.

    >>> any_of(np.float64(0.0)), any_of(np.array([0.0, 2.0])), any_of(np.bool_(True))
    (False, True, True)
    """
    return bool(np.any(flags)) if isinstance(flags, np.ndarray) else bool(flags)


def within(values: Any, low: Any, high: Any) -> Any:
    """Numbers or columns held between `low` and `high`, as `np.clip` does; NaN stays NaN.

    >>> float(within(np.float64(3.0), 0.0, 1.0)), within(np.array([-1.0, 0.5]), 0.0, 1.0).tolist()
    (1.0, [0.0, 0.5])
    """
    if isinstance(values, float) and isinstance(low, float) and isinstance(high, float):
        # The upper limit last: where they cross it holds, as in numpy.
        at_least = low if values < low else values
        return np.float64(high if at_least > high else at_least)
    return np.clip(values, low, high)
