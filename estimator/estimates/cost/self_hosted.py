"""Cost of tokens from one's own GPUs: per million, per request, hour and month, with the working."""

from dataclasses import dataclass, field
from decimal import Decimal, localcontext

from estimator.engine.cost import money
from estimator.engine.cost.ownership import OwnedMonth, Ownership
from estimator.engine.cost.self_hosted import (
    HOURS_PER_MONTH,
    Allocation,
    Billing,
    Yield,
    cost_per_mtok,
    electricity_per_hour,
    split_cost,
)
from estimator.engine.errors import InvalidInputError
from estimator.engine.explain import Step
from estimator.estimates.answers import Band
from estimator.estimates.cost.power_use import PowerUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """What is paid for: GPUs, their price an hour, and how hours are billed.

    Owned machines (`owned`, with the bill of their month) have no price of an hour of their own: it is their month's
    bill over its hours. `billed_gpus` counts those of whole nodes where only nodes are sold; `extra_per_month` is paid
    beside the hours whatever the load.
    """

    price_per_gpu_hour: Decimal
    currency: str
    gpus: int
    billing: Billing = Billing.RESERVED
    load_fraction: float = 1.0
    hours_per_month: Decimal = Decimal(HOURS_PER_MONTH)
    extra_per_month: Decimal = Decimal(0)
    billed_gpus: int | None = None
    owned: Ownership | None = None
    month: OwnedMonth | None = None

    def __post_init__(self) -> None:
        if not 0 < self.load_fraction <= 1:
            raise InvalidInputError("load_fraction is above 0 and at most 1", field="load_fraction")

    @property
    def cost_per_hour(self) -> Decimal:
        """Price of an hour of all GPUs while they run, exact; of owned ones their month over its hours."""
        if self.month is not None:
            return money.round_physics(self.month.total / self.hours_per_month)
        with localcontext(money.EXACT):
            return (self.price_per_gpu_hour * (self.billed_gpus or self.gpus)).normalize()

    @property
    def cost_per_month(self) -> Decimal:
        """Everything paid in a month."""
        if self.month is not None:
            return self.month.total
        with localcontext(money.EXACT):
            held = self.hours_per_month * money.from_physics(self.billed_share)
            return (self.cost_per_hour * held + self.extra_per_month).normalize()

    @property
    def full_cost_per_hour(self) -> float:
        """What an hour of billed time costs with all that is paid beside it."""
        if self.month is None and not self.extra_per_month:
            return money.to_physics(self.cost_per_hour)
        return money.to_physics(self.cost_per_month) / (float(self.hours_per_month) * self.billed_share)

    @property
    def billed_share(self) -> float:
        """Share of the month's hours that are billed: all of them, or with scale to zero the busy ones."""
        return self.load_fraction if self.billing is Billing.SCALE_TO_ZERO else 1.0

    @property
    def productive_share(self) -> float:
        """Share of billed time that makes tokens."""
        return 1.0 if self.billing is Billing.SCALE_TO_ZERO else self.load_fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Electricity:
    """Electricity alone; money of the power's currency. `watts_…` are means over the hours that are billed."""

    currency: str
    watts_per_gpu: Band
    cost_per_hour: Decimal
    cost_per_month: Decimal
    kwh_per_month: float
    cost_per_mtok_output: Decimal | None
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfHostedCost:
    """Money of one basis; `usage` is the other figure, at full load, never to be held against an API's price.

    A plan that does not fit makes nothing (`made` is None): its GPUs bill their hours, no token has a cost.
    """

    machines: Machines
    made: Yield | None
    allocation: Allocation
    cost_per_mtok_output: Decimal | None
    cost_per_mtok_output_low: Decimal | None
    cost_per_mtok_output_high: Decimal | None
    cost_per_mtok_input: Decimal | None
    cost_per_mtok_cached_input: Decimal | None
    cost_per_mtok_blended: Decimal | None
    cost_per_request: Decimal | None
    cost_per_hour: Decimal
    cost_per_month: Decimal
    usage_cost_per_mtok_output: Decimal | None
    reasons: dict[str, str] = field(default_factory=dict)
    electricity: Electricity | None = None
    # What the speed behind the tokens rests on; that of a given speed is the asker's own observation.
    rests_on: str = "observed"
    fits: bool = True

    @property
    def feasible(self) -> bool:
        """Whether the load behind it fits and makes tokens."""
        return self.made is not None and self.fits

    @property
    def tokens_per_s_output(self) -> float | None:
        """Output tokens per second of all GPUs at full load."""
        return None if self.made is None else self.made.tokens_per_s_output

    @property
    def cost_basis(self) -> str:
        """`reservation`: held hours are paid whatever the load; `usage`: only busy time is paid."""
        return "usage" if self.machines.billing is Billing.SCALE_TO_ZERO else "reservation"

    def explain(self) -> list[Step]:
        """Hour, tokens of an hour, cost per million, month."""
        currency, hour = self.machines.currency, self.machines.full_cost_per_hour
        steps = [] if self.machines.owned is not None else [self._hour()]
        if (
            self.allocation is Allocation.ALL_TO_OUTPUT
            and self.made is not None
            and self.cost_per_mtok_output is not None
        ):
            steps.append(
                Step.worked(
                    name="cost_per_mtok_output",
                    formula="cost_per_hour / (tokens_per_s_output · 3600 · productive_share) · 1000000",
                    values={
                        "cost_per_hour": hour,
                        "tokens_per_s_output": self.made.tokens_per_s_output,
                        "productive_share": self.machines.productive_share,
                    },
                    value=self.cost_per_mtok_output,
                    unit=currency,
                    source="definition; utilisation divides tokens, it never lowers the bill of held machines",
                )
            )
        if self.machines.owned is None:
            steps.append(self._month())
        return steps

    def _hour(self) -> Step:
        paid = self.machines
        return Step.worked(
            name="cost_per_hour",
            formula="price_per_gpu_hour · gpus",
            values={"price_per_gpu_hour": paid.price_per_gpu_hour, "gpus": paid.billed_gpus or paid.gpus},
            value=paid.cost_per_hour,
            unit=paid.currency,
            source="price of the machines",
        )

    def _month(self) -> Step:
        paid = self.machines
        extra = {"extra_per_month": paid.extra_per_month} if paid.extra_per_month else {}
        return Step.worked(
            name="cost_per_month",
            formula="cost_per_hour · hours · billed_share" + (" + extra_per_month" if extra else ""),
            values={"cost_per_hour": paid.cost_per_hour, "hours": paid.hours_per_month,
                    "billed_share": paid.billed_share, **extra},
            value=self.cost_per_month,
            unit=paid.currency,
            source="730 h a month where not given: 8,760 h a year / 12",
        )  # fmt: skip


