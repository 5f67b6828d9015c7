"""An API against reserved self-hosting for a month's traffic."""

from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

from estimator.engine.cost import money
from estimator.engine.cost.api import ApiCost
from estimator.engine.cost.break_even import Crossing, Stair, crossing, replicas_for, staircase
from estimator.engine.cost.self_hosted import HOURS_PER_MONTH, SECONDS_PER_HOUR, Billing, Yield
from estimator.engine.errors import MissingFigureError
from estimator.engine.explain import Step
from estimator.estimates.cost.self_hosted import Machines


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """A month of requests of one kind; lengths of one request in tokens."""

    requests: int
    input_tokens: int
    output_tokens: int
    cached_fraction: Decimal

    def usage(self) -> dict[str, Decimal]:
        """Disjoint counts of one request."""
        cached = self.input_tokens * self.cached_fraction
        counts = {"input_tokens": self.input_tokens - cached, "output_tokens": Decimal(self.output_tokens)}
        return counts | ({"cache_read_tokens": cached} if cached else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEvenResult:
    """Both bills of the month in one currency; `hosted_…` on the reserved basis, `usage_…` busy time only."""

    currency: str
    traffic: Traffic
    api_cost_per_request: Decimal
    api_cost_per_month: Decimal
    replicas: int
    gpus: int
    gpus_per_replica: int
    replica_cost_per_month: Decimal
    replica_requests_per_month: float
    hosted_cost_per_month: Decimal
    usage_cost_per_month: Decimal
    billing: Billing
    load_fraction: float
    stairs: tuple[Stair, ...]
    crossing: Crossing

    @property
    def cheaper(self) -> str:
        """The cheaper side on the reserved basis."""
        return _cheaper(self.hosted_cost_per_month, self.api_cost_per_month)

    @property
    def cheaper_by_use(self) -> str | None:
        """The cheaper side where machines are billed by use: the same at every volume. None where they are held."""
        if self.billing is not Billing.SCALE_TO_ZERO:
            return None
        return _cheaper(self.usage_cost_per_month, self.api_cost_per_month)

    @property
    def usage_cost_per_request(self) -> Decimal:
        """Busy time of one request at the machines' price."""
        with localcontext(money.EXACT):
            return money.round_physics(self.usage_cost_per_month / self.traffic.requests)

    def explain(self) -> list[Step]:
        """Bills, replicas and crossing."""
        steps = [
            Step.worked(
                name="api.cost_per_month",
                formula="requests · cost_per_request",
                values={"requests": self.traffic.requests, "cost_per_request": self.api_cost_per_request},
                value=self.api_cost_per_month,
                unit=self.currency,
                source="price list",
            ),
            Step.worked(
                name="self_hosted.replicas",
                formula="max(ceil(requests / replica_requests), 1)",
                values={"requests": self.traffic.requests, "replica_requests": self.replica_requests_per_month},
                value=self.replicas,
                unit="1",
                source="replicas are whole",
            ),
            Step.worked(
                name="self_hosted.cost_per_month",
                formula="replicas · replica_cost",
                values={"replicas": self.replicas, "replica_cost": self.replica_cost_per_month},
                value=self.hosted_cost_per_month,
                unit=self.currency,
                source="reserved GPUs bill 730 h a month whatever the load",
            ),
        ]
        if self.crossing.first_requests_per_month is not None:
            steps.append(
                Step.worked(
                    name="crossing_requests_per_month",
                    formula="replica_cost / cost_per_request",
                    values={
                        "replica_cost": self.replica_cost_per_month,
                        "cost_per_request": self.api_cost_per_request,
                    },
                    value=self.crossing.first_requests_per_month,
                    unit="requests",
                    source="the API's line meets the first step",
                )
            )
        return steps


def api_costs(bill: ApiCost, traffic: Traffic, rate_to_currency: Decimal) -> tuple[Decimal, Decimal]:
    """The API's cost of one request and of the month in the machines' currency, exact.

    Raises:
        MissingFigureError: The bill has an unpriced meter.
    """
    if bill.total is None:
        raise MissingFigureError("both sides need a price", field="api")
    with localcontext(money.EXACT):
        per_request = (bill.total * rate_to_currency).normalize()
        return per_request, (per_request * traffic.requests).normalize()


def _cheaper(hosted: Decimal, api: Decimal) -> str:
    if hosted == api:
        return "equal"
    return "self_hosted" if hosted < api else "api"


def break_even(
    bill: ApiCost, machines: Machines, made: Yield, traffic: Traffic, *, rate_to_currency: Decimal = Decimal(1)
) -> BreakEvenResult:
    """Compare a month's bills.

    Args:
        bill: The API's bill of ONE request.
        machines: The GPUs of one replica, their price and the load they may carry.
        made: What that replica produces at full load.
        traffic: The month.
        rate_to_currency: Units of the machines' currency for one of the API's, given by the user with its date.

    Raises:
        MissingFigureError: The bill has an unpriced meter, or the replica's rate is not known.
    """
    rate = made.requests_per_s
    if rate is None:
        raise MissingFigureError("the length of the answers is needed", field="monthly.output_tokens")
    capacity = rate * SECONDS_PER_HOUR * HOURS_PER_MONTH * machines.load_fraction
    per_request, api_month = api_costs(bill, traffic, rate_to_currency)
    with localcontext(money.EXACT):
        replica = (machines.cost_per_hour * HOURS_PER_MONTH).normalize()
    replicas = replicas_for(float(traffic.requests), capacity)
    crossed = crossing(api_cost_per_request=per_request, replica_cost=replica, replica_requests=capacity)
    with localcontext(money.EXACT):
        hosted = (replica * replicas).normalize()
        busy = traffic.requests / (rate * SECONDS_PER_HOUR * HOURS_PER_MONTH)
        usage = money.round_physics(replica * money.from_physics(busy))
    return BreakEvenResult(
        currency=machines.currency,
        traffic=traffic,
        api_cost_per_request=per_request,
        api_cost_per_month=api_month,
        replicas=replicas,
        gpus=replicas * machines.gpus,
        gpus_per_replica=machines.gpus,
        replica_cost_per_month=replica,
        replica_requests_per_month=capacity,
        hosted_cost_per_month=hosted,
        usage_cost_per_month=usage,
        billing=machines.billing,
        load_fraction=busy / replicas,
        stairs=staircase(
            api_cost_per_request=per_request,
            replica_cost=replica,
            replica_requests=capacity,
            gpus_per_replica=machines.gpus,
            requests=float(traffic.requests),
        ),
        # The engine counts in shares of what a replica may carry, the answer in shares of what it could.
        crossing=replace(crossed, load_fraction_needed=crossed.load_fraction_needed * machines.load_fraction),
    )
