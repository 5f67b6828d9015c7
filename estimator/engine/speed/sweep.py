"""Many rows at once: ceiling, expectation and what binds, as the columns of `columns`.

The scalar endpoint calls the same function.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.constants.bands import BAND_RULES
from estimator.engine.codes import MODES, Reason
from estimator.engine.elementwise import any_of, choose
from estimator.engine.forward_pass.llama_cpp import LlamaCpp
from estimator.engine.forward_pass.operators import Folded
from estimator.engine.forward_pass.roofline import Floor
from estimator.engine.serving.capacity import Capacity, capacity, running_tokens
from estimator.engine.serving.load import Load, context_tokens, prefix_tokens
from estimator.engine.serving.open_loop import ideal_pace, serving_pace
from estimator.engine.serving.steps import micro_batch
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.columns import CAPACITY_COLUMNS, FLOAT_COLUMNS
from estimator.engine.speed.corrected import corrected
from estimator.engine.speed.energy import energy_columns, slowed, wanted_watts
from estimator.engine.speed.expected import ideal_expected, llama_cpp_expected, serving_expected
from estimator.engine.speed.figures import Columns, bounds_of, closed_columns, name_limit
from estimator.engine.speed.first_token import as_asked, loop_columns
from estimator.engine.speed.open_figures import open_columns
from estimator.engine.speed.prepared import PreparedKey
from estimator.engine.speed.stacked_keys import KeyStack, stacked_keys
from estimator.engine.speed.stacking import Gatherer
from estimator.engine.speed.withheld import blank, withhold, without_gaps

CHUNK_ROWS = 4096  # Its columns stay in the cache next to the processor: a sixth faster than with 16,384 rows.
_SHORTEST_BLOCK = 32  # Shorter ones of one key cost more in loop starts than gathering their constants does.


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Loads to evaluate: arrays of shape (rows,), or scalars that hold for all.

    `key` is the place in the prepared keys, `mode` the code of the workload mode (`codes.MODE_CODES`). Missing context,
    rate and so on are NaN; the context then is `input + output / 2`.
    """

    key: Any
    mode: Any
    input_tokens: Any
    output_tokens: Any
    concurrency: Any
    context_tokens: Any = np.nan
    prefix_cache_hit_rate: Any = 0.0
    requests_per_s: Any = np.nan
    burstiness_cv: Any = 1.0
    waves: Any = 0.0
    length_ratio: Any = 1.0
    ramp_s: Any = 0.0
    client_s: Any = 0.0
    statistic: Any = 0.0
    ttft_at: Any = 0

    def __len__(self) -> int:
        return max((value.size for value in self._values().values() if isinstance(value, np.ndarray)), default=1)

    def part(self, index: Any) -> "Rows":
        """The rows at an index or slice; scalars stay."""
        return Rows(**{name: value[index] if _is_column(value) else value for name, value in self._values().items()})

    def shaped(self, shape: tuple[int, ...]) -> "Rows":
        """The rows as an array of this shape; scalars stay."""
        return Rows(
            **{name: value.reshape(shape) if _is_column(value) else value for name, value in self._values().items()}
        )

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def _is_column(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


class Sweep:
    """Prepared keys stacked once; `evaluate` then costs only elementwise arithmetic, in chunks of a fixed size."""

    def __init__(self, prepared: Sequence[PreparedKey]) -> None:
        kinds = sorted({key.kind for key in prepared})
        self._kinds = kinds
        self._alone = len(prepared) == 1
        self._kind_of_key = np.array([kinds.index(key.kind) for key in prepared], dtype=np.intp)
        self._place_in_kind = np.zeros(len(prepared), dtype=np.intp)
        self._corrections = {place: key.key.correction for place, key in enumerate(prepared) if key.key.correction}
        self._stacks: list[KeyStack] = []
        self._gatherers: dict[int, Gatherer[KeyStack]] = {}
        self._numbers: KeyStack | None = None
        self._keys_of_kind = np.bincount(self._kind_of_key, minlength=len(kinds)).tolist()
        for code in range(len(kinds)):
            members = [place for place, kind in enumerate(self._kind_of_key) if kind == code]
            self._place_in_kind[members] = np.arange(len(members))
            self._stacks.append(stacked_keys([prepared[place] for place in members]))

    def evaluate(self, rows: Rows) -> dict[str, npt.NDArray[Any]]:
        """Columns of all rows; memory beyond the columns themselves does not grow with the rows."""
        count = len(rows)
        # One block: memory comes in large pages, and its columns are asked for at once.
        out: dict[str, npt.NDArray[Any]] = dict(zip(FLOAT_COLUMNS, np.empty((len(FLOAT_COLUMNS), count)), strict=True))
        out["saturated"] = np.zeros(count, dtype=bool)
        out["binding_term"] = np.zeros(count, dtype=np.int8)
        out["reason"] = np.zeros(count, dtype=np.int8)
        self._fill(rows, out)
        return out

    def places(self, rows: Rows) -> dict[str, npt.NDArray[Any]]:
        """The `CAPACITY_COLUMNS` of all rows, without the speed that `evaluate` says beside them."""
        out: dict[str, npt.NDArray[Any]] = {name: np.empty(len(rows)) for name in CAPACITY_COLUMNS}
        self._fill(rows, out)
        return out

    def _fill(self, rows: Rows, out: dict[str, npt.NDArray[Any]]) -> None:
        count = len(rows)
        if count <= CHUNK_ROWS:
            self._chunk(rows, out)
            return
        start = 0
        while start < count:
            window = slice(start, _chunk_end(rows, start, count))
            self._chunk(rows.part(window), {name: column[window] for name, column in out.items()})
            start = window.stop

    def chunks(self, rows: Rows, size: int = CHUNK_ROWS) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """The same columns, `size` rows at a time, so that a caller never holds more."""
        for start in range(0, len(rows), size):
            yield self.evaluate(rows.part(slice(start, start + size)))

    def _chunk(self, rows: Rows, out: dict[str, npt.NDArray[Any]]) -> None:
        count = len(next(iter(out.values())))
        if self._alone and not _is_column(rows.mode):
            self._group(rows, int(rows.mode), self._place_in_kind, slice(0, count), out)
            return
        keys = np.broadcast_to(np.asarray(rows.key, dtype=np.intp), (count,))
        modes = np.broadcast_to(np.asarray(rows.mode, dtype=np.intp), (count,))
        combined = self._kind_of_key[keys] * len(MODES) + modes
        first = combined[0]
        if np.all(combined == first):
            self._group(rows, int(first), keys, slice(0, count), out)
            return
        for value in np.unique(combined):
            index = np.flatnonzero(combined == value)
            self._group(rows.part(index), int(value), keys[index], index, out)

    def _group(
        self, rows: Rows, combined: int, keys: npt.NDArray[np.intp], where: Any, out: dict[str, npt.NDArray[Any]]
    ) -> None:
        """Rows of one kind and mode; blocks of equal length with one key each broadcast instead of gathering."""
        code = combined // len(MODES)
        kind, mode = self._kinds[code], MODES[combined % len(MODES)]
        gathered = self._stacks[code]
        count = where.stop - where.start if isinstance(where, slice) else len(where)
        shape: tuple[int, ...] = (count,)
        # One key alone, as of a single estimate: its arrays of one entry broadcast as they are, and beside a row alone
        # they are numbers, whose sums numpy makes in a fifth of the time that arrays of one entry take.
        if self._alone and count == 1:
            gathered, rows = self._one_row(), rows.part(0)
        if not self._alone:
            block = 1 if self._corrections else _block_length(keys)
            place = self._place_in_kind[keys[::block]]
            shape = (count // block, block) if 1 < block < count else (count,)
            if len(place) > 1 or self._keys_of_kind[code] > 1:
                gathered = self._gatherer(code).take(place[:, None] if len(shape) > 1 else place)
        shaped = rows.shaped(shape)
        with np.errstate(all="ignore"):
            load = _load(shaped, mode)
            limits = _limits(gathered, load, shaped, kind)
            columns = _held(limits)
            if "reason" in out:
                columns = _columns(gathered, load, shaped, limits, kind, mode) | columns
                columns = corrected(columns, load, mode, self._corrections, keys)
                if mode is not WorkloadMode.DECODE_STEP:
                    columns = without_gaps(columns, shaped.output_tokens)
        for name, column in out.items():
            value = columns.get(name, np.nan)
            if len(shape) == 1:
                column[where] = value
            elif isinstance(where, slice):
                column[where].reshape(shape)[...] = value
            else:
                column[where] = np.broadcast_to(value, shape).reshape(count)

    def _one_row(self) -> KeyStack:
        """The constants of the only key as numbers."""
        if self._numbers is None:
            self._numbers = self._gatherer(0).take(0)
        return self._numbers

    def _gatherer(self, code: int) -> Gatherer[KeyStack]:
        found = self._gatherers.get(code)
        if found is None:
            found = self._gatherers[code] = Gatherer(self._stacks[code])
        return found


def _chunk_end(rows: Rows, start: int, count: int) -> int:
    """End of a chunk, put where the key changes if it does in the second half: chunks then hold whole blocks."""
    end = min(start + CHUNK_ROWS, count)
    if end == count or not np.ndim(rows.key):
        return end
    key = rows.key[start : end + 1]
    changes = np.flatnonzero(key[1:] != key[:-1])
    return start + int(changes[-1]) + 1 if len(changes) and changes[-1] > CHUNK_ROWS // 2 else end


def _block_length(keys: npt.NDArray[np.intp]) -> int:
    """Rows of each block of one key if all are equally long and worth it, the row count if there is one key, else 1."""
    count = len(keys)
    changes = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    if not len(changes):
        return count
    block = int(changes[0])
    even = count % block == 0 and len(changes) == count // block - 1
    if block >= _SHORTEST_BLOCK and even and np.array_equal(changes, np.arange(block, count, block)):
        return block
    return 1


def _is_stated(value: Any) -> bool:
    """Whether a number, or any of a column, is not NaN; numpy takes ten times as long for one number."""
    return not math.isnan(value) if isinstance(value, float) else any_of(~np.isnan(value))


def _floats(values: Any) -> Any:
    """A column as floats, or one number; as an array without dimensions each of its sums would be one of arrays."""
    return np.asarray(values, float) if _is_column(values) else np.float64(values)


def _load(rows: Rows, mode: WorkloadMode) -> Load:
    inputs, outputs, context = _floats(rows.input_tokens), _floats(rows.output_tokens), _floats(rows.context_tokens)
    mean = context_tokens(inputs, outputs)
    concurrency = np.float64(1.0) if mode is WorkloadMode.SINGLE_STREAM else _floats(rows.concurrency)
    return Load(
        input_tokens=inputs,
        output_tokens=np.maximum(outputs, 1.0),
        concurrency=np.maximum(concurrency, 1.0),
        context_tokens=choose(np.isnan(context), mean, context) if _is_stated(rows.context_tokens) else mean,
        cached_tokens=prefix_tokens(inputs, rows.prefix_cache_hit_rate) if any_of(rows.prefix_cache_hit_rate) else 0.0,
        waves=_floats(rows.waves),
        length_ratio=_floats(rows.length_ratio),
        ramp_s=_floats(rows.ramp_s),
        client_s=_floats(rows.client_s),
    )


def _limits(keys: KeyStack, load: Load, rows: Rows, kind: str) -> Capacity:
    limits = _capacity(keys, load, rows)
    if kind == "ideal":
        limits = replace(limits, cache_sequences=np.floor(limits.cache_sequences + 1e-9))
    return limits


def _held(limits: Capacity) -> Columns:
    """The capacity columns."""
    places = np.floor(limits.running_sequences + 1e-9)
    return {"max_sequences": places, "full_length_sequences": limits.full_length_sequences}


def _columns(keys: KeyStack, load: Load, rows: Rows, limits: Capacity, kind: str, mode: WorkloadMode) -> Columns:
    settings = keys.settings
    places = limits.running_sequences
    if mode is WorkloadMode.OPEN_LOOP and kind in ("serving", "ideal"):
        return as_asked(_open(keys, load, rows, places, kind), rows.statistic, rows.ttft_at)
    columns = _closed(keys, load, limits, kind, mode)
    cache_binds = limits.cache_sequences < limits.engine_sequences
    name_limit(columns, cache_binds)
    columns = withhold(columns, places, (settings.kv_settings_assumed > 0.0) & cache_binds, kind, load, mode)
    return as_asked(columns, rows.statistic, rows.ttft_at)


def _capacity(keys: KeyStack, load: Load, rows: Rows) -> Capacity:
    """Sequences that fit at the length stated, or at prompt and share of the answer; and with the whole answer."""
    stated, outputs = _floats(rows.context_tokens), _floats(rows.output_tokens)
    running = running_tokens(load.input_tokens, outputs, keys.limits.reserved_share)
    full = running_tokens(load.input_tokens, outputs, 1.0)
    if _is_stated(rows.context_tokens):
        running = choose(np.isnan(stated), running, stated)
        full = choose(np.isnan(stated), full, stated)
    return capacity(keys.stages, keys.limits, running_tokens=running, full_tokens=full)


def _closed(keys: KeyStack, load: Load, limits: Capacity, kind: str, mode: WorkloadMode) -> Columns:
    settings, model = keys.settings, keys.model
    if isinstance(model, Folded) and keys.scheduler is not None:
        expected = serving_expected(model, keys.scheduler, load, limits, mode)
    elif isinstance(model, LlamaCpp):
        expected = llama_cpp_expected(model, load, limits, mode)
    else:
        # Without an expectation the ceiling is evaluated at what is asked for and fits.
        expected = ideal_expected(
            model if isinstance(model, Floor) else keys.ceiling,
            load,
            limits,
            mode,
            pipeline=settings.pipeline,
            prefill_share=settings.prefill_share,
            decode_share=settings.decode_share,
        )
    micro = micro_batch(expected.decoding, settings.pipeline)
    bounds = bounds_of(keys.ceiling, load, micro, pipeline=settings.pipeline)
    in_doubt = (limits.cache_sequences < limits.engine_sequences) & (kind == "serving")
    columns = closed_columns(
        expected,
        bounds,
        load,
        keys.band,
        gpus=settings.gpus,
        mode=mode,
        places_doubt=choose(in_doubt, BAND_RULES.places_doubt, 1.0),
    )
    if expected.loop is not None:
        columns |= loop_columns(expected.loop, expected.queue_s, columns)
    watts = wanted_watts(columns, bounds, load, keys.draw, sequences=micro * settings.pipeline)
    columns = slowed(columns, keys.draw, watts)
    return columns | energy_columns(columns, load, keys.draw, watts, gpus=settings.gpus)


def _open(keys: KeyStack, load: Load, rows: Rows, places: Any, kind: str) -> Columns:
    settings = keys.settings
    if isinstance(keys.model, Folded) and keys.scheduler is not None:
        pace = serving_pace(keys.model, keys.scheduler, load, rows.requests_per_s, places)
    else:
        floor = keys.model if isinstance(keys.model, Floor) else keys.ceiling
        pace = ideal_pace(
            floor,
            load,
            places=places,
            pipeline=settings.pipeline,
            prefill_share=settings.prefill_share,
            decode_share=settings.decode_share,
        )
    columns = open_columns(
        pace,
        keys.ceiling,
        load,
        keys.band,
        pipeline=settings.pipeline,
        places=places,
        requests_per_s=rows.requests_per_s,
        variation=rows.burstiness_cv,
        gpus=settings.gpus,
        folded=keys.model if isinstance(keys.model, Folded) else None,
        draw=keys.draw,
    )
    reason = choose(columns["utilization"] >= 1.0, np.int8(Reason.QUEUE_GROWS), np.int8(Reason.NONE))
    return blank(columns, places < 1.0, reason)
