"""Replicas and GPUs for a demand within targets and budget, for each candidate; the nearest one when none will do."""

from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from estimator.engine.codes import Reason
from estimator.engine.cost import money
from estimator.engine.cost.self_hosted import HOURS_PER_MONTH
from estimator.engine.errors import EngineError
from estimator.engine.options import BandSide, ServiceLevel
from estimator.engine.sizing import Capacity, Constraint, Fleet, Objective, fleet, largest_load, replicas_for
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.figures import RATE_SIDE
from estimator.engine.speed.sweep import Sweep
from estimator.resolvers.plan import Plan
from estimator.services.throughput_figures import figures_at
from estimator.services.throughput_plan import prepared_key, rows_of
from estimator.services.throughput_targets import targets_met

GRID = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Exactly one of a concurrency, users with a think time, or a peak rate; `headroom` is added as a share of it."""

    concurrency: float | None = None
    users: float | None = None
    think_time_s: float = 0.0
    requests_per_s_peak: float | None = None
    requests_per_s_mean: float | None = None
    burstiness_cv: float = 1.0
    headroom: float = 0.0

    def scaled(self, value: float) -> float:
        """A demand with its headroom."""
        return value * (1 + self.headroom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Price of one GPU for an hour and where it is from."""

    amount: Decimal
    currency: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One plan to size, with its price where one is known."""

    plan: Plan
    gpu: str
    precision: str
    tp: int
    price: Price | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A candidate sized. Without capacity no load meets the targets; `best_…` is what one request in flight gets."""

    candidate: Candidate
    capacity: Capacity | None
    fleet: Fleet | None
    mean_replicas: int | None
    total_capacity: float | None
    cost_per_month: Decimal | None
    cost_per_hour: Decimal | None
    basis: str
    reason: str | None
    best_ttft_s: float | None
    best_tpot_s: float | None
    max_sequences: int | None
    full_length_sequences: int | None = None

    @property
    def gpus(self) -> int:
        """GPUs in use; a large number where there is no fleet."""
        return self.fleet.gpus if self.fleet else 10**9

    @property
    def goodput_per_gpu(self) -> float:
        """Requests per second of a replica over its GPUs."""
        if self.capacity is None or self.fleet is None:
            return 0.0
        return self.capacity.requests_per_s / self.fleet.gpus_per_replica


def size(candidate: Candidate, demand: Demand, slo: ServiceLevel, gpus_per_node: int) -> Option:
    """Size one candidate; a plan the engine cannot evaluate is an option without capacity and with its reason."""
    try:
        prepared = prepared_key(candidate.plan)
    except EngineError as error:
        return _without(candidate, "not_supported", detail=str(error))
    per_replica = candidate.plan.parallelism.gpus
    if candidate.plan.parallelism.tp > gpus_per_node:
        return _without(candidate, "tensor_parallel_crosses_node", basis=str(prepared.basis))
    workload = candidate.plan.workload
    assert workload is not None  # noqa: S101  sizing always resolves one
    sweep = Sweep([prepared])
    first = sweep.evaluate(rows_of(workload, np.ones(1), mode=WorkloadMode.CLOSED_LOOP))
    room = float(first["max_sequences"][0])
    if not np.isfinite(room) or room < 1:
        reason = Reason(int(first["reason"][0]))
        label = "does_not_fit" if reason is Reason.NONE else reason.label
        return _without(candidate, label, basis=str(prepared.basis))
    side = "high" if slo.band_side is BandSide.CONSERVATIVE else "mid"
    end = Constraint.MAX_NUM_SEQS if room >= prepared.cache.engine_sequences else Constraint.MEMORY
    capacity = _closed(sweep, candidate.plan, demand, slo, side, room=int(room), end=end)
    if demand.requests_per_s_peak is not None and capacity is not None:
        capacity = _open(sweep, candidate.plan, demand, slo, capacity)
    best = {"ttft": float(first[f"ttft_s_{side}"][0]), "tpot": float(first[f"tpot_s_{side}"][0])}
    common: dict[str, Any] = {
        "candidate": candidate,
        "basis": str(prepared.basis),
        "best_ttft_s": best["ttft"] if np.isfinite(best["ttft"]) else None,
        "best_tpot_s": best["tpot"] if np.isfinite(best["tpot"]) else None,
        "max_sequences": int(room),
        "full_length_sequences": int(first["full_length_sequences"][0]),
    }
    if capacity is None:
        reason = Reason(int(first["reason"][0]))
        label = reason.label if reason is Reason.MISSING_FIGURE else "targets_not_met"
        return Option(capacity=None, fleet=None, mean_replicas=None, total_capacity=None, cost_per_month=None,
                      cost_per_hour=None, reason=label, **common)  # fmt: skip
    per = _per_replica(capacity, demand)
    replicas = replicas_for(demand.scaled(_wanted(demand)), per)
    machines = fleet(replicas, per_replica, gpus_per_node)
    hour, month = _bill(candidate.price, machines)
    mean = demand.requests_per_s_mean
    return Option(
        capacity=capacity,
        fleet=machines,
        mean_replicas=None if mean is None else replicas_for(demand.scaled(mean), per),
        total_capacity=per * replicas,
        cost_per_hour=hour,
        cost_per_month=month,
        reason=None,
        **common,
    )


