"""Both sides of a comparison: the month's traffic, the API's cost of a kind of it, a fleet, the rate between them."""

import datetime
from dataclasses import replace
from decimal import Decimal, localcontext

from django.utils.translation import gettext as _

from estimator.engine.cost import money
from estimator.engine.cost.api import api_cost
from estimator.engine.cost.self_hosted import Yield
from estimator.engine.errors import MissingFigureError
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.specs import WorkloadMode
from estimator.estimates.break_even.compute import Kind, ReplicaBill, Traffic
from estimator.estimates.break_even.months import (
    Fleet,
)
from estimator.estimates.break_even.parts import (
    BreakEvenRequest,
    ComparedApiPart,
)
from estimator.estimates.cost.power_use import PowerUse, power_use
from estimator.estimates.cost.self_hosted import Machines
from estimator.estimates.cost.self_hosted_part import (
    SelfHostedPart,
    machines,
    resolved_plan,
    speed_and_yield,
    unused_machines,
)
from estimator.estimates.endpoint import Asked
from estimator.estimates.throughput.replica import ReplicaSpeed
from estimator.estimates.unused import Unused
from estimator.question.workload import Workload
from estimator.resolvers.plan import Plan, Provenance, Resolved
from estimator.resolvers.prices import resolve_price

BATCH = "batch"


def traffic_of(body: BreakEvenRequest) -> Traffic:
    """The kinds of requests of a month.

    Raises:
        ResolutionError: A kind reads and writes more of its prompt than there is.
    """
    parts = body.monthly if isinstance(body.monthly, list) else [body.monthly]
    faults = [
        Fault(
            path=("monthly", *((place,) if len(parts) > 1 else ()), "cache_write_tokens"),
            code="out_of_range",
            detail=_("What is read from the cache and written to it is more than the prompt."),
        )
        for place, part in enumerate(parts)
        if part.input_tokens * (1 - part.cached_fraction) < part.cache_write_tokens
    ]
    if faults:
        raise ResolutionError(faults)
    return Traffic(kinds=tuple(part.kind() for part in parts))


class CostOfKinds:
    """What one request of a kind costs on a day, the batch channel's share included; each is worked out once."""

    def __init__(self, part: ComparedApiPart, asked: Asked) -> None:
        self._part, self._asked = part, asked
        self._known: dict[tuple[Kind, datetime.date], Decimal] = {}
        self._batched = self._batch_differs = False

    def of(self, kind: Kind, day: datetime.date) -> Decimal:
        """The cost, exact.

        Raises:
            MissingFigureError: A meter has no price.
        """
        key = (replace(kind, requests=0, growth_per_month=0.0), day)
        if key not in self._known:
            plain = self._cost(kind, day, self._part.channel)
            share = kind.batch_fraction
            batch = self._cost(kind, day, BATCH) if share else plain
            self._batched |= bool(share)
            self._batch_differs |= batch != plain
            self._known[key] = money.EXACT.add(
                money.EXACT.multiply(plain, 1 - share), money.EXACT.multiply(batch, share)
            )
        return self._known[key]

    @property
    def batch_is_no_other(self) -> bool:
        """Whether some requests go over the batch channel, and none of them costs another price for it."""
        return self._batched and not self._batch_differs

    def _cost(self, kind: Kind, day: datetime.date, channel: str) -> Decimal:
        choice = replace(self._part.price_choice(), channel=channel)
        if self._part.at is None:
            choice = replace(choice, moment=day)
        total = api_cost(resolve_price(choice, self._asked.facts).prices, kind.usage()).total
        if total is None:
            raise MissingFigureError("both sides need a price", field="api")
        return total


