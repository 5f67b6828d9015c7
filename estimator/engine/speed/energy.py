"""Power and energy of rows: watts of a GPU, joules of a token and of a request, and what a cap makes of times."""

from typing import Any

import numpy as np

from estimator.engine.elementwise import any_of, choose
from estimator.engine.power.draw import Draw, capped_slowdown, gpu_watts, watts_ends
from estimator.engine.serving.load import Load
from estimator.engine.speed.columns import RATE_COLUMNS, TIME_COLUMNS
from estimator.engine.speed.figures import RATE_SIDE, Bounds, Columns
from estimator.figures.energy import SIDES


def wanted_watts(columns: Columns, bounds: Bounds, load: Load, draw: Draw, *, sequences: Any, busy: Any = 1.0) -> Any:
    """Power of each GPU without a cap, from the bytes and FLOPs of the ceiling at the expected rates.

    Args:
        columns: rates of the rows.
        bounds: seconds that a step of `sequences` needs at least, and a prompt's share of a stream.
        load: lengths; the first token of an answer is its prompt's.
        draw: power of a GPU.
        sequences: of a step, over all stages.
        busy: share of the time in which something runs.

    Unit: W. Equation: docs/model.md, eq. (74). Source: docs/constants.md, power.

    >>> from estimator.engine.forward_pass.roofline import StepFloor
    >>> step = StepFloor(memory_s=0.004, compute_s=0.0002)
    >>> least = Bounds(step=step, tpot_s=0.004, ttft_s=0.03, prompt_compute_s=0.03)
    >>> load = Load(input_tokens=1000.0, output_tokens=100.0, concurrency=1.0, context_tokens=1050.0)
    >>> h100 = Draw(idle_w=70.0, most_w=679.0, limit_w=700.0, half_width=0.27)
    >>> rates = {"requests_per_s_mid": np.float64(1.5), "tokens_per_s_total_mid": np.float64(150.0)}
    >>> round(float(wanted_watts(rates, least, load, h100, sequences=1.0)))
    576
    """
    requests = columns["requests_per_s_mid"]
    output = load.output_tokens
    # A single decode step is of no request.
    alone = np.isnan(requests)
    steps = choose(alone, 1.0, (output - 1.0) / output) * columns["tokens_per_s_total_mid"] / sequences
    prompts = choose(alone, 0.0, requests) * bounds.prompt_compute_s
    return gpu_watts(
        draw,
        busy=busy,
        memory_share=np.minimum(steps * bounds.step.memory_s, 1.0),
        compute_share=np.minimum(steps * bounds.step.compute_s + prompts, 1.0),
    )


def slowed(columns: Columns, draw: Draw, watts: Any) -> Columns:
    """Times and rates of rows whose GPUs would draw more than their limit.

    Equation: docs/model.md, eq. (76).
    """
    if not any_of(watts > draw.limit_w):
        return columns
    factors = dict(zip(("low", "mid", "high"), capped_slowdown(draw, watts), strict=True))
    for name in TIME_COLUMNS:
        if name in columns:
            columns[name] = columns[name] * factors.get(name.rpartition("_")[2], factors["mid"])
    for name in RATE_COLUMNS:
        columns[name] = columns[name] / factors[RATE_SIDE[name.rpartition("_")[2]]]
    return columns


def energy_columns(columns: Columns, load: Load, draw: Draw, watts: Any, *, gpus: Any) -> Columns:
    """Watts of a GPU, joules of an output token and of a request with their bands.

    Errors of power and of speed are independent: half-widths in ln add as squares.

    Equation: docs/model.md, eq. (75) and eq. (77).
    """
    power = dict(zip(SIDES, watts_ends(draw, watts), strict=True))
    rate = {side: columns[f"tokens_per_s_total_{side}"] for side in SIDES}
    # Where nothing is served no token has an energy.
    middle = power["mid"] * gpus / choose(rate["mid"] > 0.0, rate["mid"], np.nan)
    joules = {"mid": middle}
    for side, sign in (("low", -1.0), ("high", 1.0)):
        spread = np.hypot(np.log(power[side] / power["mid"]), np.log(rate[RATE_SIDE[side]] / rate["mid"]))
        joules[side] = middle * np.exp(sign * spread)
    tokens = choose(np.isnan(columns["requests_per_s_mid"]), np.nan, load.output_tokens)
    found: Columns = {}
    for side in SIDES:
        found[f"watts_per_gpu_{side}"] = power[side]
        found[f"joules_per_token_{side}"] = joules[side]
        found[f"joules_per_request_{side}"] = joules[side] * tokens
    return found
