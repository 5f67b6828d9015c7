"""The ways to serve a traffic month by month: API, rented machines, owned ones, provisioned units."""

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from estimator.engine.cost import money
from estimator.engine.cost.break_even import replicas_for
from estimator.engine.cost.over_time import Contract, Provisioned, first_month_not_dearer, payback_month
from estimator.engine.cost.self_hosted import Yield
from estimator.estimates.break_even.compute import BreakEvenResult, Kind, ReplicaBill, Traffic, busy_share
from estimator.estimates.cost.self_hosted import Machines

API, RENT, OWN, PROVISIONED = "api", "self_hosted", "owned", "provisioned"
CostOfKind = Callable[[Kind, datetime.date], Decimal]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Machines of one replica, what they cost and what they yield for each kind of request."""

    machines: Machines
    bill: ReplicaBill
    made: Sequence[Yield]

    def replicas(self, traffic: Traffic, month: int) -> int:
        """Whole replicas for a month's requests at the load allowed."""
        return replicas_for(busy_share(self.made, traffic, self.machines, month), self.machines.load_fraction)

    def cost(self, replicas: int) -> Decimal:
        """The bill of so many replicas."""
        with localcontext(money.EXACT):
            return (self.bill.replica * replicas + self.bill.fixed).normalize()

    def running(self, replicas: int) -> Decimal:
        """The same without the capital that was paid at once."""
        with localcontext(money.EXACT):
            return self.cost(replicas) - self.bill.capital_per_month * replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """One month: what each way costs; replicas and units it needs."""

    month: int
    day: datetime.date
    requests: float
    costs: Mapping[str, Decimal]
    replicas: int | None
    owned_replicas: int | None
    units: int | None

    @property
    def cheapest(self) -> str:
        """The way that costs least; of equals the first named."""
        return min(self.costs, key=lambda way: self.costs[way])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """All months, and when something else becomes cheaper."""

    months: tuple[Month, ...]
    totals: Mapping[str, Decimal]
    crossing_month: int | None
    payback_month_against_api: int | None
    payback_month_against_rent: int | None

    @property
    def cheapest(self) -> str:
        """The way that costs least over all months."""
        return min(self.totals, key=lambda way: self.totals[way])


def api_month(
    traffic: Traffic, month: int, day: datetime.date, cost_of: CostOfKind, contract: Contract, rate: Decimal
) -> Decimal:
    """The API's bill of a month under its contract, in the machines' currency; exact where volumes are whole."""
    with localcontext(money.EXACT):
        total = Decimal(0)
        for kind in traffic.kinds:
            requests = kind.requests_in(month)
            count = Decimal(kind.requests) if month == 1 else money.from_physics(requests)
            total += cost_of(kind, day) * count
        billed = contract.bill(total) * rate
    return billed.normalize() if month == 1 else money.round_physics(billed)


def provisioned_month(
    offer: Provisioned, traffic: Traffic, month: int, api_cost: Decimal, rate: Decimal
) -> tuple[int, Decimal]:
    """Units and bill of a month; with a fixed number of units what they do not carry is billed by the API."""
    fresh = cached = output = 0.0
    for kind in traffic.kinds:
        requests = kind.requests_in(month)
        found = requests * kind.input_tokens * float(kind.cached_fraction)
        cached += found
        fresh += requests * kind.input_tokens - found
        output += requests * kind.made_tokens
    wanted = offer.units_for(fresh, cached, output)
    units = offer.units if offer.units is not None else wanted
    with localcontext(money.EXACT):
        held = offer.cost(units) * rate
        spilled = max(1 - units / wanted, 0.0) if offer.units is not None else 0.0
        return units, money.round_physics(held + api_cost * money.from_physics(spilled))