def fleet_of(
    name: str, part: SelfHostedPart, traffic: Traffic, asked: Asked
) -> tuple[Fleet, ReplicaSpeed | None, list[Resolved]]:
    """The replica at the lengths of each kind; its prefix cache is taken to find the same share as the API's."""
    load = part.workload or Workload(mode=WorkloadMode.OFFLINE)
    made: list[Yield] = []
    first: ReplicaSpeed | None = None
    plan_of_first: Plan | None = None
    origin: list[Resolved] = []
    gpus = 1
    fits = True
    for place, kind in enumerate(traffic.kinds):
        lengths = {
            "input_tokens": max(kind.input_tokens, 1),
            "output_tokens": kind.made_tokens,
            "prefix_cache_hit_rate": float(kind.cached_fraction),
        }
        asking = part.model_copy(update={"workload": load.model_copy(update=lengths)})
        plan = resolved_plan(asking, asked.facts, prefix=f"{name}.")
        speed, found, gpus = speed_and_yield(asking, plan)
        if place == 0:
            first, plan_of_first, origin = speed, plan, [*([plan] if plan else []), _unused_of_fleet(part, plan, name)]
        fits = fits and found is not None
        made += [found] if found is not None else []
    power = power_use(part, plan_of_first, first, asked.facts)
    paid, paid_from = machines(part, asked.facts, gpus, power)
    bill = ReplicaBill.of(paid, _electricity(part, paid, power))
    return Fleet(machines=paid, bill=bill, made=made if fits else ()), first, [paid_from, *origin]


def _electricity(part: SelfHostedPart, paid: Machines, power: PowerUse | None) -> Decimal:
    """Electricity of a replica's GPUs for the month, where it was asked for and is not part of an owned month."""
    if power is None or paid.owned is not None:
        return Decimal(0)
    if power.currency != paid.currency:
        detail = _("Electricity and machines are added up: give both in one currency.")
        raise ResolutionError([Fault(path=("power", "currency"), code="ambiguous", detail=detail)])
    watts = money.from_physics(power.mean(part.load_fraction).mid)
    with localcontext(money.EXACT):
        kw = watts * paid.gpus / 1000 * money.from_physics(power.pue)
        return money.round_physics(kw * power.price_per_kwh * paid.hours_per_month)


def exchange(body: BreakEvenRequest, source: str, target: str) -> tuple[Decimal, Resolved]:
    """The rate from one currency to the other, 1 where they are the same, and where it is from.

    Raises:
        ResolutionError: No rate between them, or one of 0.
    """
    given = body.exchange_rate
    if source == target:
        needless = _("Not used: exchange_rate; both sides are in %(currency)s.") % {"currency": source}
        return Decimal(1), Resolved(warnings=(needless,) if given is not None else ())
    if given is None or (given.from_currency, given.to_currency) != (source, target):
        detail = _("The API is in %(source)s, the GPUs in %(target)s: give a dated rate from one to the other.") % {
            "source": source,
            "target": target,
        }
        raise ResolutionError([Fault(path=("exchange_rate",), code="required", detail=detail)])
    if not Decimal(given.rate):
        raise ResolutionError(
            [Fault(path=("exchange_rate", "rate"), code="out_of_range", detail=_("Must be greater than 0."))]
        )
    entry = Provenance(
        what="exchange_rate", value=given.rate, unit=f"{target}/{source}", source="request", date=given.on.isoformat()
    )
    return Decimal(given.rate), Resolved(provenance=(entry,))


def _unused_of_fleet(part: SelfHostedPart, plan: Plan | None, name: str) -> Resolved:
    rules: list[Unused] = [
        (f"workload.{length}", lengths_of_month())
        for length in ("input_tokens", "output_tokens", "prefix_cache_hit_rate")
    ]
    rules += [
        (split, _("bills are compared, not costs per token")) for split in ("allocation", "output_input_cost_ratio")
    ]
    return Resolved(warnings=unused_machines(part, plan, rules, prefix=f"{name}."))


def lengths_of_month() -> str:
    """Why lengths beside those of the month are not used."""
    return _("the lengths are those of monthly")
