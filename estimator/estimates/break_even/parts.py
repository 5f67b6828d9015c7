"""What `estimates/break-even/` asks and answers: both sides, the month, and the months ahead."""

import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, cast

from pydantic import Discriminator, Field, Tag

from estimator.engine.cost.break_even import Stair
from estimator.engine.cost.over_time import Contract, Provisioned, VolumeTier
from estimator.estimates.answers import BASIS_HELP, Amount, Basis, ResponsePart, part_of, shown
from estimator.estimates.break_even.compute import BreakEvenResult, Kind
from estimator.estimates.break_even.months import Ahead, Change, Month
from estimator.estimates.cost.price_part import ApiCostPart
from estimator.estimates.cost.self_hosted_part import SelfHostedPart
from estimator.estimates.cost.usage_part import exact
from estimator.estimates.echo import PartlyPlannedAnswer
from estimator.question.acting import REPEATED
from estimator.question.fields import (
    SMALLEST,
    WHOLE,
    Currency,
    Money,
    PositiveRate,
    RequestBody,
    Tokens,
    TokensOrNone,
    tag,
)

Share = Annotated[float, Field(ge=0, lt=1)]
Way = Literal["api", "self_hosted", "owned", "provisioned"]


class VolumeTierPart(RequestBody):
    """A discount agreed on what is spent above a threshold in a month."""

    above_spend_per_month: Money = Field(description="Threshold at list prices, in the currency of the prices.")
    discount: Share = Field(description="Share taken off what lies above it, 0 to below 1.")


class ComparedApiPart(ApiCostPart):
    """The prices; the usage follows from the month's traffic."""

    usage: dict[str, float] = Field(default={}, description="Not used here: the lengths are those of `monthly`.")
    volume_tiers: Annotated[list[VolumeTierPart], Field(max_length=20)] = Field(
        default=[], description="Discounts by a month's spending, each on its own part of it."
    )
    minimum_spend_per_month: Money = Field(
        default="0", description="Committed spending: the least that a month is billed."
    )

    def contract(self) -> Contract:
        """What was agreed, as the engine takes it."""
        return Contract(
            tiers=tuple(
                VolumeTier(above_spend=Decimal(tier.above_spend_per_month), discount=exact(tier.discount))
                for tier in self.volume_tiers
            ),
            minimum_spend=Decimal(self.minimum_spend_per_month),
        )


class MonthlyPart(RequestBody):
    """A month's traffic."""

    requests: Annotated[int, Field(ge=1, le=10**12), WHOLE] = Field(description="Requests in the month, count.")
    input_tokens: TokensOrNone = Field(description="Prompt of ONE request, cached tokens included, tokens.")
    output_tokens: Tokens = Field(description="Answer of ONE request, tokens.")
    cached_fraction: Share = Field(default=0.0, description="Share of prompt tokens read from the cache, 0 to below 1.")
    cache_write_tokens: TokensOrNone = Field(
        default=0, description="Prompt tokens of ONE request that are written to the cache, tokens."
    )
    reasoning_tokens: TokensOrNone = Field(
        default=0, description="Reasoning of ONE request beside its answer, tokens; billed as output where not priced."
    )
    batch_fraction: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="Share of the requests that the API takes over its batch channel, 0 to 1."
    )
    growth_per_month: Annotated[float, Field(gt=-1, le=10)] = Field(
        default=0.0, description="Growth of the requests from one month to the next: 0.1 is a tenth."
    )

    def kind(self) -> Kind:
        """The requests as the engine takes them."""
        return Kind(
            requests=self.requests,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cached_fraction=exact(self.cached_fraction),
            cache_write_tokens=self.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens,
            batch_fraction=exact(self.batch_fraction),
            growth_per_month=self.growth_per_month,
        )


