"""What the product says of each measured setting: the expectation, the ceiling and the plain roofline beside it.

The figures are those of `estimates/throughput`: each row is resolved into a plan, its cache gets the budget that the
endpoint gives it, and all rows are one evaluation of the sweep. tests/acceptance/test_measured_rows.py asks the same
rows over REST.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.constants.kernels import KernelConstants
from estimator.engine.codes import MODE_CODES, Reason
from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.engine.forward_pass.doubts import Doubt
from estimator.engine.memory.replica_cache import grows_with_prompt
from estimator.engine.options import MemoryOverrides
from estimator.engine.specs import EngineProfile, Precision, WorkloadMode
from estimator.engine.speed.bands import model_class
from estimator.engine.speed.prepared import PreparedKey
from estimator.engine.speed.sweep import Rows, Sweep
from estimator.estimates.memory_fit.load import memory_plan
from estimator.estimates.throughput.rows import traffic_columns
from estimator.estimates.throughput.setting import prepared_key
from estimator.question.workload import ResolvedWorkload
from estimator.resolvers.engine_settings import memory_with
from estimator.validation import shipped
from estimator.validation.launches import launch_of, traffic_of
from estimator.validation.plain_roofline import plain_figure
from estimator.validation.rows import Measurement, Metric

Floats = npt.NDArray[np.float64]
_PROMPT_OF_RATE_ROWS = 8.0
# A first token hangs on how requests came; where nobody published it there is nothing to score.
NOT_STATED = "traffic not stated"
# Where the answer of a row stands: the column of its metric.
_COLUMNS = {
    Metric.TPOT: "tpot_s",
    Metric.TTFT: "ttft_s",
    Metric.TTFT_ALONE: "ttft_s",
    Metric.ONLINE: "tokens_per_s_total",
    Metric.OFFLINE: "tokens_per_s_total",
    Metric.STATIC: "tokens_per_s_total",
    Metric.SINGLE_STREAM: "tokens_per_s_per_user",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A row and what is said of it, in the row's unit.

    `roofline` is the plain roofline at 0.8 of bandwidth and 0.5 of the peak, with prefill added but nothing else:
    what a spreadsheet gives. `beats_ceiling` is True where the expectation is faster than physics allows. `band` holds
    the ends of the answer as multiples of `expected`.
    """

    row: Measurement
    expected: float
    roofline: float
    saturated: bool
    beats_ceiling: bool
    model_class: str
    doubts: tuple[Doubt, ...]
    band: tuple[float, float]

    @property
    def error(self) -> float:
        """Relative error of the expectation, `predicted / measured − 1`."""
        return self.expected / self.row.value - 1.0

    @property
    def roofline_error(self) -> float:
        """Relative error of the plain roofline."""
        return self.roofline / self.row.value - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A row the product does not answer, and why."""

    row: Measurement
    reason: str


def predict(
    rows: Sequence[Measurement],
    constants: KernelConstants | None = None,
    profile: Callable[[str], EngineProfile] = shipped.profile,
) -> tuple[tuple[Prediction, ...], tuple[Skipped, ...]]:
    """Predictions of the rows in their order, and the rows that the product does not answer.

    `constants` and `profile` stand in for the shipped ones while constants are fitted.
    """
    keys = _Keys(constants, profile)
    places: list[int] = []
    asked: list[Measurement] = []
    skipped: list[Skipped] = []
    for row in rows:
        if row.metric is Metric.TTFT and not row.launch:
            skipped.append(Skipped(row=row, reason=NOT_STATED))
            continue
        try:
            places.append(keys.place(row))
            asked.append(row)
        except (EngineError, ResolutionError, shipped.NotShippedError) as refused:
            skipped.append(Skipped(row=row, reason=str(refused)))
    if not asked:
        return (), tuple(skipped)
    columns = Sweep(keys.prepared).evaluate(_rows(asked, places))
    found: list[Prediction] = []
    for at, row in enumerate(asked):
        expected = _figure(columns, at, row)
        if isfinite(expected):
            found.append(_prediction(columns, at, row, expected, keys.prepared[places[at]]))
        else:
            skipped.append(Skipped(row=row, reason=Reason(int(columns["reason"][at])).name.lower()))
    return tuple(found), tuple(skipped)


def workload_of(row: Measurement) -> ResolvedWorkload:
    """The workload that a request for this row states."""
    inputs = row.input_tokens
    # Rows of serving engines without a prompt (MLC prints the decode rate alone): their protocol's prompt of 8 tokens.
    if not inputs and not row.engine.startswith("llama.cpp"):
        inputs = _PROMPT_OF_RATE_ROWS
    loaded = row.mode in (WorkloadMode.CLOSED_LOOP, WorkloadMode.STATIC_BATCH)
    return ResolvedWorkload(
        mode=row.mode,
        input_tokens=inputs,
        output_tokens=row.output_tokens,
        concurrency=round(row.concurrency) if loaded else 1,
    )


# The launch scripts of these rows state a share of the memory that no row carries; all were run by a share near this.
_STATED_SHARE = {"sglang-0.5": 0.9}


def _assumed_share(row: Measurement) -> MemoryOverrides:
    return MemoryOverrides(utilization=_STATED_SHARE.get(row.engine))


class _Keys:
    """Prepared keys of the rows: one for each distinct plan and cache budget."""

    def __init__(self, constants: KernelConstants | None, profile: Callable[[str], EngineProfile]) -> None:
        self._constants, self._profile = constants, profile
        self._places: dict[Any, int] = {}
        self.prepared: list[PreparedKey] = []

    def place(self, row: Measurement) -> int:
        """Where the key of the row stands.

        Raises:
            EngineError, ResolutionError, NotShippedError: the product does not answer this setting.
        """
        setting = (row.model, row.gpu, row.engine, row.precision, row.parallelism)
        launch = launch_of(row)
        engine, stated = self._profile(row.engine), {} if launch is None else launch.settings_for(row)
        overrides = MemoryOverrides() if "mem_fraction_static" in stated else _assumed_share(row)
        plan = replace(
            shipped.plan(*setting),
            engine=engine,
            workload=workload_of(row),
            memory=memory_with(overrides, stated, engine),
            engine_settings=stated,
            tuned=launch is None or launch.tuned,
        )
        memory = memory_plan(plan)
        # Where a whole prompt is one pass, the cache depends on the lengths.
        settings = (plan.tuned, *sorted(stated.items()))
        key = (setting, settings, memory.longest_tokens if grows_with_prompt(memory.policy, memory.overrides) else None)
        if key not in self._places:
            self.prepared.append(prepared_key(plan, constants=self._constants))
            self._places[key] = len(self.prepared) - 1
        return self._places[key]


def _rows(rows: Sequence[Measurement], places: Sequence[int]) -> Rows:
    loads = [workload_of(row) for row in rows]
    return Rows(
        key=np.array(places, dtype=np.intp),
        mode=np.array([MODE_CODES[load.mode] for load in loads], dtype=np.intp),
        input_tokens=np.array([float(load.input_tokens) for load in loads]),
        output_tokens=np.array([float(load.output_tokens) for load in loads]),
        concurrency=np.array([float(load.concurrency) for load in loads]),
        **_traffic(rows),
    )


def _traffic(rows: Sequence[Measurement]) -> dict[str, Floats]:
    """How the requests of each row came, as the engine's rows hold it."""
    columns = [traffic_columns(traffic_of(row), float(round(row.concurrency))) for row in rows]
    defaults = {"waves": 0.0, "length_ratio": 1.0, "client_s": 0.0, "statistic": 0.0}
    return {
        name: np.array([float(column.get(name, default)) for column in columns]) for name, default in defaults.items()
    }


