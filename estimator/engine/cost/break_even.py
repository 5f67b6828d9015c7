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


def crossing(
    *, api_cost_per_request: Decimal, replica_cost: Decimal, replica_requests: float, fixed_cost: Decimal = Decimal(0)
) -> Crossing:
    """Where the API's line meets the staircase of replicas, F + n·c, with F paid whatever the volume.

    The line meets step n at (F + n·c) / a, the first n being ⌈F / (a·v − c)⌉, at least 1. Just above n·v the bill is
    F + (n + 1)·c against a·n·v: never dearer once n ≥ (F + c) / (a·v − c).

    Args:
        api_cost_per_request: a, exact.
        replica_cost: c, one replica for a month.
        replica_requests: v, requests a replica serves in a month at the allowed load.
        fixed_cost: F, what self-hosting costs each month beside its replicas.
    """
    line, step, fixed = (money.to_physics(part) for part in (api_cost_per_request, replica_cost, fixed_cost))
    if line <= 0:
        return Crossing(
            first_requests_per_month=None,
            always_from_requests_per_month=None,
            load_fraction_needed=math.inf if step + fixed else 0.0,
            reason="the API is free of charge",
        )
    needed = (step + fixed) / line / replica_requests
    gain = line * replica_requests - step
    if gain < -1e-12 * step or (needed > 1 and gain <= 1e-12 * step):
        return Crossing(
            first_requests_per_month=None,
            always_from_requests_per_month=None,
            load_fraction_needed=needed,
            reason="a full replica costs more than the API for the same requests",
        )
    first = max(math.ceil(fixed / gain - 1e-9), 1) if fixed else 1
    last = None if gain <= 1e-12 * step else max(math.ceil((fixed + step) / gain - 1e-9), 1)
    return Crossing(
        first_requests_per_month=(fixed + first * step) / line,
        always_from_requests_per_month=None if last is None else (fixed + last * step) / line,
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
    fixed_cost: Decimal = Decimal(0),
) -> tuple[Stair, ...]:
    """The steps around a volume: the first ones, and those up to one beyond it, at most 12."""
    wanted = replicas_for(requests, replica_requests)
    first = max(1, wanted - MAX_STEPS + 2)
    stairs = []
    for replicas in range(first, wanted + 2):
        end = replicas * replica_requests
        with localcontext(money.EXACT):
            bill = (fixed_cost + replica_cost * replicas).normalize()
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
