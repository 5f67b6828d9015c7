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
from estimator.engine.forward_pass.kernel_tables import DEFAULT_OPERATORS, OperatorConstants
from estimator.engine.forward_pass.llama_cpp import llama_cpp_prefill_s, llama_cpp_step_s
from estimator.engine.forward_pass.roofline import floor_prefill_s, floor_step_s
from estimator.engine.serving.capacity import capacity, stored_bytes_per_sequence
from estimator.engine.serving.steady_state import (
    Load,
    context_tokens,
    offline_tokens_per_s,
    online_tokens_per_s,
    static_tokens_per_s,
    steady_state,
)
from estimator.engine.specs import EngineProfile, Precision, WorkloadMode
from estimator.engine.speed.bands import model_class
from estimator.engine.speed.prepared import Key, PreparedKey, prepare
from estimator.validation import shipped
from estimator.validation.rows import Measurement, Metric

Floats = npt.NDArray[np.float64]
PLAIN_BANDWIDTH_SHARE, PLAIN_COMPUTE_SHARE = 0.8, 0.5
_SEQUENCES_AT_MOST = 2048.0
_PROMPT_OF_RATE_ROWS = 8.0


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
    model_class: str
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
    rows: Sequence[Measurement],
    constants: OperatorConstants = DEFAULT_OPERATORS,
    profile: Callable[[str], EngineProfile] = shipped.profile,
) -> tuple[tuple[Prediction, ...], tuple[Skipped, ...]]:
    """Predictions of the rows in their order, and the rows that the product cannot answer.

    `constants` and `profile` stand in for the shipped ones while constants are fitted.
    """
    found: dict[tuple[str, Metric], Prediction] = {}
    skipped: list[Skipped] = []
    for same in _keys(rows):
        try:
            found |= {(p.row.id, p.row.metric): p for p in _predict_key(same, constants, profile(same[0].engine))}
        except (EngineError, shipped.NotShippedError) as refused:
            skipped += [Skipped(row=row, reason=str(refused)) for row in same]
    keys = [(row.id, row.metric) for row in rows]
    return tuple(found[key] for key in keys if key in found), tuple(skipped)


def _keys(rows: Sequence[Measurement]) -> Iterator[list[Measurement]]:
    groups: dict[Any, list[Measurement]] = {}
    for row in rows:
        groups.setdefault((row.model, row.gpu, row.engine, row.precision, row.parallelism, row.mode), []).append(row)
    yield from groups.values()


def _predict_key(
    rows: Sequence[Measurement], constants: OperatorConstants, profile: EngineProfile
) -> Iterator[Prediction]:
    first = rows[0]
    prepared = prepare(
        Key(
            architecture=shipped.architecture(first.model),
            gpu=shipped.gpu(first.gpu),
            engine=profile,
            precision=first.precision,
            parallelism=first.parallelism,
        ),
        constants,
    )
    load = _load(rows)
    said = _Serving(prepared, load, first.mode) if prepared.serving else _LlamaCpp(prepared, load)
    for at, row in enumerate(rows):
        yield Prediction(
            row=row,
            expected=float(said.expected(row.metric)[at]),
            roofline=float(_plain(prepared, load, row.metric)[at]),
            saturated=bool(said.saturated[at]),
            beats_ceiling=bool(said.beats_ceiling[at]),
            model_class=model_class(prepared.layout),
            doubts=prepared.doubts,
        )


class _Serving:
    """Rows of one key of a serving engine and one mode, evaluated together."""

    def __init__(self, prepared: PreparedKey, load: Load, mode: WorkloadMode) -> None:
        if prepared.serving is None:
            raise shipped.NotShippedError(prepared.unsupported or "serving constants")
        self.folded, self.load, self.mode = prepared.serving, load, mode
        limits = capacity(prepared.store, load.context_tokens, load.output_tokens)
        self.state = steady_state(self.folded, load, limits, mode)
        over = load.concurrency > self.state.admitted * (1.0 + 1e-9)
        self.saturated = over & (mode is not WorkloadMode.OFFLINE)
        decoding = np.asarray(self.state.decoding)
        micro = decoding / np.minimum(self.folded.pipeline, np.maximum(decoding, 1.0))
        self.beats_ceiling = _faster(prepared, load, micro, self.state.step_s, self.state.prefill.one_s)

    def expected(self, metric: Metric) -> Floats:
        """The figure of each row in the metric's unit."""
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


