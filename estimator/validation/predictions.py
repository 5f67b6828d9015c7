"""What the product says of each measured setting: the expectation, the ceiling and the plain roofline beside it.

Rows of one key (model, GPU, engine, precision, parallelism) and mode are one vectorised call of the same functions
that answer a request.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.engine.errors import EngineError
from estimator.engine.kernel_tables import DEFAULT_OPERATORS, OperatorConstants
from estimator.engine.operators import Folded, fold, stored_bytes_per_sequence
from estimator.engine.roofline import Floor, ceiling_floor, floor_prefill_s, floor_step_s
from estimator.engine.serving import (
    Load,
    Steady,
    context_tokens,
    kv_budget_bytes,
    offline_tokens_per_s,
    online_tokens_per_s,
    static_tokens_per_s,
    steady_state,
)
from estimator.engine.specs import EngineProfile, Gpu, Precision, WorkloadMode
from estimator.engine.traffic import RankLayout, rank_layout
from estimator.validation import shipped
from estimator.validation.rows import Measurement, Metric

Floats = npt.NDArray[np.float64]
PLAIN_BANDWIDTH_SHARE, PLAIN_COMPUTE_SHARE = 0.8, 0.5
_SEQUENCES_AT_MOST = 2048.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A row and what is said of it, in the row's unit.

    `roofline` is the plain roofline at 0.8 of bandwidth and 0.5 of the peak, with prefill added but nothing else:
    what a spreadsheet gives. `beats_ceiling` is True where the expected step or prefill would be faster than physics.
    """

    row: Measurement
    expected: float
    roofline: float
    saturated: bool
    beats_ceiling: bool
    doubts: tuple[str, ...]

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
    """A row the product cannot answer, and why."""

    row: Measurement
    reason: str


def predict(
    rows: Sequence[Measurement], constants: OperatorConstants = DEFAULT_OPERATORS
) -> tuple[tuple[Prediction, ...], tuple[Skipped, ...]]:
    """Predictions of the rows in their order, and the rows that the product cannot answer."""
    found: dict[tuple[str, Metric], Prediction] = {}
    skipped: list[Skipped] = []
    for same in _keys(rows):
        try:
            found |= {(p.row.id, p.row.metric): p for p in _predict_key(same, constants)}
        except (EngineError, shipped.NotShippedError) as refused:
            skipped += [Skipped(row=row, reason=str(refused)) for row in same]
    keys = [(row.id, row.metric) for row in rows]
    return tuple(found[key] for key in keys if key in found), tuple(skipped)


def _keys(rows: Sequence[Measurement]) -> Iterator[list[Measurement]]:
    groups: dict[Any, list[Measurement]] = {}
    for row in rows:
        groups.setdefault((row.model, row.gpu, row.engine, row.precision, row.parallelism, row.mode), []).append(row)
    yield from groups.values()


def _predict_key(rows: Sequence[Measurement], constants: OperatorConstants) -> Iterator[Prediction]:
    first = rows[0]
    profile, gpu = shipped.profile(first.engine), shipped.gpu(first.gpu)
    if profile.kind == "llama_cpp":
        raise shipped.NotShippedError("the llama.cpp class")
    layout = rank_layout(shipped.architecture(first.model), gpu, first.precision, first.parallelism)
    key = _Key(rows, profile, gpu, layout, constants)
    for at, row in enumerate(rows):
        yield Prediction(
            row=row,
            expected=float(key.expected(row.metric)[at]),
            roofline=float(key.plain(row.metric)[at]),
            saturated=bool(key.load.concurrency[at] > key.state.admitted[at] and row.metric is not Metric.OFFLINE),
            beats_ceiling=bool(key.beats_ceiling[at]),
            doubts=key.doubts,
        )


