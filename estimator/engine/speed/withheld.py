"""Figures that are not said: no room, no measured kernels, nothing to measure; each with its reason."""

from typing import Any

import numpy as np

from estimator.engine.codes import Reason
from estimator.engine.elementwise import any_of, choose
from estimator.engine.serving.load import Load, has_gaps
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.columns import (
    GAP_COLUMNS,
    OPEN_COLUMNS,
    STATE_COLUMNS,
)
from estimator.engine.speed.figures import Columns
from estimator.figures.energy import ENERGY_COLUMNS
from estimator.figures.speed import CEILING_COLUMNS, EXPECTED_COLUMNS


def withhold(
    columns: Columns, places: Any, hangs_on_settings: Any, kind: str, load: Load, mode: WorkloadMode
) -> Columns:
    """Blanks what cannot be said: no room, no measured kernels, a queue whose length hangs on assumed settings."""
    reason = np.full(np.shape(columns["saturated"]), np.int8(Reason.NONE))
    if mode is WorkloadMode.OFFLINE:
        reason = np.full(np.shape(reason), np.int8(Reason.NO_QUEUE))
    if mode is WorkloadMode.DECODE_STEP:
        reason = np.full(np.shape(reason), np.int8(Reason.ONE_STEP))
    queueing = columns["saturated"] & hangs_on_settings & (mode is WorkloadMode.CLOSED_LOOP)
    if any_of(queueing):
        for name in ("ttft_s", "e2e_s"):
            for side in ("low", "mid", "high"):
                columns[f"{name}_{side}"] = choose(queueing, np.nan, columns[f"{name}_{side}"])
        reason = choose(queueing, np.int8(Reason.KV_SETTINGS_ASSUMED), reason)
    unsupported = kind == "none" or (kind == "llama_cpp" and mode is WorkloadMode.OPEN_LOOP)
    missing = np.asarray(unsupported) | ((kind == "llama_cpp") & (load.concurrency > 1.0))
    return blank(columns, places < 1.0, choose(missing, np.int8(Reason.MISSING_FIGURE), reason), missing)


def without_gaps(columns: Columns, output_tokens: Any) -> Columns:
    """Blanks the time between tokens, and its reciprocal, of answers that have no second token."""
    single = ~has_gaps(output_tokens)
    if not any_of(single):
        return columns
    for name in GAP_COLUMNS:
        columns[name] = choose(single, np.nan, columns[name])
    only = single & (columns["reason"] == Reason.NONE)
    columns["reason"] = choose(only, np.int8(Reason.NO_SECOND_TOKEN), columns["reason"])
    return columns


def blank(columns: Columns, no_room: Any, reason: Any, missing: Any = False) -> Columns:
    """Blanks rows where not one sequence fits, ceiling included, and the expectation where figures are missing."""
    columns["reason"] = choose(no_room, np.int8(Reason.DOES_NOT_FIT), reason)
    unsaid = no_room | missing
    if any_of(unsaid):
        # Nothing waits for a place where none will ever be free.
        columns["saturated"] = columns["saturated"] & ~unsaid
        for name in (*EXPECTED_COLUMNS, *STATE_COLUMNS, *ENERGY_COLUMNS, *OPEN_COLUMNS):
            if name in columns:
                columns[name] = choose(unsaid, np.nan, columns[name])
        if any_of(no_room):
            for name in CEILING_COLUMNS:
                columns[name] = choose(no_room, np.nan, columns[name])
    return columns
