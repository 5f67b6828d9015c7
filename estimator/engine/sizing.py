"""How many replicas and GPUs a demand takes: whole replicas inside node boundaries, and what binds.

gpus = replicas · gpus_per_replica. A replica's capacity is the largest load that its memory holds and that meets every
target; `concurrency`, `users` and `rate` are three ways to say a load, and never mixed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from estimator.engine.errors import InvalidInputError

Floats = NDArray[np.float64]


class Constraint(StrEnum):
    """What ends the capacity of a replica."""

    MEMORY = "memory"
    MAX_NUM_SEQS = "max_num_seqs"
    TTFT = "ttft"
    TPOT = "tpot"
    E2E = "e2e"
    RATE = "rate"
    UNKNOWN = "missing-figure"


class Objective(StrEnum):
    """What the best option has: the fewest GPUs, the lowest bill, or the most capacity per GPU."""

    MIN_GPUS = "min_gpus"
    MIN_COST = "min_cost"
    MAX_GOODPUT_PER_GPU = "max_goodput_per_gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Largest load of one replica: requests in flight, requests/s there, and the constraint that ends it."""

    concurrency: int
    requests_per_s: float
    users: float | None
    binding: Constraint


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Replicas of a demand and the machines they stand in."""

    replicas: int
    gpus_per_replica: int
    gpus: int
    nodes: int
    gpus_in_nodes: int


def replicas_for(demand: float, capacity_per_replica: float) -> int:
    """⌈demand / capacity⌉, at least 1; a rounding error of 1e-9 does not add a replica.

    For a trace of arrivals λ(t) and a rate μ per replica this is the number at each moment: ⌈λ(t) / μ⌉.
    """
    if not capacity_per_replica > 0:
        raise InvalidInputError("a replica without capacity serves no demand", field="candidates")
    return max(math.ceil(demand / capacity_per_replica - 1e-9), 1)


def fleet(replicas: int, gpus_per_replica: int, gpus_per_node: int) -> Fleet:
    """Machines for replicas that never straddle a node unless one replica is larger than a node.

    Nodes hold ⌊node / replica⌋ replicas each; a larger replica takes ⌈replica / node⌉ whole nodes.
    """
    if gpus_per_replica <= gpus_per_node:
        nodes = math.ceil(replicas / (gpus_per_node // gpus_per_replica))
    else:
        nodes = replicas * math.ceil(gpus_per_replica / gpus_per_node)
    return Fleet(
        replicas=replicas,
        gpus_per_replica=gpus_per_replica,
        gpus=replicas * gpus_per_replica,
        nodes=nodes,
        gpus_in_nodes=nodes * gpus_per_node,
    )


def largest_load(
    loads: Floats,
    rates: Floats,
    times: dict[Constraint, tuple[Floats, float]],
    e2e_s: Floats,
    think_time_s: float | None,
    end: Constraint = Constraint.MEMORY,
) -> Capacity | None:
    """The largest load of a grid whose times meet their targets; None when not even the first does.

    Args:
        loads: Requests in flight, ascending, up to what memory holds; shape (n,).
        rates: Requests per second at each.
        times: Times and target in s, per constraint with a target.
        e2e_s: Time of a whole request at each, s.
        think_time_s: Pause of a user between answer and next request; with it a replica carries
            X · (think + e2e) users (the interactive response time law).
        end: What ends the grid: the memory, or the sequences that the engine runs at once.

    Returns:
        The capacity, bound by the target that the next load misses first, by a load of which nothing is known, or by
        what ends the grid.
    """
    inside = np.isfinite(rates)
    for values, target in times.values():
        with np.errstate(invalid="ignore"):
            inside &= values <= target
    if not inside[0]:
        return None
    met = len(loads) if inside.all() else int(np.argmin(inside))
    binding = end
    if met < len(loads):
        missed = (name for name, (values, target) in times.items() if values[met] > target)
        binding = next(missed, Constraint.UNKNOWN)
    last = met - 1
    best = int(np.argmax(rates[:met]))
    users = None if think_time_s is None else float(np.max(rates[:met] * (think_time_s + e2e_s[:met])))
    return Capacity(concurrency=int(loads[last]), requests_per_s=float(rates[best]), users=users, binding=binding)


def share_within(values: Sequence[float], target: float) -> float:
    """Share of requests whose figure meets a target: goodput over throughput."""
    if not values:
        raise InvalidInputError("no requests", field="values")
    return sum(value <= target for value in values) / len(values)
