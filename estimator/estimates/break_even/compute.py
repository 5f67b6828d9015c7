"""An API against reserved self-hosting for a month's traffic."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

from estimator.engine.cost import money
from estimator.engine.cost.break_even import Crossing, Stair, crossing, replicas_for, staircase
from estimator.engine.cost.over_time import grown
from estimator.engine.cost.self_hosted import SECONDS_PER_HOUR, Billing, Yield
from estimator.engine.errors import MissingFigureError
from estimator.engine.explain import Step
from estimator.estimates.cost.self_hosted import Machines


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A month of requests of one kind; lengths of one request in tokens.

    `input_tokens` holds what was read from the cache and what was written to it; `batch_fraction` of the requests is
    sent over the batch channel; `growth_per_month` is 0.1 where each month has a tenth more than the one before.
    """

    requests: int
    input_tokens: int
    output_tokens: int
    cached_fraction: Decimal = Decimal(0)
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    batch_fraction: Decimal = Decimal(0)
    growth_per_month: float = 0.0

    def usage(self) -> dict[str, Decimal]:
        """Disjoint counts of one request."""
        cached = self.input_tokens * self.cached_fraction
        counts = {
            "input_tokens": self.input_tokens - cached - self.cache_write_tokens,
            "cache_read_tokens": cached,
            "cache_write_tokens": Decimal(self.cache_write_tokens),
            "reasoning_tokens": Decimal(self.reasoning_tokens),
        }
        kept = {key: count for key, count in counts.items() if count or key == "input_tokens"}
        return kept | {"output_tokens": Decimal(self.output_tokens)}

    @property
    def made_tokens(self) -> int:
        """Tokens an engine has to make for one request: answer and reasoning."""
        return self.output_tokens + self.reasoning_tokens

    def requests_in(self, month: int) -> float:
        """Requests of a month, the first being month 1."""
        return grown(self.requests, self.growth_per_month, month)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The kinds of requests of a month together."""

    kinds: tuple[Kind, ...]

    @property
    def requests(self) -> int:
        """Requests of the first month."""
        return sum(kind.requests for kind in self.kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaBill:
    """What self-hosting costs a month: each replica, and what is paid whatever their number; capital paid at once."""

    replica: Decimal
    fixed: Decimal
    capex: Decimal = Decimal(0)
    capital_per_month: Decimal = Decimal(0)

    @classmethod
    def of(cls, machines: Machines, electricity_per_month: Decimal = Decimal(0)) -> "ReplicaBill":
        """The bill of machines that are held: every hour of the month, with the electricity of owned ones.

        Args:
            machines: GPUs of ONE replica; overheads, staff and licences are those of all replicas together.
            electricity_per_month: Of one replica, where it is not part of the machines' bill.
        """
        with localcontext(money.EXACT):
            if machines.owned is not None and machines.month is not None:
                month, owned = machines.month, machines.owned
                fixed = month.overhead + month.staff + month.licence
                return cls(
                    replica=(month.total - fixed).normalize(),
                    fixed=fixed,
                    capex=owned.capex,
                    capital_per_month=month.capital,
                )
            held = machines.cost_per_hour * machines.hours_per_month
            return cls(replica=(held + electricity_per_month).normalize(), fixed=machines.extra_per_month)


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
    fixed_cost_per_month: Decimal = Decimal(0)
    # What the speed of a replica rests on; that of a given speed is the asker's own observation.
    rests_on: str = "observed"

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
        replicas: dict[str, int | float | Decimal] = {
            "replicas": self.replicas,
            "replica_cost": self.replica_cost_per_month,
        }
        if self.fixed_cost_per_month:
            replicas["fixed_cost"] = self.fixed_cost_per_month
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
                formula="replicas · replica_cost" + (" + fixed_cost" if self.fixed_cost_per_month else ""),
                values=replicas,
                value=self.hosted_cost_per_month,
                unit=self.currency,
                source="reserved GPUs bill 730 h a month whatever the load",
            ),
        ]
        if self.crossing.first_requests_per_month is not None and not self.fixed_cost_per_month:
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


def _cheaper(hosted: Decimal, api: Decimal) -> str:
    if hosted == api:
        return "equal"
    return "self_hosted" if hosted < api else "api"


def busy_share(made: Sequence[Yield], traffic: Traffic, machines: Machines, month: int = 1) -> float:
    """Replicas' worth of work in a month at full load: Σ requests / (requests per s · seconds of the month).

    Raises:
        MissingFigureError: The replica's rate is not known.
    """
    seconds = SECONDS_PER_HOUR * float(machines.hours_per_month)
    total = 0.0
    for kind, rate in zip(traffic.kinds, made, strict=True):
        if rate.requests_per_s is None:
            raise MissingFigureError("the length of the answers is needed", field="monthly.output_tokens")
        total += kind.requests_in(month) / (rate.requests_per_s * seconds)
    return total


def break_even(
    api_month: Decimal, machines: Machines, bill: ReplicaBill, made: Sequence[Yield], traffic: Traffic
) -> BreakEvenResult:
    """Compare the bills of the first month.

    Args:
        api_month: The API's bill in the machines' currency.
        machines: The GPUs of one replica, their price and the load they may carry.
        bill: What a replica costs a month, and what is paid beside.
        made: What that replica produces at full load, for each kind of request.
        traffic: The month.

    Raises:
        MissingFigureError: The replica's rate is not known.
    """
    busy = busy_share(made, traffic, machines)
    requests = float(traffic.requests)
    capacity = requests / busy * machines.load_fraction
    with localcontext(money.EXACT):
        per_request = api_month / traffic.requests
    per_request = money.round_physics(per_request) if len(traffic.kinds) > 1 else per_request.normalize()
    replicas = replicas_for(requests, capacity)
    crossed = crossing(
        api_cost_per_request=per_request, replica_cost=bill.replica, replica_requests=capacity, fixed_cost=bill.fixed
    )
    with localcontext(money.EXACT):
        hosted = (bill.replica * replicas + bill.fixed).normalize()
        usage = money.round_physics(bill.replica * money.from_physics(busy))
    return BreakEvenResult(
        currency=machines.currency,
        traffic=traffic,
        api_cost_per_request=per_request,
        api_cost_per_month=api_month,
        replicas=replicas,
        gpus=replicas * machines.gpus,
        gpus_per_replica=machines.gpus,
        replica_cost_per_month=bill.replica,
        replica_requests_per_month=capacity,
        hosted_cost_per_month=hosted,
        usage_cost_per_month=usage,
        billing=machines.billing,
        load_fraction=busy / replicas,
        stairs=staircase(
            api_cost_per_request=per_request,
            replica_cost=bill.replica,
            replica_requests=capacity,
            gpus_per_replica=machines.gpus,
            requests=requests,
            fixed_cost=bill.fixed,
        ),
        # The engine counts in shares of what a replica may carry, the answer in shares of what it could.
        crossing=replace(crossed, load_fraction_needed=crossed.load_fraction_needed * machines.load_fraction),
        fixed_cost_per_month=bill.fixed,
    )
