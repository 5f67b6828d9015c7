"""Cost of tokens from one's own machines: hours are billed, tokens are what they yield.

Amounts here follow from a speed, so they are computed in float, broadcast over arrays (a sweep's rows), and cross
into money once, in `estimator.engine.cost.money`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.engine.errors import InvalidInputError, MissingFigureError

HOURS_PER_MONTH = 730  # 8,760 h of a year / 12
SECONDS_PER_HOUR = 3600
TOKENS_PER_MTOK = 10**6

Figures = NDArray[np.float64]


class Billing(StrEnum):
    """What the bill counts. `scale_to_zero` bills busy time only; the others bill every hour the machine is held."""

    RESERVED = "reserved"
    ON_DEMAND = "on_demand"
    SPOT = "spot"
    SCALE_TO_ZERO = "scale_to_zero"


class Allocation(StrEnum):
    """How the cost of an hour is split between input and output tokens."""

    ALL_TO_OUTPUT = "all_to_output"
    BY_TIME = "by_time"
    RATIO = "ratio"


def cost_per_mtok(cost_per_hour: Any, tokens_per_s: Any, load_fraction: Any = 1.0) -> Figures:
    """Cost of a million tokens: cost_per_hour / (tokens_per_s · 3,600 · load_fraction) · 10^6.

    Args:
        cost_per_hour: Price of all machines for an hour, any shape.
        tokens_per_s: Tokens per second at full load, > 0.
        load_fraction: Share of the paid time with work, (0, 1]; it divides tokens, it never lowers a held
            machine's bill. For scale to zero pass 1: idle time is not billed.

    Returns:
        Cost per million tokens, broadcast shape; inf-free because the inputs are checked.

    Source: definition; by hand (2 USD/h, 195.8 tokens/s: 2.837 per million).

    Equation: docs/model.md, eq. (51).

    >>> round(float(cost_per_mtok(2.0, 195.8)), 3)
    2.837
    """
    rate = np.asarray(tokens_per_s, dtype=np.float64)
    load = np.asarray(load_fraction, dtype=np.float64)
    if np.any(~(rate > 0)) or np.any(~(load > 0)) or np.any(load > 1):
        raise InvalidInputError("tokens_per_s must be above 0 and load_fraction in (0, 1]", field="tokens_per_s")
    hour = np.asarray(cost_per_hour, dtype=np.float64)
    return np.asarray(hour / (rate * SECONDS_PER_HOUR * load) * TOKENS_PER_MTOK)


def price_for_cost(cost_of_mtok: float, tokens_per_s: float) -> float:
    """Price of an hour at which a million tokens cost so much: cost_of_mtok · tokens_per_s · 3,600 / 10^6.

    Args:
        cost_of_mtok: Cost of a million tokens.
        tokens_per_s: Tokens per second of what the hour pays for, > 0.

    Unit: currency per hour. Equation: docs/model.md, eq. (51), solved for the price. Source: definition.

    >>> price_for_cost(1.0, 500.0)
    1.8
    """
    if not tokens_per_s > 0:
        raise InvalidInputError("tokens_per_s must be above 0", field="tokens_per_s")
    return cost_of_mtok * tokens_per_s * SECONDS_PER_HOUR / TOKENS_PER_MTOK


@dataclass(frozen=True, slots=True, kw_only=True)
class Yield:
    """What the machines produce at full load, per second; `None` where the mix is not known.

    `prefill_time_share` is the share of busy time spent on prefill, [0, 1]; only `by_time` needs it.
    """

    tokens_per_s_output: float
    output_tokens_per_request: float | None = None
    input_tokens_per_request: float | None = None
    cached_fraction: float = 0.0
    prefill_time_share: float | None = None

    def __post_init__(self) -> None:
        if not self.tokens_per_s_output > 0:
            raise InvalidInputError("tokens_per_s_output must be above 0", field="tokens_per_s_output")
        if not 0 <= self.cached_fraction < 1:
            raise InvalidInputError("cached_fraction is in [0, 1)", field="cached_fraction")

    @property
    def requests_per_s(self) -> float | None:
        """Completed requests per second, None without the length of the answers."""
        if not self.output_tokens_per_request:
            return None
        return self.tokens_per_s_output / self.output_tokens_per_request

    def input_tokens_per_s(self, *, fresh: bool = False) -> float | None:
        """Prompt tokens per second, all of them or only those not found in the prefix cache."""
        rate = self.requests_per_s
        if rate is None or self.input_tokens_per_request is None:
            return None
        return rate * self.input_tokens_per_request * ((1 - self.cached_fraction) if fresh else 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCost:
    """Cost per million tokens of each kind (currency units, float); None with a reason where it is not defined."""

    output: float
    input: float | None
    cached_input: float | None
    blended: float | None
    per_request: float | None
    reasons: dict[str, str]


def split_cost(
    cost_per_hour: float,
    made: Yield,
    *,
    load_fraction: float = 1.0,
    allocation: Allocation = Allocation.ALL_TO_OUTPUT,
    output_input_cost_ratio: float | None = None,
) -> SplitCost:
    """Split the cost of an hour over input and output tokens.

    all_to_output: the answers carry it all. by_time: input carries the share of time spent on prefill. ratio: an
    output token costs ρ fresh input tokens, so an hour = c_in · (in/h + ρ · out/h). Blended = hour / (all in + out).

    Raises:
        MissingFigureError: The allocation needs lengths, a time share or a ratio that is not given.

    Equation: docs/model.md, eq. (51).
    """
    fresh = made.input_tokens_per_s(fresh=True)
    everything = made.input_tokens_per_s()
    reasons: dict[str, str] = {}
    cost_per_busy_s = cost_per_hour / (SECONDS_PER_HOUR * load_fraction)
    if allocation is Allocation.ALL_TO_OUTPUT:
        output, inputs = cost_per_busy_s / made.tokens_per_s_output, None
        reasons["cost_per_mtok_input"] = "allocated_to_output"
    elif allocation is Allocation.RATIO:
        output, inputs = _by_ratio(cost_per_busy_s, made.tokens_per_s_output, fresh, output_input_cost_ratio)
    else:
        output, inputs = _by_time(cost_per_busy_s, made, fresh)
    if inputs is None and "cost_per_mtok_input" not in reasons:
        reasons["cost_per_mtok_input"] = "no_fresh_input"
    cached = _cached_input(made, inputs, reasons)
    blended = None
    if everything is None:
        reasons["cost_per_mtok_blended"] = "lengths_unknown"
    else:
        blended = cost_per_busy_s / (everything + made.tokens_per_s_output) * TOKENS_PER_MTOK
    rate = made.requests_per_s
    if rate is None:
        reasons["cost_per_request"] = "lengths_unknown"
    return SplitCost(
        output=output * TOKENS_PER_MTOK,
        input=None if inputs is None else inputs * TOKENS_PER_MTOK,
        cached_input=cached,
        blended=blended,
        per_request=None if rate is None else cost_per_busy_s / rate,
        reasons=reasons,
    )


def _by_ratio(
    cost_per_s: float, output_rate: float, fresh: float | None, ratio: float | None
) -> tuple[float, float | None]:
    if ratio is None or not ratio > 0:
        raise MissingFigureError(
            "allocation ratio needs output_input_cost_ratio above 0", field="output_input_cost_ratio"
        )
    if fresh is None:
        raise MissingFigureError("allocation ratio needs the lengths of a workload", field="workload")
    per_input = cost_per_s / (fresh + ratio * output_rate)
    return per_input * ratio, per_input if fresh else None


def _by_time(cost_per_s: float, made: Yield, fresh: float | None) -> tuple[float, float | None]:
    share = made.prefill_time_share
    if share is None or fresh is None:
        raise MissingFigureError(
            "allocation by_time needs model, gpu, engine and workload: they give the time spent on prefill",
            field="workload",
        )
    output = cost_per_s * (1 - share) / made.tokens_per_s_output
    return output, cost_per_s * share / fresh if fresh else None


def _cached_input(made: Yield, per_input: float | None, reasons: dict[str, str]) -> float | None:
    """Tokens found in the prefix cache take no prefill: they carry no cost where input carries its own time."""
    if per_input is None or not made.cached_fraction:
        reasons["cost_per_mtok_cached_input"] = (
            "no_cached_input" if not made.cached_fraction else reasons.get("cost_per_mtok_input", "allocated_to_output")
        )
        return None
    return 0.0


def electricity_per_hour(*, gpus: Any, watts: Any, pue: float, price_per_kwh: float) -> Any:
    """Electricity of owned hardware for an hour: gpus · watts / 1,000 · PUE · price_per_kwh.

    Left out: CPU, memory, network and cooling beyond the PUE.

    Args:
        gpus: Number of boards.
        watts: Mean power of one, W.
        pue: Power usage effectiveness of the site, ≥ 1.
        price_per_kwh: Price of a kWh in the currency of the answer.

    Unit: currency per hour. Equation: docs/model.md, eq. (53). Source: definition.

    >>> round(electricity_per_hour(gpus=8, watts=700, pue=1.2, price_per_kwh=0.10), 3)
    0.672
    """
    if pue < 1:
        raise InvalidInputError("a PUE is 1 or more", field="power.pue")
    return gpus * watts / 1000 * pue * price_per_kwh
