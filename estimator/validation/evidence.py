"""The evidence that the shipped measurements are: which settings were measured, and by whom."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from estimator.constants.evidence import Cell
from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.engine.forward_pass.traffic import rank_layout
from estimator.engine.speed.evidence import cell_of
from estimator.validation import shipped
from estimator.validation.rows import Measurement, Metric

_GROUPS = {
    Metric.OFFLINE: "offline",
    Metric.STATIC: "static",
    Metric.SINGLE_STREAM: "single",
    Metric.TTFT_ALONE: "single",
    Metric.PREFILL: "single",
}


def cells(rows: Iterable[Measurement]) -> Mapping[Cell, frozenset[str]]:
    """The cells of the rows that the product answers, with their sources."""
    found: dict[Cell, set[str]] = defaultdict(set)
    for row in rows:
        try:
            found[cell(row)].add(row.source)
        except (EngineError, ResolutionError, shipped.NotShippedError):
            continue
    return {key: frozenset(sources) for key, sources in found.items()}


def cell(row: Measurement) -> Cell:
    """The cell of a row.

    Raises:
        EngineError, ResolutionError, NotShippedError: the product does not answer this setting.
    """
    gpu, engine = shipped.gpu(row.gpu), shipped.profile(row.engine)
    architecture = shipped.architecture(row.model)
    layout = rank_layout(architecture, gpu, row.precision, row.parallelism)
    return cell_of(layout, architecture, engine, gpu.kernel_family or "", _GROUPS.get(row.metric, "online"))