class _LlamaCpp:
    """Rows of one llama.cpp key: one stream, or one prompt."""

    def __init__(self, prepared: PreparedKey, load: Load) -> None:
        if prepared.llama_cpp is None:
            raise shipped.NotShippedError(prepared.unsupported or "llama.cpp constants")
        self.load = load
        self.step_s = llama_cpp_step_s(prepared.llama_cpp, load.context_tokens)
        self.prefill_s = llama_cpp_prefill_s(prepared.llama_cpp, load.input_tokens)
        self.saturated = np.zeros(load.concurrency.shape, dtype=bool)
        self.beats_ceiling = _faster(prepared, load, 1.0, self.step_s, self.prefill_s)

    def expected(self, metric: Metric) -> Floats:
        """The figure of each row in the metric's unit."""
        rate = self.load.input_tokens / self.prefill_s if metric is Metric.PREFILL else 1.0 / self.step_s
        return np.broadcast_to(rate, self.load.concurrency.shape)


def _faster(prepared: PreparedKey, load: Load, sequences: Any, step_s: Any, prefill_s: Any) -> Any:
    """Where the step or the prefill of one prompt is expected to take less than the ceiling allows."""
    stages = float(prepared.layout.parallelism.pp)
    fast = step_s < floor_step_s(prepared.ceiling, sequences, load.context_tokens) * (1.0 - 1e-9)
    least = floor_prefill_s(prepared.ceiling, load.input_tokens) / stages
    # Rows of the decode rate alone have no prompt.
    fast = fast | ((prefill_s < least * (1.0 - 1e-9)) & (load.input_tokens > 0))
    return np.broadcast_to(fast, load.concurrency.shape)


def _plain(prepared: PreparedKey, load: Load, metric: Metric) -> Floats:
    """The plain roofline of each row."""
    layout, memory = prepared.layout, prepared.key.gpu.memory_bytes
    stages = float(layout.parallelism.pp)
    room = max(0.9 * memory - layout.weight_bytes, 0.0)
    stored = np.maximum(stored_bytes_per_sequence(prepared.store, load.context_tokens), 1.0)
    fits = np.maximum(layout.parallelism.dp * room / stored, 1.0)
    wanted = fits if metric is Metric.OFFLINE else load.concurrency
    batch = np.minimum(np.minimum(wanted, fits), _SEQUENCES_AT_MOST)
    efficiency = PLAIN_COMPUTE_SHARE / PLAIN_BANDWIDTH_SHARE
    micro = batch / np.minimum(stages, batch)
    step = floor_step_s(prepared.ceiling, micro, load.context_tokens, efficiency) / PLAIN_BANDWIDTH_SHARE
    prefill = floor_prefill_s(prepared.ceiling, load.input_tokens, 0.0, efficiency) / PLAIN_BANDWIDTH_SHARE
    if metric in (Metric.TTFT, Metric.TTFT_ALONE):
        return np.asarray(prefill)
    if metric is Metric.TPOT:
        return np.asarray(step)
    if metric is Metric.SINGLE_STREAM:
        return np.asarray(1.0 / step)
    if metric is Metric.PREFILL:
        return np.asarray(load.input_tokens / prefill)
    turn = batch * prefill / stages + load.output_tokens * step
    return np.asarray(batch * load.output_tokens / turn)


def _load(rows: Sequence[Measurement]) -> Load:
    def column(name: str) -> Floats:
        return np.array([float(getattr(row, name)) for row in rows])

    inputs, outputs = column("input_tokens"), column("output_tokens")
    # Rows of serving engines without a prompt (MLC prints the decode rate alone): their protocol's prompt of 8 tokens.
    if rows[0].engine != "llama.cpp":
        inputs = np.where(inputs > 0, inputs, _PROMPT_OF_RATE_ROWS)
        outputs = np.maximum(outputs, 1.0)
    offline = np.array([row.metric is Metric.OFFLINE for row in rows])
    return Load(
        input_tokens=inputs,
        output_tokens=outputs,
        concurrency=np.where(offline, _SEQUENCES_AT_MOST, column("concurrency")),
        context_tokens=context_tokens(inputs, outputs),
    )


def precision_class(precision: Precision, *, experts: bool) -> str:
    """The format most weights of the model are in: the experts' where there are any."""
    return (precision.expert_weights if experts else precision.weights) or precision.weights