def months_ahead(
    traffic: Traffic,
    *,
    months: int,
    start: datetime.date,
    api: Callable[[int, datetime.date], Decimal],
    rented: Fleet | None,
    owned: Fleet | None,
    provisioned: Callable[[int, Decimal], tuple[int, Decimal]] | None,
) -> Ahead:
    """Every way in every month.

    Args:
        traffic: The first month; each kind grows at its own rate.
        months: How many, 1 or more.
        start: Day of the first; prices of the catalog are those of each month's day.
        api: The API's bill of a month and day.
        rented: Machines compared with the API.
        owned: The same bought.
        provisioned: Units and bill of a month, given the API's.
    """
    found: list[Month] = []
    for month in range(1, months + 1):
        day = _months_later(start, month - 1)
        costs = {API: api(month, day)}
        replicas = owned_replicas = units = None
        if rented is not None:
            replicas = rented.replicas(traffic, month)
            costs[RENT] = rented.cost(replicas)
        if owned is not None:
            owned_replicas = owned.replicas(traffic, month)
            costs[OWN] = owned.cost(owned_replicas)
        if provisioned is not None:
            units, costs[PROVISIONED] = provisioned(month, costs[API])
        requests = sum(kind.requests_in(month) for kind in traffic.kinds)
        found.append(
            Month(
                month=month, day=day, requests=requests, costs=costs, replicas=replicas,
                owned_replicas=owned_replicas, units=units,
            )
        )  # fmt: skip
    return _ahead(found, owned)


def _ahead(found: Sequence[Month], owned: Fleet | None) -> Ahead:
    ways = list(found[0].costs)
    by_way = {way: [month.costs[way] for month in found] for way in ways}
    totals = {way: money.total(costs) for way, costs in by_way.items()}
    against: dict[str, int | None] = {API: None, RENT: None}
    if owned is not None:
        counts = [month.owned_replicas or 0 for month in found]
        bought = [max(count - max(counts[:place], default=0), 0) for place, count in enumerate(counts)]
        with localcontext(money.EXACT):
            ours = [owned.running(count) + owned.bill.capex * new for count, new in zip(counts, bought, strict=True)]
        against = {way: payback_month(Decimal(0), ours, by_way[way]) for way in (API, RENT) if way in by_way}
    crossing = first_month_not_dearer(by_way[RENT], by_way[API]) if RENT in by_way else None
    return Ahead(
        months=tuple(found),
        totals=totals,
        crossing_month=crossing,
        payback_month_against_api=against.get(API),
        payback_month_against_rent=against.get(RENT),
    )


def _months_later(day: datetime.date, months: int) -> datetime.date:
    """The same day some months later; the last day of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    for last in (day.day, 30, 29, 28):
        try:
            return datetime.date(year, month + 1, last)
        except ValueError:
            continue
    raise AssertionError("every month has a 28th day")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that would make the other side the cheaper one: the figure now and the one at which it turns."""

    what: str
    now: float
    turns_at: float
    unit: str


def changes(found: BreakEvenResult, machines: Machines, traffic: Traffic, bill: ReplicaBill) -> tuple[Change, ...]:
    """What would change the answer of the first month, each alone: prices, volume, and the month that growth takes."""
    api, hosted = (money.to_physics(part) for part in (found.api_cost_per_month, found.hosted_cost_per_month))
    turns = []
    if api > 0:
        turns.append(Change(what="api_price_factor", now=1.0, turns_at=hosted / api, unit="1"))
    hours = float(machines.hours_per_month) * found.gpus
    per_hour = (api - money.to_physics(bill.fixed)) / hours
    if per_hour > 0:
        now = money.to_physics(bill.replica) / (float(machines.hours_per_month) * machines.gpus)
        turns.append(Change(what="price_per_gpu_hour", now=now, turns_at=per_hour, unit=f"{found.currency}/GPU/h"))
    volume = found.crossing.first_requests_per_month
    if volume is not None:
        turns.append(Change(what="requests_per_month", now=float(traffic.requests), turns_at=volume, unit="requests"))
        growth = {kind.growth_per_month for kind in traffic.kinds}
        if len(growth) == 1 and (rate := growth.pop()) > 0 and volume > traffic.requests:
            month = math.ceil(1 + math.log(volume / traffic.requests) / math.log1p(rate) - 1e-9)
            turns.append(Change(what="month_at_this_growth", now=1.0, turns_at=float(month), unit="month"))
    return tuple(turns)
