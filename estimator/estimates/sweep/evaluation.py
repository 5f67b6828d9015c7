"""Figures of a sweep's rows from the vectorised engine: each setting is folded once, rows are arithmetic on arrays."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.engine.codes import MODE_CODES, Binding, Reason
from estimator.engine.errors import EngineError
from estimator.engine.memory.ledger import LEDGER_COLUMNS, ledger_columns
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.memory.replica_cache import grows_with_prompt
from estimator.engine.serving.load import context_tokens
from estimator.engine.speculation.cost import speculate
from estimator.engine.speed.prepared import Basis, PreparedKey
from estimator.engine.speed.sweep import Rows as EngineRows
from estimator.engine.speed.sweep import Sweep as EngineSweep
from estimator.estimates.memory_fit.load import memory_plan
from estimator.estimates.sweep.axes import Axes
from estimator.estimates.sweep.columns import COLUMNS, ColumnKind, Rows, TextValues
from estimator.estimates.sweep.loads import Loads, loads_of, of_batches
from estimator.estimates.throughput.rows import STEADY, traffic_columns
from estimator.estimates.throughput.setting import draft_key, prepared_key
from estimator.figures.reasons import REASONS
from estimator.question.workload import ResolvedWorkload, Speculative
from estimator.resolvers.plan import Plan
from estimator.resolvers.precisions import kv_settings_assumed, resolve_precision

Codes = tuple[NDArray[np.int64], ...]
_KEPT = 20_000
_STATUSES = ("ok", "does_not_fit", "unsupported")
_BINDINGS = tuple(binding.label for binding in Binding)
_WITHOUT_FIGURES = tuple(Reason(code) for name in REASONS for code in Reason if code.label == name)
_BASES = tuple(basis.value for basis in Basis)
_MAX_BATCH = 1_000_000
_POINTS_AT_ONCE = 20_000
KEY_NAMES = (
    "row_index",
    "model",
    "gpu",
    "engine",
    "precision",
    "parallelism",
    "workload",
    "tp",
    "gpus",
    "input_tokens",
    "output_tokens",
    "batch_size",
    "offered_requests_per_s",
    "refined",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A folded setting: constants of its speed, and the inputs of its memory ledger."""

    speed: PreparedKey
    memory: MemoryPlan
    draft: PreparedKey | None = None


class SettingCache:
    """Folded settings of one sweep by their place; bounded, because a sweep may have a hundred thousand.

    Where a whole prompt is one pass of the engine, its memory depends on the lengths: such a setting is folded for
    each workload, every other one once.
    """

    def __init__(self, axes: Axes) -> None:
        self._axes = axes
        self._kept: OrderedDict[int, Setting | str] = OrderedDict()
        self._by_length = np.array([
            grows_with_prompt(served.profile.memory, served.memory) for served in axes.engines
        ])  # fmt: skip

    def places(self, codes: Codes) -> NDArray[np.int64]:
        """What rows of these places on the axes share: a number for each setting to fold."""
        workload = np.where(self._by_length[codes[2]], codes[5], 0)
        return np.ravel_multi_index((*codes[:5], workload), self._axes.shape)

    def get(self, place: int) -> Setting | str:
        """The folded setting of a place, or in words why there is none."""
        found = self._kept.get(place)
        if found is None:
            found = self._kept[place] = _fold(self._axes, place)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found


def plan_of(axes: Axes, codes: tuple[Any, ...]) -> Plan:
    """The plan of the setting and workload at these places of the axes."""
    model, gpu, engine, precision, parallel, workload = codes
    served, asked = axes.engines[engine], axes.precisions[precision]
    profile = served.profile
    gpus = axes.gpus_ideal if profile.kind == "ideal" else axes.gpus
    return Plan(
        model=axes.models[model],
        gpu=gpus[gpu],
        engine=profile,
        precision=resolve_precision(asked, axes.models[model].architecture),
        parallelism=axes.parallelism[parallel],
        memory=served.memory,
        engine_settings=served.engine_settings,
        tuned=served.tuned,
        lora=axes.lora,
        workload=axes.workloads[workload],
        speculative=axes.speculative,
        draft_model=axes.draft_model,
        mtp_layers_loaded=axes.mtp_layers_loaded,
        power_cap_w=axes.power_cap_w,
        kv_settings_assumed=kv_settings_assumed(asked, served.memory),
    )


def _fold(axes: Axes, place: int) -> Setting | str:
    codes = np.unravel_index(place, axes.shape)
    plan = plan_of(axes, codes)
    try:
        # The same folding as the endpoint's, so that a row equals the answer to its request.
        speed = prepared_key(plan)
        return Setting(speed=speed, memory=memory_plan(plan), draft=draft_key(plan))
    except EngineError as error:
        return str(error)


