"""Questions of columns that are as quick for a single number, where numpy takes ten times as long and more."""

from typing import Any

import numpy as np


def any_of(flags: Any) -> bool:
    """Whether a number, or any of a column, is true or not 0.

    >>> any_of(np.float64(0.0)), any_of(np.array([0.0, 2.0])), any_of(np.bool_(True))
    (False, True, True)
    """
    return bool(flags.any()) if isinstance(flags, np.ndarray) else bool(flags)


def choose(flags: Any, one: Any, other: Any) -> Any:
    """The one where a number, or each of a column, is true, else the other.

    >>> choose(np.bool_(True), np.float64(1.0), 2.0), choose(np.array([True, False]), 1.0, 2.0)
    (np.float64(1.0), array([1., 2.]))
    """
    if isinstance(flags, np.ndarray):
        return np.where(flags, one, other)
    chosen = one if flags else other
    # A float of Python would fail where numpy says inf.
    return np.float64(chosen) if type(chosen) is float else chosen
