"""Whether the rows of a sweep meet the targets."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.engine.options import TARGETS
from estimator.services.sweep_columns import Rows


def meets_slo(columns: Rows, slo: Mapping[str, Any] | None) -> NDArray[np.int8]:
    """1 where every target given is met, 0 where one is not or there is no figure for it, −1 (null) without targets.

    `conservative` holds the slow end of the band against the target, `mid` its middle.
    """
    count = len(np.asarray(columns["row_index"]))
    targets = {name: slo[name] for name in TARGETS if slo and slo.get(name) is not None}
    if not targets or slo is None:
        return np.full(count, -1, dtype=np.int8)
    side = "mid" if slo.get("band_side") == "mid" else "high"
    met = np.ones(count, dtype=bool)
    for name, target in targets.items():
        figures = np.asarray(columns[f"{name}_{side}"], dtype=np.float64)
        met &= np.nan_to_num(figures, nan=np.inf) <= target
    return met.astype(np.int8)
