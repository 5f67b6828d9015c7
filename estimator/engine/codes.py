"""Codes of rows: what binds, why a figure is not said, in which mode load is put on."""

from enum import IntEnum

from estimator.engine.specs import WorkloadMode


class Binding(IntEnum):
    """What limits a step, by code; the labels are those of the API."""

    label: str
    MEMORY_BANDWIDTH = 0
    COMPUTE = 1
    INTERCONNECT = 2
    OVERHEAD = 3
    KV_CACHE = 4


class Reason(IntEnum):
    """Why a figure of a row is not said, by code; 0 where all are. The labels are those of the API."""

    label: str
    NONE = 0
    DOES_NOT_FIT = 1
    MISSING_FIGURE = 2
    KV_SETTINGS_ASSUMED = 3
    QUEUE_GROWS = 4
    NO_QUEUE = 5
    NO_SECOND_TOKEN = 6
    ONE_STEP = 7
    POWER_CAP = 8  # In stored reports only: of arrivals under a cap nothing was said until queues were.


# Read for every row of every answer: plain attributes, made once.
for _code in (*Binding, *Reason):
    _code.label = _code.name.lower()
Reason.MISSING_FIGURE.label = "missing-figure"


# The mode of a row is its place in this list.
MODES: tuple[WorkloadMode, ...] = tuple(WorkloadMode)
MODE_CODES: dict[WorkloadMode, int] = {mode: code for code, mode in enumerate(MODES)}
