"""Ceiling and expectation of many rows of one engine kind and mode: seconds, rates, their bands, what binds."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from estimator.engine.codes import Binding
from estimator.engine.elementwise import any_of, choose
from estimator.engine.forward_pass.roofline import (
    Floor,
    StepFloor,
    floor_prefill_compute_s,
    floor_prefill_memory_s,
    step_floor,
)
from estimator.engine.serving.load import Load, answer_time_s, turns_of
from estimator.engine.serving.waves import Loop
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.bands import Band

Floats = npt.NDArray[np.float64]
Columns = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The middle of the expectation before its band; seconds, sequences and tokens/s.

    `queue_s` is the wait for a free sequence, apart from `ttft_s`. `parts` are the seconds of one step by Binding.
    """

    admitted: Any
    decoding: Any
    step_s: Any
    tpot_s: Any
    ttft_s: Any
    queue_s: Any
    prefill_s: Any
    tokens_per_s: Any
    parts: dict[Binding, Any]
    cache_read_s: Any = 0.0
    busy: bool = True
    loop: Loop | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What nothing is faster than, in seconds: one step, one token, one prompt, and a prompt's share of a stream."""

    step: StepFloor
    tpot_s: Any
    ttft_s: Any
    prompt_compute_s: Any

    def busy_tpot_s(self, others: Any, output_tokens: Any) -> Any:
        """Least mean time per token when `others` prompts are prefilled on the same GPUs while a sequence decodes."""
        return np.maximum(self.step.memory_s, self.step.compute_s + others / output_tokens * self.prompt_compute_s)

    def busy_e2e_s(self, sequences: Any, output_tokens: Any) -> Any:
        """Least mean end-to-end time where `sequences` are served over and over: products of the prompt of each.

        By Little's law a rate of `sequences / e2e` asks for no more products than the peak allows.
        """
        alone = answer_time_s(self.ttft_s, self.tpot_s, output_tokens)
        return np.maximum(alone, answer_time_s(sequences * self.prompt_compute_s, self.step.compute_s, output_tokens))


def bounds_of(floor: Floor, load: Load, sequences: Any, *, pipeline: Any) -> Bounds:
    """The physical bounds of rows whose micro-batch holds `sequences`.

    Pipeline stages may work on one prompt's pieces at once, so that a prompt takes 1/pp of its work.
    """
    new, cached = load.input_tokens - load.cached_tokens, load.cached_tokens
    step = step_floor(floor, sequences, load.context_tokens)
    prompt = floor_prefill_compute_s(floor, new, cached) / pipeline
    reading = floor_prefill_memory_s(floor, new, cached) / pipeline
    return Bounds(
        step=step,
        tpot_s=step.time_s(),
        ttft_s=np.maximum(reading, prompt),
        prompt_compute_s=floor_prefill_compute_s(floor, new, cached, floor.attention_dp) / pipeline,
    )


def ceiling_columns(bounds: Bounds, load: Load, e2e: Any, total: Any, *, gpus: Any) -> Columns:
    """The ceiling of each row, with as many sequences a step as the expectation decodes; `total` is tokens/s."""
    return metric_columns(bounds.ttft_s, bounds.tpot_s, e2e, total, load.output_tokens, gpus, side="ceiling")