def _figure(columns: dict[str, npt.NDArray[Any]], at: int, row: Measurement) -> float:
    """The answer in the row's unit, NaN where none is given."""
    if row.metric is Metric.PREFILL:
        return row.input_tokens / float(columns["prefill_s"][at])
    return float(columns[f"{_COLUMNS[row.metric]}_mid"][at])


def _prediction(
    columns: dict[str, npt.NDArray[Any]], at: int, row: Measurement, expected: float, prepared: PreparedKey
) -> Prediction:
    if row.metric is Metric.PREFILL:
        bound = row.input_tokens / float(columns["ttft_s_ceiling"][at])
    else:
        bound = float(columns[f"{_COLUMNS[row.metric]}_ceiling"][at])
    faster = expected > bound * (1.0 + 1e-9) if row.metric.is_rate else expected < bound * (1.0 - 1e-9)
    return Prediction(
        row=row,
        expected=expected,
        roofline=plain_figure(prepared, workload_of(row), row.metric),
        saturated=bool(columns["saturated"][at]),
        beats_ceiling=faster,
        model_class=model_class(prepared.layout),
        doubts=prepared.doubts,
        band=_ends(columns, at, row),
    )


def _ends(columns: dict[str, npt.NDArray[Any]], at: int, row: Measurement) -> tuple[float, float]:
    """Ends of the answer as multiples of its middle; of a prompt's rate those of its time, turned round."""
    name = _COLUMNS.get(row.metric, "ttft_s")
    low, mid, high = (float(columns[f"{name}_{side}"][at]) for side in ("low", "mid", "high"))
    return (mid / high, mid / low) if row.metric is Metric.PREFILL else (low / mid, high / mid)


def precision_class(precision: Precision, *, experts: bool) -> str:
    """The format most weights of the model are in: the experts' where there are any."""
    return (precision.expert_weights if experts else precision.weights) or precision.weights
