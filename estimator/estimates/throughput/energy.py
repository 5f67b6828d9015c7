"""Power and energy of a replica under a load, and what its electricity costs."""

from decimal import Decimal

from pydantic import Field

from estimator.constants.power import half_width_row, is_measured
from estimator.engine.cost import money
from estimator.engine.explain import Step
from estimator.engine.power.draw import joules_to_kwh_per_mtok
from estimator.engine.specs import Gpu
from estimator.engine.speed.prepared import Basis as SpeedBasis
from estimator.engine.speed.prepared import PreparedKey
from estimator.estimates.answers import BASIS_HELP, Amount, Band, Basis, ResponsePart
from estimator.estimates.throughput.figures import SpeedFigures, band_part
from estimator.figures.energy import ENERGY
from estimator.question.workload import Power
from estimator.resolvers.plan import Plan


class EnergyPart(ResponsePart):
    """Power and energy of the GPUs; hosts, network and the building are not in it, but for the costs."""

    watts_per_gpu: Band = Field(description=ENERGY["watts_per_gpu"][1])
    watts: Band = Field(description="Power of all GPUs of the replica, W.")
    idle_watts_per_gpu: float = Field(description="What a GPU draws that does nothing, W.")
    limit_watts_per_gpu: float = Field(description="Design power of a GPU, or the cap asked for where that is less, W.")
    joules_per_token: Band | None = Field(description=ENERGY["joules_per_token"][1] + " Null without a rate.")
    joules_per_request: Band | None = Field(description=ENERGY["joules_per_request"][1])
    kwh_per_mtok: Band | None = Field(description="Energy of the GPUs for a million output tokens, kWh.")
    currency: str | None = Field(description="ISO 4217 code of the electricity; null without power.")
    cost_per_mtok_low: Amount | None = Field(description="Electricity of a million output tokens, PUE in it; low end.")
    cost_per_mtok: Amount | None = Field(description="Electricity of a million output tokens, PUE in it.")
    cost_per_mtok_high: Amount | None = Field(description="Electricity of a million output tokens; high end.")
    basis: Basis = Field(description=BASIS_HELP + " Of the watts: joules rest on expected.basis too.")


def energy_part(plan: Plan, prepared: PreparedKey, figures: SpeedFigures) -> EnergyPart | None:
    """Power and energy in the answer's form; None where the power is not known or no rate is said."""
    watts = band_part(figures.energy["watts_per_gpu"])
    if watts is None:
        return None
    joules = band_part(figures.energy["joules_per_token"])
    kwh = None if joules is None else _times(joules, float(joules_to_kwh_per_mtok(1.0)))
    low, mid, high = (None, None, None) if kwh is None else costs_of(plan.power, kwh)
    return EnergyPart(
        watts_per_gpu=watts,
        watts=_times(watts, plan.parallelism.gpus),
        idle_watts_per_gpu=prepared.draw.idle_w,
        limit_watts_per_gpu=prepared.draw.limit_w,
        joules_per_token=joules,
        joules_per_request=band_part(figures.energy["joules_per_request"]),
        kwh_per_mtok=kwh,
        currency=None if plan.power is None else plan.power.currency,
        cost_per_mtok_low=low,
        cost_per_mtok=mid,
        cost_per_mtok_high=high,
        basis=power_basis(plan.gpu.spec).value,
    )


def _times(band: Band, factor: float) -> Band:
    return Band(low=band.low * factor, mid=band.mid * factor, high=band.high * factor)


def costs_of(power: Power | None, kwh: Band) -> tuple[Decimal | None, Decimal | None, Decimal | None]:
    """What the ends of an energy cost at a price of electricity, the building's share in it; nothing without one."""
    if power is None:
        return None, None, None
    price = money.to_physics(Decimal(power.price_per_kwh)) * power.pue
    low, mid, high = (money.money_from_physics(end * price) for end in (kwh.low, kwh.mid, kwh.high))
    return low, mid, high


def power_basis(gpu: Gpu) -> SpeedBasis:
    """What stands behind the power of a GPU: its own runs, those of its family, or none of either."""
    row = half_width_row(gpu.slug, gpu.kernel_family)
    if is_measured(row):
        return SpeedBasis.CALIBRATED
    return SpeedBasis.NEAREST_FAMILY if row.scope else SpeedBasis.EXTRAPOLATED


def energy_steps(plan: Plan, figures: SpeedFigures) -> list[Step]:
    """The working of the middle: from watts to joules, kWh and money."""
    watts, joules = figures.energy["watts_per_gpu"].mid, figures.energy["joules_per_token"].mid
    rate = figures.expected["tokens_per_s_total"].mid
    if watts is None or joules is None or rate is None:
        return []
    kwh = float(joules_to_kwh_per_mtok(joules))
    steps = [
        Step.worked(
            name="energy.joules_per_token.mid",
            formula="watts_per_gpu · gpus / tokens_per_s_total",
            values={"watts_per_gpu": watts, "gpus": plan.parallelism.gpus, "tokens_per_s_total": rate},
            value=joules,
            unit="J",
            source="docs/model.md, eq. (77); watts by eq. (74)",
        ),
        Step.worked(
            name="energy.kwh_per_mtok.mid",
            formula="joules_per_token / 3.6",
            values={"joules_per_token": joules},
            value=kwh,
            unit="kWh",
            source="10^6 tokens, 3.6 · 10^6 J a kWh",
        ),
    ]
    if plan.power is not None:
        price = money.to_physics(Decimal(plan.power.price_per_kwh))
        steps.append(
            Step.worked(
                name="energy.cost_per_mtok",
                formula="kwh_per_mtok · pue · price_per_kwh",
                values={"kwh_per_mtok": kwh, "pue": plan.power.pue, "price_per_kwh": price},
                value=money.money_from_physics(kwh * plan.power.pue * price),
                unit=plan.power.currency,
                source="electricity of the GPUs",
            )
        )
    return steps
