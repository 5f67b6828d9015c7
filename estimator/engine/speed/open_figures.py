"""Figures of open load: the mean and percentiles of TTFT at a rate, with bands and ceiling."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimator.engine.codes import Binding
from estimator.engine.forward_pass.operators import Folded, decode_linear_s, step_parts_s
from estimator.engine.forward_pass.roofline import Floor
from estimator.engine.power.draw import Draw, capped_slowdown
from estimator.engine.serving.load import Load, answer_time_s
from estimator.engine.serving.open_loop import OpenState, Pace, open_state
from estimator.engine.serving.queue_table import PERCENTILES
from estimator.engine.serving.steps import micro_batch
from estimator.engine.speed.bands import Band
from estimator.engine.speed.energy import energy_columns, wanted_watts
from estimator.engine.speed.figures import (
    Bounds,
    Columns,
    band_sides,
    binding_columns,
    bounds_of,
    ceiling_columns,
    metric_columns,
)

_CAP_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class _Slowdown:
    """How many times longer everything takes under a cap on power: at the fast end, in the middle, at the slow end."""

    fast: Any = 1.0
    mid: Any = 1.0
    slow: Any = 1.0

    def around(self, band: Band) -> Band:
        """The band of times and rates round the middle, with both ends of what the cap does."""
        fast, slow = self.fast / self.mid, self.slow / self.mid
        return replace(
            band,
            ttft_low=band.ttft_low * fast,
            ttft_high=band.ttft_high * slow,
            tpot_low=band.tpot_low * fast,
            tpot_high=band.tpot_high * slow,
            offline_low=band.offline_low / slow,
            offline_high=band.offline_high / fast,
        )


_NO_CAP = _Slowdown()


def open_columns(
    pace: Pace,
    floor: Floor,
    load: Load,
    band: Band,
    *,
    pipeline: Any,
    places: Any,
    requests_per_s: Any,
    variation: Any,
    gpus: Any,
    folded: Folded | None,
    draw: Draw,
) -> Columns:
    """Columns of each row under open load; TTFT and end-to-end times are NaN where the queue grows.

    The throughput is the rate itself while it is stable, and beyond it what the replica can serve, with the band of
    the most throughput; no end is above the ceiling's full places.
    """
    state, cap = _under_cap(pace, floor, load, draw, places, requests_per_s, variation, pipeline)
    full = bounds_of(floor, load, micro_batch(places, pipeline), pipeline=pipeline)
    grows = state.utilization >= 1.0
    served = np.minimum(np.asarray(requests_per_s, dtype=np.float64), state.max_stable_requests_per_s)
    micro = micro_batch(np.maximum(state.decoding, 1.0), pipeline)
    bounds = bounds_of(floor, load, micro, pipeline=pipeline)
    least, least_tpot, least_ttft = bounds.step, bounds.tpot_s, bounds.ttft_s
    most = places / full.busy_e2e_s(places, load.output_tokens)
    alone = answer_time_s(least_ttft, least_tpot, load.output_tokens)
    columns = ceiling_columns(bounds, load, alone, most * load.output_tokens, gpus=gpus)
    served = np.minimum(served, most)
    waits = np.where(grows[..., None], np.nan, state.waits_s)
    tpot = np.maximum(state.tpot_s, least_tpot)
    ends = band if cap is _NO_CAP else cap.around(band)
    columns |= _sides(state, bounds, load, ends, waits_s=waits[..., 0], offered=requests_per_s, most=most, gpus=gpus)
    for place, percentile in enumerate(PERCENTILES, start=1):
        columns[f"ttft_s_p{percentile}"] = np.maximum(state.base_ttft_s + waits[..., place], least_ttft) + load.client_s
    columns["ttft_outside_s"] = state.first_s + load.client_s
    columns["ttft_waiting_s"] = state.steps_s + waits[..., 0]
    columns["ttft_forward_s"] = state.base_ttft_s - state.first_s - state.steps_s + 0.0 * waits[..., 0]
    columns["utilization"] = state.utilization
    columns["max_stable_requests_per_s"] = state.max_stable_requests_per_s
    columns["effective_concurrency"] = np.minimum(served * (state.base_ttft_s + load.output_tokens * tpot), places)
    columns["decoding_sequences"] = state.decoding
    columns["prefill_s"] = np.maximum(pace.prefill_s * cap.mid, least_ttft)
    columns["step_s"] = np.maximum(state.step_s, least_tpot)
    columns["saturated"] = grows
    if folded is None:
        parts = {Binding.MEMORY_BANDWIDTH: least.memory_s, Binding.COMPUTE: least.compute_s}
    else:
        linear = decode_linear_s(folded, load.context_tokens)
        _, parts, columns["step_cache_s"] = step_parts_s(folded, micro, linear)
    columns |= binding_columns(parts, grows)
    # Sequences inside a stable queue come and go like those of many servers: nobody is there exp(-mean) of the time.
    busy = -np.expm1(-columns["effective_concurrency"])
    watts = wanted_watts(columns, bounds, load, draw, sequences=micro * pipeline, busy=busy)
    return columns | energy_columns(columns, load, draw, watts, gpus=gpus)


def _under_cap(
    pace: Pace, floor: Floor, load: Load, draw: Draw, places: Any, rate: Any, variation: Any, pipeline: Any
) -> tuple[OpenState, _Slowdown]:
    """The state where GPUs run as slowly as their cap makes them, and by how much.

    A replica whose every second lasts `s` serves arrivals as one without a cap serves `s` times as many, each time
    `s` as long. Its clock is that of its own batch, with a cap on what it draws while it runs.
    """
    state = open_state(pace, load, places, rate, variation)
    if not np.any(draw.limit_w < draw.most_w):
        return state, _NO_CAP
    cap = _NO_CAP
    for _round in range(_CAP_ROUNDS):
        wanted = _running_watts(state, floor, load, draw, pipeline)
        cap = _Slowdown(*capped_slowdown(draw, wanted))
        state = open_state(pace, load, places, rate * cap.mid, variation)
    crowded = replace(state, decoding=places + 0.0 * state.decoding, tpot_s=pace.full.tpot_s)
    _, slowest, _ = capped_slowdown(draw, _running_watts(crowded, floor, load, draw, pipeline))
    stable = state.max_stable_requests_per_s / slowest
    longer = {name: getattr(state, name) * cap.mid for name in ("step_s", "tpot_s", "base_ttft_s", "steps_s")}
    waits = state.waits_s * np.expand_dims(np.asarray(cap.mid), -1)
    busy = np.asarray(rate) / np.maximum(stable, 1e-300)
    return replace(state, **longer, waits_s=waits, utilization=busy, max_stable_requests_per_s=stable), cap


def _running_watts(state: OpenState, floor: Floor, load: Load, draw: Draw, pipeline: Any) -> Any:
    """What a GPU would draw without a cap while it decodes for those of a state."""
    running = np.maximum(state.decoding, 1.0)
    micro = micro_batch(running, pipeline)
    tokens = running / state.tpot_s
    rates = {"requests_per_s_mid": tokens / load.output_tokens, "tokens_per_s_total_mid": tokens}
    bounds = bounds_of(floor, load, micro, pipeline=pipeline)
    return wanted_watts(rates, bounds, load, draw, sequences=micro * pipeline)


def _sides(
    state: OpenState,
    bounds: Bounds,
    load: Load,
    band: Band,
    *,
    waits_s: Any,
    offered: Any,
    most: Any,
    gpus: Any,
) -> Columns:
    """The ends of the band: mean times, and the rate offered while the replica can serve it, at `most` requests/s."""
    tpot = np.maximum(state.tpot_s, bounds.tpot_s)
    shares = {"low": band.offline_high, "mid": 1.0, "high": band.offline_low}
    columns: Columns = {}
    for side, first, each in band_sides(band):
        ttft_end = np.maximum((state.base_ttft_s + waits_s) * first, bounds.ttft_s) + load.client_s
        tpot_end = np.maximum(tpot * each, bounds.tpot_s)
        e2e = answer_time_s(ttft_end, tpot_end, load.output_tokens)
        stable = np.minimum(state.max_stable_requests_per_s * shares[side], most)
        total = np.minimum(offered, stable) * load.output_tokens
        columns |= metric_columns(ttft_end, tpot_end, e2e, total, load.output_tokens, gpus, side=side)
    return columns
