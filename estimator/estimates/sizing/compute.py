"""Replicas and GPUs for a demand within targets and budget, for each candidate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from math import isfinite

import numpy as np

from estimator.engine.cost import money
from estimator.engine.cost.self_hosted import HOURS_PER_MONTH
from estimator.engine.errors import EngineError
from estimator.engine.sizing import Capacity, Fleet, Objective, fleet, replicas_for
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.prepared import PreparedKey
from estimator.estimates.answers import Band
from estimator.estimates.sizing.question import Demand
from estimator.estimates.throughput.capacity import ReplicaCapacity, replica_capacities
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import setting_of, sweep_of, workload_of
from estimator.figures.energy import SIDES
from estimator.question.workload import ResolvedWorkload, Targets
from estimator.resolvers.candidates import Candidate
from estimator.resolvers.gpu_prices import GpuPrice

CROSSES_NODE = "tensor_parallel_crosses_node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fulfilment:
    """The machines that serve a demand, what all of them carry, and their price where one is known."""

    capacity: Capacity
    fleet: Fleet
    mean_replicas: int | None
    total_capacity: float
    cost_per_hour: Decimal | None
    cost_per_month: Decimal | None
    watts_per_gpu: Band | None

    @property
    def watts(self) -> Band | None:
        """Power of all GPUs where every replica carries what it can, W; None where that of one is not known."""
        one, gpus = self.watts_per_gpu, self.fleet.gpus
        return one and Band(low=one.low * gpus, mid=one.mid * gpus, high=one.high * gpus)

    @property
    def goodput_per_gpu(self) -> float:
        """Requests per second of a replica over its GPUs."""
        return self.capacity.requests_per_s / self.fleet.gpus_per_replica


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A candidate sized; without `served` it serves nothing, and `reason` says why."""

    candidate: Candidate
    basis: str
    replica: ReplicaCapacity | None
    served: Fulfilment | None
    reason: str | None


def size(
    candidates: Sequence[Candidate],
    demand: Demand,
    slo: Targets,
    gpus_per_node: int,
    confidence: float | None = None,
) -> list[Option]:
    """Size candidates of one workload, all in one search; with `confidence` by the chance of meeting every target.

    A plan the engine cannot evaluate is an option that serves nothing, with its reason.
    """
    options: dict[int, Option] = {}
    keys: dict[int, PreparedKey] = {}
    for place, candidate in enumerate(candidates):
        try:
            prepared = setting_of(candidate.plan).speed
        except EngineError as error:
            options[place] = _rejected(candidate, f"not_supported: {error}", basis="assumption")
            continue
        if candidate.plan.parallelism.tp > gpus_per_node:
            options[place] = _rejected(candidate, CROSSES_NODE, basis=str(prepared.basis))
        else:
            keys[place] = prepared
    if keys:
        workload = workload_of(candidates[0].plan)
        found = replica_capacities(list(keys.values()), workload, demand.load, slo, confidence)
        power = _powers(list(keys.values()), workload, found)
        for (place, prepared), replica, watts in zip(keys.items(), found, power, strict=True):
            options[place] = _option(candidates[place], str(prepared.basis), replica, demand, gpus_per_node, watts)
    return [options[place] for place in range(len(candidates))]


def _powers(keys: list[PreparedKey], workload: ResolvedWorkload, found: Sequence[ReplicaCapacity]) -> list[Band | None]:
    """Power of a GPU of each key at the capacity of its replica, all of them in one evaluation."""
    loads = np.array([1.0 if one.capacity is None else float(one.capacity.concurrency) for one in found])
    rows = rows_of(workload, loads, mode=WorkloadMode.CLOSED_LOOP, key=np.arange(len(keys)))
    columns = sweep_of(keys).evaluate(rows)
    ends = zip(*(columns[f"watts_per_gpu_{side}"].tolist() for side in SIDES), strict=True)
    return [Band(low=low, mid=mid, high=high) if isfinite(mid) else None for low, mid, high in ends]


def _option(
    candidate: Candidate,
    basis: str,
    replica: ReplicaCapacity,
    demand: Demand,
    gpus_per_node: int,
    watts: Band | None,
) -> Option:
    if replica.capacity is None:
        return Option(candidate=candidate, basis=basis, replica=replica, served=None, reason=replica.reason)
    served = _serve(demand, replica.capacity, candidate.plan.parallelism.gpus, gpus_per_node, candidate.price)
    served = replace(served, watts_per_gpu=watts)
    return Option(candidate=candidate, basis=basis, replica=replica, served=served, reason=None)


def _rejected(candidate: Candidate, reason: str, *, basis: str) -> Option:
    return Option(candidate=candidate, basis=basis, replica=None, served=None, reason=reason)


def _serve(
    demand: Demand, capacity: Capacity, gpus_per_replica: int, gpus_per_node: int, price: GpuPrice | None
) -> Fulfilment:
    per = demand.carried_by(capacity)
    replicas = replicas_for(demand.scaled(demand.wanted), per)
    machines = fleet(replicas, gpus_per_replica, gpus_per_node)
    hour, month = _bill(price, machines)
    mean = demand.requests_per_s_mean
    return Fulfilment(
        capacity=capacity,
        fleet=machines,
        mean_replicas=None if mean is None else replicas_for(demand.scaled(mean), per),
        total_capacity=per * replicas,
        cost_per_hour=hour,
        cost_per_month=month,
        watts_per_gpu=None,
    )


def _bill(price: GpuPrice | None, machines: Fleet) -> tuple[Decimal | None, Decimal | None]:
    if price is None:
        return None, None
    with localcontext(money.EXACT):
        hour = (price.amount * machines.gpus).normalize()
        return hour, (hour * HOURS_PER_MONTH).normalize()


def ranked(options: list[Option], objective: Objective) -> list[Option]:
    """Options that serve the demand, best first; unknown prices go last."""

    def key(served: Fulfilment) -> tuple[float | Decimal, ...]:
        bill = (served.cost_per_month is None, served.cost_per_month or Decimal(0))
        if objective is Objective.MAX_GOODPUT_PER_GPU:
            return (-served.goodput_per_gpu, served.fleet.gpus)
        if objective is Objective.MIN_COST:
            return (*bill, served.fleet.gpus)
        return (served.fleet.gpus, *bill)

    able = [(key(option.served), place, option) for place, option in enumerate(options) if option.served is not None]
    return [option for _key, _place, option in sorted(able, key=lambda one: one[:2])]
