"""Owned GPUs in place of a price of a GPU hour, where a question names GPUs one by one (sizing, reports)."""

from typing import Annotated

from pydantic import Field

from estimator.question.fields import SMALLEST, WHOLE, Money, RequestBody


class OwnedGpus(RequestBody):
    """What owned GPUs cost: bought once, run every hour of a month (730 h)."""

    capex: Money = Field(description="Price of all `gpus` with their servers, network and installation, exact decimal.")
    gpus: Annotated[int, Field(ge=1, le=1_000_000), WHOLE] = Field(
        default=1, description="GPUs that this buys and that everything below is for, count."
    )
    years: Annotated[float, Field(ge=SMALLEST, le=50)] = Field(
        default=4.0, description="Years over which capex is paid off."
    )
    interest_rate: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="Yearly rate that the capital costs, 0 to 1: 0.08 is 8 %."
    )
    residual_value: Money = Field(default="0", description="What the machines still fetch after those years.")
    watts: Annotated[float, Field(ge=0, le=1e12)] = Field(
        default=0.0, description="Power of all these machines in use, with hosts and network, W."
    )
    pue: Annotated[float, Field(ge=1, le=10)] = Field(
        default=1.0, description="Power usage effectiveness of the building, 1 or more."
    )
    price_per_kwh: Money = Field(default="0", description="Price of a kWh of electricity.")
    colocation_per_kw_month: Money = Field(default="0", description="Price of a kW of machines in a rack for a month.")
    overhead_per_month: Money = Field(default="0", description="Whatever else is paid each month: platform, space.")
    staff_per_month: Money = Field(default="0", description="People, per month.")
    licence_per_month: Money = Field(default="0", description="Licences, per month.")