class ProvisionedPart(RequestBody):
    """Throughput bought in units: Azure PTU, Bedrock model units, Vertex GSU. In the currency of the API's prices."""

    price_per_unit_hour: Money = Field(description="Price of one unit for an hour, reserved or not, exact decimal.")
    input_tokens_per_minute_per_unit: PositiveRate = Field(description="Input tokens a minute that one unit carries.")
    output_weight: Annotated[float, Field(ge=0, le=1000)] = Field(
        default=1.0, description="Input tokens that one output token counts for, as the model's page says."
    )
    cached_weight: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="Input tokens that one cached token counts for, 0 to 1."
    )
    minimum_units: Annotated[int, Field(ge=1, le=10**6), WHOLE] = Field(
        default=1, description="Least units of a deployment, count."
    )
    unit_step: Annotated[int, Field(ge=1, le=10**6), WHOLE] = Field(
        default=1, description="Units are bought in steps of this, count."
    )
    units: Annotated[int, Field(ge=1, le=10**6), WHOLE] | None = Field(
        default=None,
        description="Units held; what they do not carry is billed by the API. As many as needed when null, count.",
    )
    hours_per_month: Annotated[float, Field(ge=SMALLEST, le=744)] = Field(
        default=730.0, description="Hours of a month in which the units are held, hours."
    )
    peak_to_mean: Annotated[float, Field(ge=1, le=1000)] = Field(
        default=1.0, description="Tokens of the busiest minute over those of the mean one."
    )

    def offer(self) -> Provisioned:
        """The units as the engine takes them."""
        return Provisioned(
            price_per_unit_hour=Decimal(self.price_per_unit_hour),
            tokens_per_minute=self.input_tokens_per_minute_per_unit,
            output_weight=self.output_weight,
            cached_weight=self.cached_weight,
            minimum_units=self.minimum_units,
            unit_step=self.unit_step,
            units=self.units,
            hours_per_month=self.hours_per_month,
            peak_to_mean=self.peak_to_mean,
        )


def _one_or_several(value: Any) -> str:
    return tag("several") if isinstance(value, list) else tag("one")


Monthly = Annotated[
    Annotated[MonthlyPart, Tag(tag("one"))]
    | Annotated[list[MonthlyPart], Field(min_length=1, max_length=20), Tag(tag("several"))],
    Discriminator(_one_or_several),
]


class ExchangeRatePart(RequestBody):
    """A dated rate of yours; nothing is ever converted without one."""

    from_currency: Currency
    to_currency: Currency
    rate: Money = Field(description="Units of to_currency for one of from_currency, exact decimal.")
    on: Annotated[datetime.date, REPEATED] = Field(description="Day of the rate.")


class BreakEvenRequest(RequestBody):
    """Both sides and the month."""

    self_hosted: SelfHostedPart = Field(
        description="GPUs of ONE replica and their price, with what it yields; load_fraction is the most it may carry."
    )
    api: ComparedApiPart = Field(description="The API.")
    monthly: Monthly = Field(description="The first month's traffic: one kind of request, or a list of kinds.")
    months: Annotated[int, Field(ge=1, le=120), WHOLE] = Field(
        default=12, description="Months looked ahead, with growth and the price changes that the catalog knows, count."
    )
    owned: SelfHostedPart = Field(
        default=cast(Any, None), description="ONE replica bought instead, with its capex: own against rent against API."
    )
    provisioned: ProvisionedPart | None = Field(default=None, description="The API's throughput bought in units.")
    exchange_rate: ExchangeRatePart | None = Field(
        default=None, description="From the API's currency to the machines', where they differ."
    )


class BreakEvenApi(ResponsePart):
    """The API's side."""

    cost_per_request: Amount = Field(description="Bill of one request.")
    cost_per_month: Amount = Field(description="Bill of the month.")


BreakEvenHosted: Any = part_of(
    BreakEvenResult,
    "BreakEvenHosted",
    "The self-hosted side on the reserved basis: the one to compare.",
    basis=shown(BASIS_HELP, kind=Basis, at="rests_on"),
    billing=shown(
        "How hours are billed; every one of them is paid unless it is scale_to_zero.", kind=str, at="billing.value"
    ),
    replicas="Whole replicas for the month, count.",
    gpus_per_replica="GPUs of one replica, count.",
    gpus="Whole GPUs, count.",
    replica_requests_per_month="Requests one replica serves in a month at the load allowed.",
    replica_cost_per_month="One replica for the month's hours, with the electricity of owned GPUs.",
    fixed_cost_per_month="Overhead, staff and licences, whatever the number of replicas.",
    cost_per_month=shown(
        "All replicas and the fixed cost, whatever their load.", kind=Amount, at="hosted_cost_per_month"
    ),
    load_fraction="Share of the paid time with work, 0 to 1.",
)


class BreakEvenUsage(ResponsePart):
    """Usage basis: busy time only. Where GPUs are held it flatters self-hosting and may not face an API's price."""

    label: str = Field(description="What the figure is, in words.")
    cost_per_month: Amount = Field(description="Busy share of the hours times their price.")
    cost_per_request: Amount = Field(description="Busy time of one request times its price.")
    cheaper: Literal["api", "self_hosted", "equal"] | None = Field(
        description=(
            "Cheaper side with billing scale_to_zero, whatever the volume, starts from zero left out; null where GPUs "
            "are held and this basis is nobody's bill."
        )
    )


