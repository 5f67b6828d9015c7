"""Whether the rows of a sweep meet the targets."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.engine.options import TARGETS
from estimator.engine.serving.queue_table import PERCENTILES
from estimator.engine.serving.steady_state import has_gaps
from estimator.services.sweep_columns import Rows
from estimator.services.throughput_targets import OPEN_PERCENTILE, open_times


def meets_slo(columns: Rows, slo: Mapping[str, Any] | None) -> NDArray[np.int8]:
    """1 where every target given is met, 0 where one is not or there is no figure for it, −1 (null) without targets.

    `conservative` holds the slow end of the band against the target, `mid` its middle. Under open load the times are
    those at the percentile, and a queue that grows meets no target: whatever a request takes now, later ones wait more.
    A target of `tpot_s` does not bind answers of one token, which have no such time.
    """
    count = len(np.asarray(columns["row_index"]))
    targets = {name: slo[name] for name in TARGETS if slo and slo.get(name) is not None}
    if not targets or slo is None:
        return np.full(count, -1, dtype=np.int8)
    side = "mid" if slo.get("band_side") == "mid" else "high"
    opened = np.flatnonzero(~np.isnan(np.asarray(columns["offered_requests_per_s"], dtype=np.float64)))
    under_load = {name: np.asarray(columns[name])[opened] for name in _OPEN_COLUMNS} if len(opened) else {}
    met = np.isfinite(np.asarray(columns["tokens_per_s_total_mid"], dtype=np.float64))
    for name, target in targets.items():
        figures = np.array(columns[f"{name}_{side}"], dtype=np.float64)
        if len(opened):
            figures[opened] = open_times(under_load, name, side, slo.get("percentile") or OPEN_PERCENTILE)
        inside = np.nan_to_num(figures, nan=np.inf) <= target
        if name == "tpot_s":
            inside |= ~has_gaps(columns["output_tokens"])
        met &= inside
    met &= ~(np.asarray(columns["utilization"], dtype=np.float64) >= 1.0)
    return met.astype(np.int8)


_OPEN_COLUMNS = (
    *(f"{name}_{side}" for name in TARGETS for side in ("mid", "high")),
    *(f"ttft_s_p{percentile}" for percentile in PERCENTILES),
)