def cost_of_nothing(
    machines: Machines, reason: str, *, allocation: Allocation, power: PowerUse | None = None
) -> SelfHostedCost:
    """The money of machines that serve nothing: hours are billed while they are held, tokens have no cost.

    Args:
        machines: GPUs, price and billing.
        reason: Why nothing is served, such as `does_not_fit`.
        allocation: As asked for.
        power: Electricity of owned hardware.
    """
    return SelfHostedCost(
        machines=machines,
        made=None,
        allocation=allocation,
        cost_per_mtok_output=None,
        cost_per_mtok_output_low=None,
        cost_per_mtok_output_high=None,
        cost_per_mtok_input=None,
        cost_per_mtok_cached_input=None,
        cost_per_mtok_blended=None,
        cost_per_request=None,
        cost_per_hour=machines.cost_per_hour,
        cost_per_month=machines.cost_per_month,
        usage_cost_per_mtok_output=None,
        reasons=dict.fromkeys(_OF_TOKENS, reason),
        electricity=None if power is None else _electricity(power, machines, None),
    )


_OF_TOKENS = (
    "tokens_per_s_output", "cost_per_mtok_output", "cost_per_mtok_input", "cost_per_mtok_cached_input",
    "cost_per_mtok_blended", "cost_per_request", "usage_cost_per_mtok_output",
)  # fmt: skip


def self_hosted_cost(
    machines: Machines,
    made: Yield,
    *,
    allocation: Allocation = Allocation.ALL_TO_OUTPUT,
    output_input_cost_ratio: float | None = None,
    tokens_per_s_band: tuple[float, float] | None = None,
    power: PowerUse | None = None,
) -> SelfHostedCost:
    """All money figures of the machines for what they produce.

    Args:
        machines: GPUs, price, billing and load.
        made: Tokens per second of all GPUs together, lengths and cached share.
        allocation: How an hour is split over input and output tokens.
        output_input_cost_ratio: For the allocation by ratio.
        tokens_per_s_band: Slow and fast end of the output rate; the ends of the cost are their reciprocals.
        power: Electricity of owned hardware, answered beside the price, never added to a rent.

    Raises:
        MissingFigureError: The allocation needs figures that are not there.
    """
    hour = machines.full_cost_per_hour
    split = split_cost(
        hour,
        made,
        load_fraction=machines.productive_share,
        allocation=allocation,
        output_input_cost_ratio=output_input_cost_ratio,
    )
    share = machines.productive_share
    factor = split.output / float(cost_per_mtok(hour, made.tokens_per_s_output, share)) if hour else 1.0
    low, high = tokens_per_s_band or (None, None)
    return SelfHostedCost(
        machines=machines,
        made=made,
        allocation=allocation,
        cost_per_mtok_output=money.money_from_physics(split.output),
        cost_per_mtok_output_low=_money(float(cost_per_mtok(hour, high, share)) * factor if high else None),
        cost_per_mtok_output_high=_money(float(cost_per_mtok(hour, low, share)) * factor if low else None),
        cost_per_mtok_input=_money(split.input),
        cost_per_mtok_cached_input=_money(split.cached_input),
        cost_per_mtok_blended=_money(split.blended),
        cost_per_request=_money(split.per_request),
        cost_per_hour=machines.cost_per_hour,
        cost_per_month=machines.cost_per_month,
        usage_cost_per_mtok_output=money.money_from_physics(split.output * share),
        reasons=split.reasons,
        electricity=None if power is None else _electricity(power, machines, made),
    )


def _money(value: float | None) -> Decimal | None:
    return None if value is None else money.money_from_physics(value)


def _electricity(power: PowerUse, machines: Machines, made: Yield | None) -> Electricity:
    watts = power.mean(machines.productive_share)
    per_hour = electricity_per_hour(
        gpus=machines.gpus, watts=watts.mid, pue=power.pue, price_per_kwh=money.to_physics(power.price_per_kwh)
    )
    hours = float(machines.hours_per_month) * machines.billed_share
    per_mtok = None
    if made is not None:
        share = machines.productive_share
        per_mtok = money.money_from_physics(float(cost_per_mtok(per_hour, made.tokens_per_s_output, share)))
    return Electricity(
        currency=power.currency,
        watts_per_gpu=watts,
        cost_per_hour=money.money_from_physics(per_hour),
        cost_per_month=money.money_from_physics(per_hour * hours),
        kwh_per_month=machines.gpus * watts.mid * power.pue * hours / 1000,
        cost_per_mtok_output=per_mtok,
        basis=power.basis,
    )
