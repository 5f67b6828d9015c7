"""Where self-hosting in whole GPUs becomes cheaper than an API: a line against a staircase.

An API bills a·V for V requests a month. Replicas come whole: n(V) = ⌈V / v⌉, each at c a month, v = requests a replica
can serve in a month at the allowed load. The line first meets the staircase at V = c / a when one replica can carry
that volume (c / a ≤ v); when even a full replica is dearer than the API (a·v < c) it never does.
"""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext

from estimator.engine.cost import money
from estimator.engine.errors import InvalidInputError

MAX_STEPS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Stair:
    """One step: up to this volume, so many replicas and GPUs, at this bill; what the API takes at its end."""

    requests_up_to: float
    replicas: int
    gpus: int
    cost_per_month: Decimal
    api_cost_at_end: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Volumes where the cheaper side changes; None with a reason where there is none.

    `first` is the lowest volume at which self-hosting costs no more; from `always_from` on it never costs more again,
    whatever step follows. `load_fraction_needed` is the share of one replica's capacity at which it pays, above 1:
    never.
    """

    first_requests_per_month: float | None
    always_from_requests_per_month: float | None
    load_fraction_needed: float
    reason: str | None


def replicas_for(requests: float, replica_requests: float) -> int:
    """Whole replicas for a monthly volume, at least one; a rounding error of 1e-9 does not add a replica.

    Equation: docs/model.md, eq. (54). Source: definition.

    >>> replicas_for(2_500_000, 1_000_000)
    3
    """
    if not replica_requests > 0:
        raise InvalidInputError("a replica must serve some requests", field="self_hosted")
    return max(math.ceil(requests / replica_requests - 1e-9), 1)


def crossing(*, api_cost_per_request: Decimal, replica_cost: Decimal, replica_requests: float) -> Crossing:
    """Where the API's line meets the staircase of replicas.

    Args:
        api_cost_per_request: a, exact.
        replica_cost: c, one replica for a month.
        replica_requests: v, requests a replica serves in a month at the allowed load.
    """
    line, step = money.to_physics(api_cost_per_request), money.to_physics(replica_cost)
    if line <= 0:
        return Crossing(
            first_requests_per_month=None,
            always_from_requests_per_month=None,
            load_fraction_needed=math.inf if step else 0.0,
            reason="the API is free of charge",
        )
    first = step / line
    needed = first / replica_requests
    if needed > 1:
        return Crossing(
            first_requests_per_month=None,
            always_from_requests_per_month=None,
            load_fraction_needed=needed,
            reason="a full replica costs more than the API for the same requests",
        )
    # Just above n·v the bill is (n + 1)·c against a·n·v: never dearer once n ≥ c / (a·v − c). The last step that begins
    # dearer is the one with as many replicas; it pays from n·c / a on.
    gain = line * replica_requests - step
    always = None if gain <= 1e-12 * step else max(math.ceil(step / gain - 1e-9), 1) * first
    return Crossing(
        first_requests_per_month=first,
        always_from_requests_per_month=always,
        load_fraction_needed=needed,
        reason=None,
    )


def staircase(
    *,
    api_cost_per_request: Decimal,
    replica_cost: Decimal,
    replica_requests: float,
    gpus_per_replica: int,
    requests: float,
) -> tuple[Stair, ...]:
    """The steps around a volume: the first ones, and those up to one beyond it, at most 12."""
    wanted = replicas_for(requests, replica_requests)
    first = max(1, wanted - MAX_STEPS + 2)
    stairs = []
    for replicas in range(first, wanted + 2):
        end = replicas * replica_requests
        with localcontext(money.EXACT):
            bill = (replica_cost * replicas).normalize()
            api = api_cost_per_request * money.from_physics(end)
        stairs.append(
            Stair(
                requests_up_to=end,
                replicas=replicas,
                gpus=replicas * gpus_per_replica,
                cost_per_month=bill,
                api_cost_at_end=money.round_physics(api),
            )
        )
    return tuple(stairs)