def closed_columns(
    expected: Expected,
    bounds: Bounds,
    load: Load,
    band: Band,
    *,
    gpus: Any,
    mode: WorkloadMode,
    places_doubt: Any = 1.0,
) -> Columns:
    """Ceiling and expectation of a mode without arrivals, the expectation never faster than the ceiling.

    Ends of end-to-end times are `ttft end + (n − 1) · tpot end`; rates take the reciprocal ends. `places_doubt` is the
    factor by which the sequences that the cache admits may be more or fewer (1 where they are known): it moves the ends
    of the wait for a place.
    """
    saturated = np.zeros(np.shape(expected.step_s), dtype=bool)
    if mode is not WorkloadMode.OFFLINE:
        saturated = load.concurrency > expected.admitted * (1.0 + 1e-9)
    if any_of(saturated):
        band = _saturated_band(band, saturated)
    columns: Columns = {
        "saturated": saturated,
        "effective_concurrency": expected.admitted,
        "decoding_sequences": expected.decoding,
        "prefill_s": np.maximum(expected.prefill_s, bounds.ttft_s),
        "step_s": np.maximum(expected.step_s, bounds.tpot_s),
        "step_cache_s": expected.cache_read_s,
    }
    columns |= binding_columns(expected.parts, saturated)
    if mode in (WorkloadMode.OFFLINE, WorkloadMode.DECODE_STEP):
        alone = answer_time_s(bounds.ttft_s, bounds.tpot_s, load.output_tokens)
        least = bounds.tpot_s
        if mode is WorkloadMode.OFFLINE:
            least = bounds.busy_tpot_s(expected.admitted, load.output_tokens)
        columns |= ceiling_columns(bounds, load, alone, expected.admitted / least, gpus=gpus)
        if mode is WorkloadMode.OFFLINE:
            return columns | _offline(expected, bounds, load, band, gpus=gpus, least=least)
        return columns | _one_step(columns["step_s"], expected, bounds, band, gpus=gpus)
    e2e = bounds.busy_e2e_s(expected.admitted, load.output_tokens)
    columns |= ceiling_columns(bounds, load, e2e, expected.admitted * load.output_tokens / e2e, gpus=gpus)
    if mode is WorkloadMode.STATIC_BATCH:
        return columns | _static(expected, bounds, load, band, gpus=gpus, shortest=e2e)
    return columns | _online(expected, bounds, load, band, gpus=gpus, shortest=e2e, places_doubt=places_doubt)


def _saturated_band(band: Band, saturated: Any) -> Band:
    return replace(
        band,
        tpot_low=choose(saturated, band.tpot_saturated_low, band.tpot_low),
        tpot_high=choose(saturated, band.tpot_saturated_high, band.tpot_high),
    )


def band_sides(band: Band) -> tuple[tuple[str, Any, Any], ...]:
    """Each side of the band with its multipliers of TTFT and of TPOT."""
    return (
        ("mid", 1.0, 1.0),
        ("low", band.ttft_low, band.tpot_low),
        ("high", band.ttft_high, band.tpot_high),
    )


def _online(
    expected: Expected, bounds: Bounds, load: Load, band: Band, *, gpus: Any, shortest: Any, places_doubt: Any
) -> Columns:
    """A closed loop: `total = admitted · output / e2e inside the engine`; the wait for a place is in TTFT alone.

    The wait is `(concurrency / places − 1) · e2e`: near saturation a small error of the places makes it anything
    between nothing and many times as long, so its ends are those of more and of fewer places.
    """
    least = bounds.tpot_s
    if expected.busy:
        least = bounds.busy_tpot_s(np.maximum(expected.decoding - 1.0, 0.0), load.output_tokens)
    tpot = np.maximum(expected.tpot_s, least)
    under_way = expected.admitted * load.output_tokens
    middle = np.maximum(np.maximum(expected.ttft_s, bounds.ttft_s), shortest - (load.output_tokens - 1.0) * tpot)
    turns = _turns_waited(expected, load, places_doubt)
    columns: Columns = {}
    for side, first, each in band_sides(band):
        tpot_end = np.maximum(tpot * each, bounds.tpot_s)
        decoding = (load.output_tokens - 1.0) * tpot_end
        # The client's time is stated, not estimated: no band is around it.
        inside = np.maximum((middle - load.client_s) * first + load.client_s, bounds.ttft_s)
        answer = np.maximum(inside + decoding, shortest)
        ttft_end = inside + turns[side] * answer
        e2e_end = answer + turns[side] * answer
        total = under_way / answer
        columns |= metric_columns(ttft_end, tpot_end, e2e_end, total, load.output_tokens, gpus, side=side)
    return columns


def _turns_waited(expected: Expected, load: Load, places_doubt: Any) -> dict[str, Any]:
    """End-to-end times that a request waits for a place, with the places said, more of them and fewer."""
    waited = turns_of(load.concurrency, expected.admitted) - 1.0
    if not any_of(waited > 0.0):
        return {"mid": 0.0, "low": 0.0, "high": 0.0}
    doubt = choose(waited > 1e-9, places_doubt, 1.0)
    more, fewer = (turns_of(load.concurrency, expected.admitted * factor) - 1.0 for factor in (doubt, 1.0 / doubt))
    return {"mid": waited, "low": more, "high": fewer}


