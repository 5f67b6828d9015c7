"""What to measure before the GPU is chosen: of each GPU's row, the one whose benchmark tells most."""

import logging
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.estimates.sweep.columns import CHANCE
from estimator.estimates.sweep.next_measurement import Measurements, RowMeasurement
from estimator.question.sweep import Sweep
from estimator.question.workload import Targets
from reports.decision.best import GpuRows, targets_of
from reports.names import Names

log = logging.getLogger(__name__)
Measuring = Callable[[Sequence[GpuRows], Names], RowMeasurement | None]


def measuring(sweep: Sweep, snapshot: Mapping[str, Any], slo: Targets | None) -> Measuring:
    """What says the measurement of a group; it says nothing without targets, nor of a snapshot that it cannot read."""
    if slo is None or not targets_of(slo):
        return _nothing
    try:
        found = Measurements(sweep, snapshot, slo)
    except (ResolutionError, EngineError, LookupError) as error:
        log.info("no measurement can be named: %s", error)
        return _nothing
    return lambda rows, names: _of(found, rows, names)


def _nothing(_rows: Sequence[GpuRows], _names: Names) -> RowMeasurement | None:
    return None


def _of(found: Measurements, rows: Sequence[GpuRows], names: Names) -> RowMeasurement:
    """Of each GPU the row of its line, or the one that misses the targets by least; the cheapest is taken first."""
    asked = [row for one in rows if (row := one.best or one.nearest) is not None and row[CHANCE] is not None]
    said = found.among(sorted(asked, key=_cost))
    return said if said.gpu is None else said.model_copy(update={"gpu_name": names.gpu(said.gpu)})


def _cost(row: Mapping[str, Any]) -> tuple[bool, Decimal, float]:
    """Cost per token; without a price, or beside it, the speed of a GPU."""
    cost = row["cost_per_mtok_output_mid"]
    return cost is None, Decimal(cost or 0), -(row["tokens_per_s_per_gpu_mid"] or 0)