class _Key:
    """Rows of one key and mode, evaluated together."""

    def __init__(
        self,
        rows: Sequence[Measurement],
        profile: EngineProfile,
        gpu: Gpu,
        layout: RankLayout,
        constants: OperatorConstants,
    ) -> None:
        serving = profile.serving
        if serving is None:
            raise shipped.NotShippedError(f"serving constants of {profile.slug}")
        self.mode = rows[0].mode
        self.folded, self.doubts = fold(layout, gpu, serving, constants)
        self.load = _load(rows)
        budget = kv_budget_bytes(serving, memory_bytes=gpu.memory_bytes, weight_bytes=layout.weight_bytes)
        self.state = steady_state(self.folded, self.load, budget, self.mode)
        self.stages = float(layout.parallelism.pp)
        self.floor = ceiling_floor(layout, gpu)
        room = max(0.9 * gpu.memory_bytes - layout.weight_bytes, 0.0)
        stored = stored_bytes_per_sequence(self.folded, self.load.context_tokens)
        self.plain_capacity = np.maximum(layout.parallelism.dp * room / np.maximum(stored, 1.0), 1.0)
        self.beats_ceiling = _beats_ceiling(self.floor, self.folded, self.load, self.state)

    def expected(self, metric: Metric) -> Floats:
        state, load = self.state, self.load
        values: dict[Metric, Callable[[], Any]] = {
            Metric.TPOT: lambda: state.tpot_s,
            Metric.TTFT: lambda: self._alone() if self.mode is WorkloadMode.SINGLE_STREAM else self._ttft(),
            Metric.TTFT_ALONE: self._alone,
            Metric.ONLINE: lambda: online_tokens_per_s(load, state),
            Metric.OFFLINE: lambda: offline_tokens_per_s(self.folded, state),
            Metric.STATIC: lambda: static_tokens_per_s(self.folded, load, state),
            Metric.SINGLE_STREAM: lambda: 1.0 / state.tpot_s,
        }
        return np.broadcast_to(values[metric](), load.concurrency.shape)

    def _alone(self) -> Any:
        return self.folded.ttft0_s + self.state.prefill.one_s

    def _ttft(self) -> Any:
        return self.state.ttft_s + self.state.queue_s

    def plain(self, metric: Metric) -> Floats:
        load = self.load
        wanted = self.plain_capacity if metric is Metric.OFFLINE else load.concurrency
        batch = np.minimum(np.minimum(wanted, self.plain_capacity), _SEQUENCES_AT_MOST)
        efficiency = PLAIN_COMPUTE_SHARE / PLAIN_BANDWIDTH_SHARE
        micro = batch / np.minimum(self.stages, batch)
        step = floor_step_s(self.floor, micro, load.context_tokens, efficiency) / PLAIN_BANDWIDTH_SHARE
        prefill = floor_prefill_s(self.floor, load.input_tokens, 0.0, efficiency) / PLAIN_BANDWIDTH_SHARE
        if metric in (Metric.TTFT, Metric.TTFT_ALONE):
            return np.asarray(prefill)
        if metric is Metric.TPOT:
            return np.asarray(step)
        if metric is Metric.SINGLE_STREAM:
            return np.asarray(1.0 / step)
        turn = batch * prefill / self.stages + load.output_tokens * step
        return np.asarray(batch * load.output_tokens / turn)


def _load(rows: Sequence[Measurement]) -> Load:
    def column(name: str) -> Floats:
        return np.array([float(getattr(row, name)) for row in rows])

    inputs = column("input_tokens")
    # Rows without a prompt (MLC prints the decode rate alone): their protocol's prompt of eight tokens.
    inputs = np.where(inputs > 0, inputs, 8.0)
    outputs = np.maximum(column("output_tokens"), 1.0)
    concurrency = np.where(
        np.array([row.metric is Metric.OFFLINE for row in rows]), _SEQUENCES_AT_MOST, column("concurrency")
    )
    return Load(
        input_tokens=inputs,
        output_tokens=outputs,
        concurrency=concurrency,
        context_tokens=context_tokens(inputs, outputs),
    )


def _beats_ceiling(floor: Floor, folded: Folded, load: Load, state: Steady) -> Any:
    micro = state.decoding / np.minimum(folded.pipeline, np.maximum(state.decoding, 1.0))
    fast_step = state.step_s < floor_step_s(floor, micro, load.context_tokens)
    return fast_step | (state.prefill.one_s < floor_prefill_s(floor, load.input_tokens))


def precision_class(precision: Precision, *, experts: bool) -> str:
    """The format most weights of the model are in: the experts' where there are any."""
    return (precision.expert_weights if experts else precision.weights) or precision.weights