def _static(expected: Expected, bounds: Bounds, load: Load, band: Band, *, gpus: Any, shortest: Any) -> Columns:
    """A batch that starts and ends together, in as many turns as the cache needs; its rate has its own band.

    Times are those of the whole batch: until every request has its first token, and until every answer is whole.

    Equation: docs/model.md, eq. (43).
    """
    tpot = np.maximum(expected.tpot_s, bounds.tpot_s)
    decoding = (load.output_tokens - 1.0) * tpot
    inside = np.maximum(np.maximum(expected.ttft_s, bounds.ttft_s), shortest - decoding)
    turns = turns_of(load.concurrency, expected.admitted)
    rates = {"mid": 1.0, "low": band.static_high, "high": band.static_low}
    columns: Columns = {}
    for side, first, each in band_sides(band):
        turn = np.maximum((inside + decoding) / rates[side], shortest)
        first_end = np.maximum(np.minimum(inside * first, turn), bounds.ttft_s)
        tpot_end = np.maximum(tpot * each, bounds.tpot_s)
        time = turns * turn
        total = load.concurrency * load.output_tokens / time
        ttft_end = time - turn + first_end
        columns |= metric_columns(ttft_end, tpot_end, time, total, load.output_tokens, gpus, side=side)
    return columns


def _offline(expected: Expected, bounds: Bounds, load: Load, band: Band, *, gpus: Any, least: Any) -> Columns:
    """Maximum throughput: a queue that never empties, so that neither TTFT nor end-to-end time is a property of it."""
    bound = expected.admitted / least
    middle = np.minimum(expected.tokens_per_s, bound)
    unsaid = np.full(np.shape(middle), np.nan)
    columns: Columns = {}
    for side, ratio in (("mid", 1.0), ("low", band.offline_high), ("high", band.offline_low)):
        total = np.minimum(middle * ratio, bound)
        # With pipeline stages `middle` holds their bubble, which no time per token has.
        tpot = np.maximum(np.maximum(expected.tpot_s, least) * (middle / total), bounds.tpot_s)
        columns |= metric_columns(unsaid, tpot, unsaid, total, load.output_tokens, gpus, side=side)
    return columns


def _one_step(step: Any, expected: Expected, bounds: Bounds, band: Band, *, gpus: Any) -> Columns:
    """One decode step: no first token, no request."""
    unsaid = np.full(np.shape(step), np.nan)
    columns: Columns = {}
    for side, _, each in band_sides(band):
        tpot = np.maximum(step * each, bounds.tpot_s)
        columns |= metric_columns(unsaid, tpot, unsaid, expected.admitted / tpot, unsaid, gpus, side=side)
    return columns


# The low end of a time belongs to the high end of a rate.
RATE_SIDE = {"low": "high", "high": "low", "mid": "mid", "ceiling": "ceiling"}


def metric_columns(ttft: Any, tpot: Any, e2e: Any, total: Any, output: Any, gpus: Any, *, side: str) -> Columns:
    """Columns of one end: the low end of a time is the high end of a rate."""
    rate = RATE_SIDE[side]
    return {
        f"ttft_s_{side}": ttft,
        f"tpot_s_{side}": tpot,
        f"e2e_s_{side}": e2e,
        f"tokens_per_s_per_user_{rate}": 1.0 / tpot,
        f"tokens_per_s_total_{rate}": total,
        f"tokens_per_s_per_gpu_{rate}": total / gpus,
        f"requests_per_s_{rate}": total / output,
    }


def binding_columns(parts: dict[Binding, Any], saturated: Any) -> Columns:
    """The largest part of a step; the KV cache where it, not the step, limits."""
    names = list(parts)
    best, code = parts[names[0]], np.full(np.shape(parts[names[0]]), int(names[0]), dtype=np.int8)
    for name in names[1:]:
        larger = parts[name] > best
        best = choose(larger, parts[name], best)
        code = choose(larger, np.int8(name), code)
    columns: Columns = {f"step_{name.label}_s": value for name, value in parts.items()}
    columns["binding_term"] = choose(saturated, np.int8(Binding.KV_CACHE), code)
    return columns


def name_limit(columns: Columns, cache_binds: Any) -> None:
    """Where more is asked for than the engine runs at once although the cache has room, a step binds, not the cache."""
    if any_of(columns["saturated"] & ~cache_binds):
        parts = {part: columns[name] for part in Binding if (name := f"step_{part.label}_s") in columns}
        columns |= binding_columns(parts, columns["saturated"] & cache_binds)