BreakEvenStair: Any = part_of(
    Stair,
    "BreakEvenStair",
    "One step of the staircase of whole replicas.",
    requests_up_to="Monthly requests up to which it is enough.",
    replicas="Replicas, count.",
    gpus="GPUs, count.",
    cost_per_month="Bill of the step.",
    api_cost_at_end="What the API bills for the step's full volume.",
)


BreakEvenMonth: Any = part_of(
    Month,
    "BreakEvenMonth",
    "One month of the curve; null where a way was not asked for.",
    month="Number of the month, from 1.",
    day=shown("Day whose prices of the catalog apply, ISO 8601.", kind=str),
    requests="Requests of the month.",
    api=shown("The API's bill.", kind=Amount),
    self_hosted=shown("Machines as stated in self_hosted.", kind=Amount | None),
    owned=shown("Machines as stated in owned, their capital spread over its years.", kind=Amount | None),
    provisioned=shown("Units held, and what they do not carry.", kind=Amount | None),
    replicas="Whole replicas of self_hosted, count.",
    owned_replicas="Whole replicas of owned, count.",
    units="Units of provisioned, count.",
    cheapest=shown("The way that costs least.", kind=Way),
)


class BreakEvenTotals(ResponsePart):
    """All months together; null where a way was not asked for."""

    api: Amount = Field(description="The API's bills, exact decimal in the answer's currency.")
    self_hosted: Amount | None = Field(description="Rented GPUs, exact decimal; null where none were asked for.")
    owned: Amount | None = Field(description="Own machines, exact decimal; null where none were asked for.")
    provisioned: Amount | None = Field(description="Provisioned units, exact decimal; null where none were asked for.")


BreakEvenAhead: Any = part_of(
    Ahead,
    "BreakEvenAhead",
    "The months ahead.",
    curve=shown("Every month.", kind=list[BreakEvenMonth]),
    totals=shown("Sums over the months.", kind=BreakEvenTotals),
    cheapest=shown("The way that costs least over all months.", kind=Way),
    crossing_month="First month in which self_hosted costs no more than the API; null where none of these does.",
    payback_month_against_api="Month at whose end capex and running costs of owned are what the API would have "
    "taken; null: none.",
    payback_month_against_rent="The same against self_hosted.",
)


BreakEvenChange: Any = part_of(
    Change,
    "BreakEvenChange",
    "Something that would make the other side the cheaper one, alone.",
    what=shown(
        "What would change.",
        kind=Literal["api_price_factor", "price_per_gpu_hour", "requests_per_month", "month_at_this_growth"],
    ),
    now="What it is.",
    turns_at="What it would have to be for both sides to cost the same.",
    unit="Unit of both.",
)


class BreakEvenAnswer(PartlyPlannedAnswer):
    """Both bills, the staircase and where it crosses the API's line."""

    feasible: bool = Field(description="Whether the plan of the replica fits; else only the API serves the month.")
    currency: str = Field(description="ISO 4217 code of every amount.")
    cheaper: Literal["api", "self_hosted", "equal"] = Field(description="Cheaper side, reserved basis.")
    api: BreakEvenApi
    self_hosted: BreakEvenHosted | None = Field(description="Reserved basis; null where the plan does not fit.")
    usage_basis: BreakEvenUsage | None = Field(description="Busy time only; null where the plan does not fit.")
    staircase: list[BreakEvenStair] = Field(description="Steps around the month's volume, one beyond it, at most 13.")
    crossing_requests_per_month: float | None = Field(
        description="Lowest monthly volume at which self-hosting costs no more; null with a reason."
    )
    always_cheaper_from_requests_per_month: float | None = Field(
        description="Volume from which no further step makes self-hosting dearer again; null when there is none."
    )
    load_fraction_needed: float | None = Field(
        description=(
            "Share of a replica's full capacity at which it costs as much as the API; above the load allowed: never."
        )
    )
    reason: str | None = Field(description="Why there is no crossing; does_not_fit where the plan does not.")
    over_time: BreakEvenAhead | None = Field(description="Month by month; null where the plan does not fit.")
    what_would_change: list[BreakEvenChange] = Field(description="What would change the answer, each alone.")
