"""Memory, speed and cost of one plan held together: does it fit, does it keep its targets, what is its bill."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

import numpy as np

from estimator.engine.codes import Reason
from estimator.engine.cost.self_hosted import Allocation
from estimator.engine.errors import MissingFigureError
from estimator.engine.memory.fit import MemoryFit, memory_fit
from estimator.engine.options import TARGETS
from estimator.engine.specs import WorkloadMode
from estimator.estimates.cost.answer import hosted_notes
from estimator.estimates.cost.self_hosted import SelfHostedCost, cost_of_nothing, self_hosted_cost
from estimator.estimates.cost.self_hosted_part import (
    SelfHostedPart,
    at_arrivals,
    band_of,
    machines,
    speed_and_yield,
)
from estimator.estimates.memory_fit.load import load_of
from estimator.estimates.throughput.capacity import LoadWithin, load_within
from estimator.estimates.throughput.figures import SpeedFigures, Triple, figures_at
from estimator.estimates.throughput.odds import LIKELY, SAFE, TargetOdds, odds_at
from estimator.estimates.throughput.replica import ReplicaSpeed
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import Setting, setting_of, workload_of
from estimator.estimates.throughput.targets import binding_targets, met_at, rates_within
from estimator.question.workload import Targets
from estimator.resolvers.facts import Facts
from estimator.resolvers.gpu_prices import OFFERS_CURRENCY, default_price
from estimator.resolvers.plan import Plan, Resolved

MIDDLE = "mid"
_COUNTED = (WorkloadMode.CLOSED_LOOP, WorkloadMode.SINGLE_STREAM)


class State(StrEnum):
    """What is said of a plan in a word; the better, the earlier."""

    SAFE = "safe"
    LIKELY = "likely"
    FITS = "fits"
    TOO_SLOW = "too_slow"
    SPEED_UNKNOWN = "speed_unknown"
    DOES_NOT_FIT = "does_not_fit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What the GPUs of a plan cost, and where their price is from."""

    cost: SelfHostedCost
    speed: ReplicaSpeed | None
    origin: Resolved
    notes: Resolved


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A plan with its fit, its speed at the load, the loads within its targets, and its bill (None without a price)."""

    plan: Plan
    setting: Setting
    fit: MemoryFit
    figures: SpeedFigures
    state: State
    odds: TargetOdds
    users: LoadWithin | None
    rates: Triple | None
    bill: Bill | None


def judge(plan: Plan, price: SelfHostedPart, facts: Facts) -> Judged:
    """The verdict on a plan under its workload.

    Args:
        plan: the resolved plan, with a workload; targets if any.
        price: how the GPUs are paid; without a price, offer or capital the default price of the GPU.
        facts: where the default price is from.

    Raises:
        ResolutionError: faults of the price.
        EngineError: a format or figure the engine does not know.
    """
    workload, slo = workload_of(plan), plan.slo or Targets()
    setting = setting_of(plan)
    sequences, tokens = load_of(plan)
    fit = memory_fit(setting.memory, sequences=sequences, context_tokens=tokens, with_curve=False)
    columns = setting.sweep.evaluate(rows_of(workload, np.array([float(workload.concurrency)])))
    figures = figures_at(columns, 0, float(workload.concurrency))
    counted = workload.mode in _COUNTED
    odds = odds_at(columns, workload, binding_targets(slo, workload))
    rates = rates_within(setting.sweep, workload, slo) if workload.mode is WorkloadMode.OPEN_LOOP else None
    return Judged(
        plan=plan,
        setting=setting,
        fit=fit,
        figures=figures,
        state=_state(plan, fit, figures, odds, met_at(setting.sweep, workload, slo, MIDDLE)),
        odds=odds,
        users=load_within(
            setting.sweep, workload, slo, held=fit.max_sequences, engine_sequences=fit.engine_sequences_limit
        )
        if counted
        else None,
        rates=rates,
        bill=_bill(plan, price, facts),
    )


def has_targets(plan: Plan) -> bool:
    """Whether a plan has a target that can bind."""
    slo = binding_targets(plan.slo or Targets(), workload_of(plan))
    return any(getattr(slo, name) is not None for name in TARGETS)


def _state(plan: Plan, fit: MemoryFit, figures: SpeedFigures, odds: TargetOdds, middle: bool | None) -> State:
    """What the chance of meeting every target is called; where no band tells one, whether the figures meet them."""
    if not fit.feasible:
        return State.DOES_NOT_FIT
    if figures.reason is Reason.MISSING_FIGURE:
        return State.SPEED_UNKNOWN
    if figures.reason is Reason.QUEUE_GROWS:
        return State.TOO_SLOW
    if not has_targets(plan):
        return State.FITS
    if odds.together is None:
        return {True: State.SAFE, False: State.TOO_SLOW, None: State.SPEED_UNKNOWN}[middle]
    if odds.together >= SAFE:
        return State.SAFE
    return State.LIKELY if odds.together >= LIKELY else State.TOO_SLOW


def _bill(plan: Plan, price: SelfHostedPart, facts: Facts) -> Bill | None:
    """The bill of the plan's GPUs; None where nobody said a price and the catalog has none."""
    said = price.price_per_gpu_hour is not None or price.offer is not None
    currency = price.currency or OFFERS_CURRENCY
    if not said and (plan.gpu.slug is None or default_price(plan.gpu.slug, facts, currency) is None):
        return None
    paid, origin = machines(price, facts, plan.parallelism.gpus)
    try:
        speed, made, _gpus = speed_and_yield(price, plan)
        paid = at_arrivals(price, paid, speed)
    except MissingFigureError:
        # Of a speed that nobody measured there is no yield: the hours are billed all the same.
        speed, made = None, None
    if made is None:
        reason = Reason.DOES_NOT_FIT.label if speed is not None else Reason.MISSING_FIGURE.label
        cost = cost_of_nothing(paid, reason, allocation=Allocation.ALL_TO_OUTPUT)
    else:
        cost = self_hosted_cost(paid, made, tokens_per_s_band=band_of(speed, made))
    return Bill(cost=cost, speed=speed, origin=origin, notes=hosted_notes(price, paid, plan))


def month_of(judged: Judged) -> Decimal | None:
    """What a month of the plan's GPUs costs; None without a price."""
    return None if judged.bill is None else judged.bill.cost.cost_per_month