def _without(candidate: Candidate, reason: str, *, detail: str = "", basis: str = "assumption") -> Option:
    return Option(
        candidate=candidate, capacity=None, fleet=None, mean_replicas=None, total_capacity=None, cost_per_month=None,
        cost_per_hour=None, basis=basis, reason=f"{reason}: {detail}" if detail else reason, best_ttft_s=None,
        best_tpot_s=None, max_sequences=None,
    )  # fmt: skip


def _closed(
    sweep: Sweep, plan: Plan, demand: Demand, slo: ServiceLevel, side: str, *, room: int, end: Constraint
) -> Capacity | None:
    """Largest concurrency of a replica within its room and targets, on a grid refined once around the miss."""
    assert plan.workload is not None  # noqa: S101
    low, high = 1.0, float(room)
    found: Capacity | None = None
    for _pass in range(2):
        loads = np.unique(np.round(np.geomspace(low, high, GRID)))
        columns = sweep.evaluate(rows_of(plan.workload, loads, mode=WorkloadMode.CLOSED_LOOP))
        times = {
            name: (columns[f"{column}_{side}"], float(target))
            for name, column, target in (
                (Constraint.TTFT, "ttft_s", slo.ttft_s),
                (Constraint.TPOT, "tpot_s", slo.tpot_s),
                (Constraint.E2E, "e2e_s", slo.e2e_s),
            )
            if target is not None
        }
        think = demand.think_time_s if demand.users is not None else None
        refined = largest_load(
            loads, columns[f"requests_per_s_{RATE_SIDE[side]}"], times, columns[f"e2e_s_{side}"], think, end
        )
        if refined is None:
            return found
        found = refined
        beyond = loads[loads > refined.concurrency]
        if refined.binding is end or not len(beyond) or beyond[0] - refined.concurrency <= 1:
            return found
        low, high = float(refined.concurrency), float(beyond[0])
    return found


def _open(sweep: Sweep, plan: Plan, demand: Demand, slo: ServiceLevel, closed: Capacity) -> Capacity | None:
    """Highest rate of arrivals of a replica within the targets, or a stable queue without targets."""
    assert plan.workload is not None  # noqa: S101
    workload = replace(
        plan.workload, mode=WorkloadMode.OPEN_LOOP, requests_per_s=1e-6, burstiness_cv=demand.burstiness_cv
    )
    columns = sweep.evaluate(rows_of(workload, np.ones(1), rate=np.full(1, 1e-6)))
    stable = float(columns["max_stable_requests_per_s"][0])
    if not np.isfinite(stable):
        return closed
    if slo.ttft_s is None and slo.tpot_s is None and slo.e2e_s is None:
        # A queue at its limit never empties; 95 % of it is taken.
        return replace(closed, requests_per_s=0.95 * stable, binding=Constraint.RATE)
    result = targets_met(sweep, workload, slo, figures_at(columns, 0, 1.0))
    best = result.max_rate.low if slo.band_side is BandSide.CONSERVATIVE else result.max_rate.mid
    if not best:
        return None
    binding = Constraint.RATE if best >= 0.98 * stable else closed.binding
    return replace(closed, requests_per_s=best, binding=binding)


def _wanted(demand: Demand) -> float:
    return demand.concurrency or demand.users or demand.requests_per_s_peak or 1.0


def _per_replica(capacity: Capacity, demand: Demand) -> float:
    if demand.concurrency is not None:
        return float(capacity.concurrency)
    if demand.users is not None:
        return capacity.users or float(capacity.concurrency)
    return capacity.requests_per_s


def _bill(price: Price | None, machines: Fleet) -> tuple[Decimal | None, Decimal | None]:
    if price is None:
        return None, None
    with localcontext(money.EXACT):
        hour = (price.amount * machines.gpus).normalize()
        return hour, (hour * HOURS_PER_MONTH).normalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most GPUs, and the most money a month in one currency."""

    gpus: int | None = None
    cost_per_month: Decimal | None = None
    currency: str | None = None

    def allows(self, option: Option) -> bool:
        """Whether an option stays within; an unknown price or another currency does not."""
        if option.fleet is None or (self.gpus is not None and option.fleet.gpus > self.gpus):
            return False
        if self.cost_per_month is None:
            return True
        price = option.candidate.price
        if price is None or price.currency != self.currency or option.cost_per_month is None:
            return False
        return option.cost_per_month <= self.cost_per_month


def ranked(options: list[Option], objective: Objective) -> list[Option]:
    """Options with a fleet, best first; unknown prices go last."""
    able = [option for option in options if option.fleet is not None]
    if objective is Objective.MAX_GOODPUT_PER_GPU:
        return sorted(able, key=lambda option: (-option.goodput_per_gpu, option.gpus))
    if objective is Objective.MIN_COST:
        return sorted(able, key=lambda option: (option.cost_per_month is None, option.cost_per_month or 0, option.gpus))
    return sorted(able, key=lambda option: (option.gpus, option.cost_per_month is None, option.cost_per_month or 0))


def nearest(options: list[Option], slo: ServiceLevel) -> Option | None:
    """The option that misses the targets by the least factor with one request in flight; None when none runs at all."""

    def excess(option: Option) -> float:
        pairs = ((option.best_ttft_s, slo.ttft_s), (option.best_tpot_s, slo.tpot_s))
        return max((value / target for value, target in pairs if value and target), default=0.0)

    running = [option for option in options if option.best_tpot_s is not None or option.max_sequences]
    return min(running, key=excess, default=None)
