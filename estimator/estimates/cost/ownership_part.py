"""What owned machines cost, as a request states it: capital, power, a place to stand, people and licences."""

from decimal import Decimal
from typing import Annotated

from django.utils.translation import gettext as _
from pydantic import Field

from estimator.engine.cost import money
from estimator.engine.cost.ownership import OwnedMonth, Ownership
from estimator.engine.explain import Step
from estimator.question.acting import Needs, needs
from estimator.question.fields import SMALLEST, WHOLE, Money
from estimator.question.plan import PlanRequest

DEFAULT_YEARS = 4.0
Watts = Annotated[float, Field(ge=0, le=1e9)]
_OWNED = Needs("only owned machines (capex) take it", lambda part: part.capex is not None)
RENTED = Needs("owned machines have no rent", lambda part: part.capex is None)
# What a watt costs: electricity, and of owned machines the kilowatts in a rack.
_PRICED_POWER = needs("power", "colocation_per_kw_month")


class OwnershipPart(PlanRequest):
    """Owned machines in place of a price of a GPU hour, and what is paid each month beside either."""

    capex: Money | None = Field(
        default=None,
        description=(
            "Price of all `gpus` with their servers, network and installation, exact decimal in `currency`; instead of "
            "price_per_gpu_hour or offer."
        ),
    )
    years: Annotated[Annotated[float, Field(ge=SMALLEST, le=50)] | None, _OWNED] = Field(
        default=None, description="Years over which capex is paid off; 4 when not given."
    )
    interest_rate: Annotated[float, Field(ge=0, le=1), _OWNED] = Field(
        default=0.0, description="Yearly rate that the capital costs, 0 to 1: 0.08 is 8 %."
    )
    residual_value: Annotated[Money, _OWNED] = Field(
        default="0", description="What the machines still fetch after those years."
    )
    watts_per_gpu: Annotated[Watts | None, _PRICED_POWER] = Field(
        default=None,
        description=(
            "Power of one GPU, W, in every billed hour; with `power` what the load makes it draw when not given."
        ),
    )
    host_watts: Annotated[Watts, _OWNED, _PRICED_POWER] = Field(
        default=0.0, description="Power of all hosts without their GPUs, W."
    )
    network_watts: Annotated[Watts, _OWNED, _PRICED_POWER] = Field(
        default=0.0, description="Power of network and storage, W."
    )
    colocation_per_kw_month: Annotated[Money, _OWNED] = Field(
        default="0", description="Price of a kW of machines in a rack for a month."
    )
    overhead_per_month: Money = Field(default="0", description="Whatever else is paid each month: platform, space.")
    staff_per_month: Money = Field(default="0", description="People, per month.")
    licence_per_month: Money = Field(default="0", description="Licences, per month.")
    hours_per_month: Annotated[float, Field(ge=SMALLEST, le=744)] = Field(
        default=730.0, description="Hours of a month in which the GPUs run or are held, hours."
    )

    price_per_node_hour: Money | None = Field(
        default=None, description="Price of a whole node for an hour, where only nodes are sold; with gpus_per_node."
    )
    gpus_per_node: Annotated[int, Field(ge=1, le=1024), WHOLE, needs("price_per_node_hour")] = Field(
        default=8, description="GPUs of a node that is sold whole, count."
    )
    upfront: Annotated[Money, RENTED] = Field(
        default="0", description="Paid once for a commitment, spread over commitment_months."
    )
    commitment_months: Annotated[float, Field(ge=1, le=120), RENTED, needs("upfront")] = Field(
        default=12.0, description="Months that a commitment runs, count."
    )

    def beside_rent(self) -> Decimal:
        """What is paid each month beside the price of GPU hours."""
        fixed = Decimal(self.overhead_per_month) + Decimal(self.staff_per_month) + Decimal(self.licence_per_month)
        if not Decimal(self.upfront):
            return fixed
        return fixed + money.round_physics(Decimal(self.upfront) / _exact(self.commitment_months))


def owned_by(part: OwnershipPart, gpus: int, watts: float | None) -> tuple[Ownership, tuple[str, ...]]:
    """The ownership of a part and what was assumed.

    Args:
        part: With its capex.
        gpus: All of them.
        watts: Mean power of one GPU, where it is stated or asked for.
    """
    assumed = []
    if part.years is None:
        assumed.append(_("Years of use not given: %(years)g.") % {"years": DEFAULT_YEARS})
    if part.power is None:
        assumed.append(_("Electricity is not counted: give power."))
    power = part.power
    owned = Ownership(
        capex=Decimal(part.capex or "0"),
        years=_exact(part.years or DEFAULT_YEARS),
        gpus=gpus,
        interest_rate=_exact(part.interest_rate),
        residual_value=Decimal(part.residual_value),
        gpu_watts=_exact(watts or 0.0) * gpus,
        host_watts=_exact(part.host_watts),
        network_watts=_exact(part.network_watts),
        pue=_exact(power.pue) if power is not None else Decimal(1),
        price_per_kwh=Decimal(power.price_per_kwh) if power is not None else Decimal(0),
        colocation_per_kw_month=Decimal(part.colocation_per_kw_month),
        overhead_per_month=Decimal(part.overhead_per_month),
        staff_per_month=Decimal(part.staff_per_month),
        licence_per_month=Decimal(part.licence_per_month),
        hours_per_month=_exact(part.hours_per_month),
    )
    return owned, tuple(assumed)


def _exact(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def ownership_steps(owned: Ownership, month: OwnedMonth, currency: str) -> list[Step]:
    """Capital, electricity, their sum and the GPU hour."""
    months = owned.years * 12
    steps = [
        Step.worked(
            name="electricity",
            formula="kw · pue · hours_per_month · price_per_kwh",
            values={
                "kw": owned.it_kw,
                "pue": owned.pue,
                "hours_per_month": owned.hours_per_month,
                "price_per_kwh": owned.price_per_kwh,
            },
            value=month.electricity,
            unit=currency,
            source="power of GPUs, hosts and network",
        ),
        Step.worked(
            name="cost_per_month",
            formula=" + ".join(month.parts),
            values=dict(month.parts),
            value=month.total,
            unit=currency,
            source="everything paid for owned machines",
        ),
        Step.worked(
            name="price_per_gpu_hour",
            formula="cost_per_month / (gpus · hours_per_month)",
            values={"cost_per_month": month.total, "gpus": owned.gpus, "hours_per_month": owned.hours_per_month},
            value=month.per_gpu_hour,
            unit=currency,
            source="hours in which the GPUs run",
        ),
    ]
    if not owned.interest_rate:
        capital = Step.worked(
            name="capital",
            formula="(capex − residual_value) / months",
            values={"capex": owned.capex, "residual_value": owned.residual_value, "months": months},
            value=month.capital,
            unit=currency,
            source="paid off in equal parts",
        )
        steps.insert(0, capital)
    return steps