def evaluate(axes: Axes, cache: SettingCache, codes: Codes, loads: Loads, unsupported: NDArray[np.int32]) -> Rows:
    """All columns but keys, costs and targets, for rows given by the codes of their axes.

    Args:
        axes: Resolved axes.
        cache: Folded settings kept between calls.
        codes: Place on each axis, one array per axis.
        loads: Load of each row.
        unsupported: −1 where the setting can be evaluated.
    """
    count = len(loads)
    unique, place = np.unique(cache.places(codes), return_inverse=True)
    wanted = np.zeros(len(unique), dtype=bool)
    wanted[place[unsupported < 0]] = True
    found = [cache.get(int(one)) if want else "" for one, want in zip(unique, wanted, strict=True)]
    errors = tuple(dict.fromkeys(entry for entry in found if isinstance(entry, str) and entry))
    error_of = np.array([errors.index(e) if isinstance(e, str) and e else -1 for e in found], dtype=np.int32)
    keys = [entry for entry in found if isinstance(entry, Setting)]
    key_of = np.cumsum([isinstance(entry, Setting) for entry in found]) - 1
    columns = _blank(count)
    status = np.full(count, _STATUSES.index("unsupported"), dtype=np.int32)
    reason = np.where(unsupported < 0, error_of[place], -1).astype(np.int32)
    index = np.flatnonzero((unsupported < 0) & (error_of[place] < 0))
    labels = (*errors, *REASONS.values())
    if len(index):
        figures = _figures(axes, keys, key_of[place[index]], tuple(code[index] for code in codes), loads.at(index))
        _scatter(columns, figures, index)
        status[index] = np.where(
            figures["reason"] == Reason.DOES_NOT_FIT, 1, np.where(figures["reason"] == Reason.MISSING_FIGURE, 2, 0)
        )
        texts = {code: len(errors) + number for number, code in enumerate(_WITHOUT_FIGURES)}
        for code, label in texts.items():
            reason[index[figures["reason"] == code]] = label
    columns["status"] = TextValues(codes=status, labels=_STATUSES)
    columns["reason"] = TextValues(codes=reason, labels=labels)
    return columns


def _blank(count: int) -> Rows:
    """Null in every column that an evaluation fills."""
    columns: Rows = {}
    for column in COLUMNS:
        if column.kind is ColumnKind.TEXT:
            columns[column.name] = TextValues(codes=np.full(count, -1, dtype=np.int32), labels=())
        elif column.kind is ColumnKind.BOOLEAN:
            columns[column.name] = np.full(count, -1, dtype=np.int8)
        else:
            columns[column.name] = np.full(count, np.nan)
    for name in KEY_NAMES:
        del columns[name]
    return columns


def _figures(axes: Axes, settings: list[Setting], key: NDArray[np.int64], codes: Codes, loads: Loads) -> dict[str, Any]:
    workloads = axes.workloads
    of_row = {
        name: np.array([getattr(workload, name) for workload in workloads], dtype=np.float64)[codes[5]]
        for name in (
            "input_tokens",
            "output_tokens",
            "context_tokens",
            "prefix_cache_hit_rate",
            "burstiness_cv",
        )
    }
    whole = of_row["input_tokens"] + of_row["output_tokens"]
    longest = np.ceil(np.where(np.isnan(of_row["context_tokens"]), whole, of_row["context_tokens"]))
    longest = np.maximum(longest, 1.0)
    modes = np.array([MODE_CODES[workload.mode] for workload in workloads], dtype=np.intp)[codes[5]]
    asked = np.maximum(loads.batch, 1).astype(np.float64)
    of_row |= _traffic(workloads, codes[5], asked)
    rows = EngineRows(key=key, mode=modes, concurrency=asked, requests_per_s=loads.rate, **of_row)
    keys = [setting.speed for setting in settings]
    figures: dict[str, Any] = EngineSweep(keys).evaluate(rows)
    figures |= _memory(settings, key, longest, loads.batch, figures)
    if axes.speculative is not None:
        figures |= _speculation(axes.speculative, settings, key, rows, figures)
    figures["fits"] = asked <= figures["full_length_sequences"]
    bases = np.array([_BASES.index(prepared.basis.value) for prepared in keys], dtype=np.int32)
    figures["basis"] = bases[key]
    return figures


