"""Figures of rows moved by what runs of their setting say: a factor for each time, and all that follows from them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.engine.calibration.correction import Correction
from estimator.engine.serving.load import Load
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.figures import RATE_SIDE, Columns

_MODES = (WorkloadMode.CLOSED_LOOP, WorkloadMode.SINGLE_STREAM)
"""The modes in which a run can be held against an estimate: what was measured in them says nothing of the others."""
_OF_TTFT = (
    "ttft_s_p50",
    "ttft_s_p90",
    "ttft_s_p95",
    "ttft_s_p99",
    "ttft_outside_s",
    "ttft_waiting_s",
    "ttft_forward_s",
)
_OF_TPOT = ("step_s", "step_cache_s")
_RATES = ("tokens_per_s_total", "tokens_per_s_per_gpu", "requests_per_s")


def corrected(
    columns: Columns,
    load: Load,
    mode: WorkloadMode,
    corrections: Mapping[int, Correction],
    keys: npt.NDArray[np.intp],
) -> Columns:
    """The columns of closed loops and single streams with the corrections of their keys, never faster than the ceiling.

    Args:
        columns: ceiling and expectation of the rows.
        load: what was asked of the rows.
        mode: of all rows; those of the others stay as they are.
        corrections: of the keys that have one.
        keys: the key of each row, or of none where all rows are of the first.
    """
    if not corrections or mode not in _MODES:
        return columns
    shape = np.broadcast_shapes(np.shape(columns["tpot_s_mid"]), np.shape(keys))
    first, each = np.ones(shape), np.ones(shape)
    asked = tuple(np.broadcast_to(one, shape) for one in (load.input_tokens, load.output_tokens, load.concurrency))
    for place, correction in corrections.items():
        where = np.broadcast_to(np.asarray(keys) == place, shape)
        at = (asked[0][where], asked[1][where], asked[2][where])
        first[where] = correction.factor("ttft_s", at)
        each[where] = correction.factor("tpot_s", at)
    moved = dict(columns)
    for names, factor in ((_OF_TTFT, first), (_OF_TPOT, each)):
        moved |= {name: columns[name] * factor for name in names if name in columns}
    moved |= {name: columns[name] * each for name in columns if name.startswith("step_") and name not in _OF_TPOT}
    for side in ("low", "mid", "high"):
        moved |= _side(columns, load, first, each, side)
    # The watts stay, so joules go with the time of a token.
    longer = columns["tokens_per_s_total_mid"] / moved["tokens_per_s_total_mid"]
    return moved | {name: columns[name] * longer for name in columns if name.startswith("joules_")}


def _side(columns: Columns, load: Load, first: Any, each: Any, side: str) -> Columns:
    """One end of the band: rates follow the end-to-end time, for as many are in flight as before."""
    ttft = np.maximum(columns[f"ttft_s_{side}"] * first, columns["ttft_s_ceiling"])
    tpot = np.maximum(columns[f"tpot_s_{side}"] * each, columns["tpot_s_ceiling"])
    gaps = load.output_tokens - 1.0
    before = columns[f"ttft_s_{side}"] + gaps * columns[f"tpot_s_{side}"]
    ratio = (ttft + gaps * tpot) / before
    e2e = np.maximum(columns[f"e2e_s_{side}"] * ratio, columns["e2e_s_ceiling"])
    faster = columns[f"e2e_s_{side}"] / e2e
    rate = RATE_SIDE[side]
    found: Columns = {
        f"ttft_s_{side}": ttft,
        f"tpot_s_{side}": tpot,
        f"e2e_s_{side}": e2e,
        f"tokens_per_s_per_user_{rate}": 1.0 / tpot,
    }
    for name in _RATES:
        found[f"{name}_{rate}"] = np.minimum(columns[f"{name}_{rate}"] * faster, columns[f"{name}_ceiling"])
    return found