def _traffic(
    workloads: Sequence[ResolvedWorkload], place: NDArray[np.int64], concurrency: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """How the requests of each row come; nothing where all are of a service that asks for nothing else."""
    found: dict[str, NDArray[np.float64]] = {}
    for number, workload in enumerate(workloads):
        of_it = place == number
        for name, value in traffic_columns(workload.traffic, concurrency[of_it]).items():
            found.setdefault(name, np.full(place.shape, STEADY[name]))[of_it] = value
    return found


def _speculation(
    asked: Speculative, settings: list[Setting], key: NDArray[np.int64], rows: EngineRows, speed: dict[str, Any]
) -> dict[str, NDArray[np.float64]]:
    """Gain of speculation at the load of each row, and the time per token with it, as the throughput endpoint says."""
    decoding = np.asarray(speed["decoding_sequences"], dtype=np.float64)
    sequences = np.maximum(np.where(np.isfinite(decoding), decoding, rows.concurrency), 1.0)
    mean = context_tokens(rows.input_tokens, rows.output_tokens)
    context = np.where(np.isnan(rows.context_tokens), mean, rows.context_tokens)
    gain = np.full(len(key), np.nan)
    for place, setting in enumerate(settings):
        at = np.flatnonzero((key == place) & (speed["reason"] != Reason.DOES_NOT_FIT))
        gain[at] = speculate(
            setting.speed,
            sequences=sequences[at],
            context_tokens=context[at],
            acceptance_rate=asked.acceptance_rate,
            draft_tokens=asked.draft_tokens,
            draft_cost_ratio=asked.draft_cost_ratio,
            draft=setting.draft,
        ).speedup
    return {"speculative_speedup": gain, "speculative_tpot_s": speed["tpot_s_mid"] / gain}


def _memory(
    settings: list[Setting],
    key: NDArray[np.int64],
    longest: NDArray[np.float64],
    batch: NDArray[np.int64],
    speed: dict[str, Any],
) -> dict[str, NDArray[np.float64]]:
    """The ledger of the worst rank at the whole length of every sequence, as the memory-fit endpoint counts it.

    Where the mode sets the batch, the ledger is that of the sequences that run at once on the mean, rounded up.
    """
    running = np.ceil(np.nan_to_num(speed["effective_concurrency"], nan=1.0) - 1e-9)
    running = np.clip(np.minimum(running, speed["full_length_sequences"]), 1.0, None)
    sequences = np.where(batch == 0, running, np.maximum(batch, 1))
    columns = {name: np.full(len(key), np.nan) for name in LEDGER_COLUMNS}
    order = np.argsort(key, kind="stable")
    bounds = np.searchsorted(key[order], np.arange(len(settings) + 1))
    for place, setting in enumerate(settings):
        rows = order[bounds[place] : bounds[place + 1]]
        for name, values in ledger_columns(setting.memory, tokens=longest[rows], sequences=sequences[rows]).items():
            columns[name][rows] = values
    return columns


def _scatter(columns: Rows, figures: dict[str, Any], index: NDArray[np.int64]) -> None:
    for name, values in figures.items():
        target = columns.get(name)
        if isinstance(target, TextValues):
            if name in _CODED:
                target.codes[index] = np.where(np.isnan(figures["step_s"]), -1, values)
                columns[name] = TextValues(codes=target.codes, labels=_CODED[name])
        elif target is not None and target.dtype == np.int8:
            target[index] = values
        elif target is not None:
            target[index] = np.where(np.isfinite(values), values, np.nan)
    columns["binding_term"] = _with_memory(_text(columns["binding_term"]), figures, index)


def _with_memory(binding: TextValues, figures: dict[str, Any], index: NDArray[np.int64]) -> TextValues:
    """What does not fit is bound by its weights when they alone are too much, else by the KV cache."""
    labels = (*_BINDINGS, "weights")
    codes = binding.codes.copy()
    no_room = figures["reason"] == Reason.DOES_NOT_FIT
    weights = figures["slack_bytes"] + figures["kv_cache_bytes"] <= 0
    codes[index[no_room]] = np.where(weights[no_room], len(_BINDINGS), _BINDINGS.index(Binding.KV_CACHE.label))
    return TextValues(codes=codes, labels=labels)


def _text(values: Any) -> TextValues:
    if not isinstance(values, TextValues):
        raise TypeError("not a text column")
    return values


_CODED: dict[str, tuple[str, ...]] = {"binding_term": _BINDINGS, "basis": _BASES}


def loads_up_to_fit(axes: Axes, cache: SettingCache) -> list[Loads]:
    """For each setting and workload its loads: powers of two up to what fits, and what fits; [1] where nothing does.

    What fits runs at once and stays in the cache to its end: `full_length_sequences`, at most what the engine runs.
    Workloads that take no batch size keep their own loads.
    """
    points = np.arange(int(np.prod(axes.shape)), dtype=np.int64)
    own = [
        None if workload.takes_batches and not workload.own_batches else loads_of(workload, ())
        for workload in axes.swept
    ]
    lists: list[Loads] = []
    for start in range(0, len(points), _POINTS_AT_ONCE):
        some = points[start : start + _POINTS_AT_ONCE]
        codes = np.unravel_index(some, axes.shape)
        ones = of_batches(np.ones(len(some), dtype=np.int64))
        rows = evaluate(axes, cache, codes, ones, axes.unsupported(codes))
        counts = [np.asarray(rows[name], dtype=np.float64) for name in ("full_length_sequences", "max_sequences")]
        values = np.nan_to_num(np.minimum(*counts), nan=0.0)
        lists += [own[place] or of_batches(_up_to(value)) for place, value in zip(codes[5], values, strict=True)]
    return lists


def _up_to(most: float) -> NDArray[np.int64]:
    largest = int(min(most, _MAX_BATCH))
    if largest < 1:
        return np.array([1], dtype=np.int64)
    powers = 2 ** np.arange(largest.bit_length(), dtype=np.int64)
    return powers if powers[-1] == largest else np.append(powers, np.int64(largest))
