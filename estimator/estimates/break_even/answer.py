"""`estimates/break-even/`: an API against reserved self-hosting for a month's traffic."""

import datetime
import math
from decimal import Decimal
from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import Field

from estimator.engine.codes import Reason
from estimator.engine.cost.api import api_cost
from estimator.engine.cost.break_even import Stair
from estimator.engine.cost.self_hosted import Billing, Yield
from estimator.engine.specs import WorkloadMode
from estimator.estimates.answers import BASIS_HELP, Amount, Basis, ResponsePart, part_of
from estimator.estimates.break_even.compute import BreakEvenResult, Traffic, api_costs, break_even
from estimator.estimates.cost.price_part import ApiCostPart, InlinePricePart
from estimator.estimates.cost.self_hosted import Machines
from estimator.estimates.cost.self_hosted_part import (
    SelfHostedPart,
    in_part,
    machines,
    resolved_plan,
    speed_and_yield,
    unused_machines,
)
from estimator.estimates.cost.usage_part import exact
from estimator.estimates.echo import PartlyPlannedAnswer, several_parts
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.estimates.throughput.replica import ReplicaSpeed
from estimator.estimates.unused import Unused, unused_of_a_bill, unused_warnings
from estimator.question.fields import WHOLE, Currency, Money, RequestBody, Tokens, TokensOrNone
from estimator.question.workload import Workload
from estimator.resolvers.issues import Issue, ResolutionError
from estimator.resolvers.plan import Plan, Provenance, Resolved
from estimator.resolvers.prices import price_provenance, resolve_price


class ComparedApiPart(ApiCostPart):
    """The prices; the usage follows from the month's traffic."""

    usage: dict[str, float] = Field(default={}, description="Not used here: the lengths are those of `monthly`.")


class MonthlyPart(RequestBody):
    """A month's traffic."""

    requests: Annotated[int, Field(ge=1, le=10**12), WHOLE] = Field(description="Requests in the month, count.")
    input_tokens: TokensOrNone = Field(description="Prompt of ONE request, cached tokens included, tokens.")
    output_tokens: Tokens = Field(description="Answer of ONE request, tokens.")
    cached_fraction: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0, description="Share of prompt tokens read from the cache, 0 to below 1."
    )


class ExchangeRatePart(RequestBody):
    """A dated rate of yours; nothing is ever converted without one."""

    from_currency: Currency
    to_currency: Currency
    rate: Money = Field(description="Units of to_currency for one of from_currency, exact decimal.")
    on: datetime.date = Field(description="Day of the rate.")


class BreakEvenRequest(RequestBody):
    """Both sides and the month."""

    self_hosted: SelfHostedPart = Field(
        description="GPUs of ONE replica and their price, with what it yields; load_fraction is the most it may carry."
    )
    api: ComparedApiPart = Field(description="The API.")
    monthly: MonthlyPart = Field(description="The month's traffic.")
    exchange_rate: ExchangeRatePart | None = Field(
        default=None, description="From the API's currency to the machines', where they differ."
    )


class BreakEvenApi(ResponsePart):
    """The API's side."""

    cost_per_request: Amount = Field(description="Bill of one request.")
    cost_per_month: Amount = Field(description="Bill of the month.")


class BreakEvenHosted(ResponsePart):
    """The self-hosted side on the reserved basis: the one to compare."""

    basis: Basis = Field(description=BASIS_HELP)
    billing: str = Field(description="How hours are billed; every one of them is paid unless it is scale_to_zero.")
    replicas: int = Field(description="Whole replicas for the month, count.")
    gpus_per_replica: int = Field(description="GPUs of one replica, count.")
    gpus: int = Field(description="Whole GPUs, count.")
    replica_requests_per_month: float = Field(description="Requests one replica serves in a month at the load allowed.")
    replica_cost_per_month: Amount = Field(description="One replica for 730 h.")
    cost_per_month: Amount = Field(description="All replicas for 730 h, whatever their load.")
    load_fraction: float = Field(description="Share of the paid time with work, 0 to 1.")


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


def answer_break_even(body: BreakEvenRequest, asked: Asked) -> BreakEvenAnswer:
    """The answer to a request.

    Raises:
        ResolutionError: Faults of a part, or two currencies without a rate.
    """
    traffic = _traffic(body.monthly)
    price = in_part("api", lambda: resolve_price(body.api.price_choice(), asked.facts))
    bill = in_part("api", lambda: api_cost(price.prices, traffic.usage()))
    paid, made, speed, origin = in_part("self_hosted", lambda: _replica(body, traffic, asked))
    rate, rate_note = _rate(body, price.prices.currency, paid.currency)
    found = None if made is None else break_even(bill, paid, made, traffic, rate_to_currency=rate)
    references = {line.reference: f"api.lines.{line.meter}" for line in bill.lines if line.reference}
    resolved = [price, price_provenance(price, asked.facts, references), *origin, rate_note, _notes(body, paid)]
    common = several_parts(
        resolved,
        catalog_revision=asked.facts.catalog_revision,
        steps=found.explain() if asked.explain and found is not None else [],
        explain=asked.explain,
    )
    if found is None:
        return _only_the_api(common, api_costs(bill, traffic, rate), paid)
    return _answer(common, found, speed)


def _traffic(month: MonthlyPart) -> Traffic:
    return Traffic(
        requests=month.requests,
        input_tokens=month.input_tokens,
        output_tokens=month.output_tokens,
        cached_fraction=exact(month.cached_fraction),
    )


def _replica(
    body: BreakEvenRequest, traffic: Traffic, asked: Asked
) -> tuple[Machines, Yield | None, ReplicaSpeed | None, list[Resolved]]:
    """The replica at the month's lengths; its prefix cache is taken to find the same share as the API's."""
    load = body.self_hosted.workload or Workload(mode=WorkloadMode.OFFLINE)
    lengths = {
        "input_tokens": max(traffic.input_tokens, 1),
        "output_tokens": traffic.output_tokens,
        "prefix_cache_hit_rate": float(traffic.cached_fraction),
    }
    part = body.self_hosted.model_copy(update={"workload": load.model_copy(update=lengths)})
    plan: Plan | None = resolved_plan(part, asked.facts)
    speed, made, gpus = speed_and_yield(part, plan)
    paid, origin = machines(part, asked.facts, gpus)
    return paid, made, speed, [origin, *([plan] if plan else [])]


def _rate(body: BreakEvenRequest, source: str, target: str) -> tuple[Decimal, Resolved]:
    given = body.exchange_rate
    if source == target:
        needless = _("Not used: exchange_rate; both sides are in %(currency)s.") % {"currency": source}
        return Decimal(1), Resolved(warnings=(needless,) if given is not None else ())
    if given is None or (given.from_currency, given.to_currency) != (source, target):
        detail = _("The API is in %(source)s, the GPUs in %(target)s: give a dated rate from one to the other.") % {
            "source": source,
            "target": target,
        }
        raise ResolutionError([Issue(path=("exchange_rate",), code="required", detail=detail)])
    if not Decimal(given.rate):
        raise ResolutionError(
            [Issue(path=("exchange_rate", "rate"), code="out_of_range", detail=_("Must be greater than 0."))]
        )
    entry = Provenance(
        what="exchange_rate", value=given.rate, unit=f"{target}/{source}", source="request", date=given.on.isoformat()
    )
    return Decimal(given.rate), Resolved(provenance=(entry,))


def _notes(body: BreakEvenRequest, paid: Machines) -> Resolved:
    assumed = [_("GPUs are held: every hour of the month is paid.")]
    if paid.billing is Billing.SCALE_TO_ZERO:
        assumed = [_("Billing is by use: usage_basis holds that bill, self_hosted that of GPUs held at this price.")]
    if body.monthly.cached_fraction:
        assumed.append(_("The self-hosted prefix cache finds the same share of the prompts as the API's."))
    left_out = [_("staff, storage, traffic out of the site and taxes"), _("the API's cache writes")]
    if paid.billing is Billing.SCALE_TO_ZERO:
        left_out.append(_("time to start a machine from zero, which is billed too"))
    if paid.billing is Billing.SPOT:
        left_out.append(_("work lost when a spot machine is taken away"))
    return Resolved(assumptions=tuple(assumed), not_modelled=tuple(left_out), warnings=_unused(body))


def _unused(body: BreakEvenRequest) -> tuple[str, ...]:
    of_month = _("the lengths are those of monthly")
    api = unused_of_a_bill(of_month, inline=isinstance(body.api.price, InlinePricePart))
    hosted: list[Unused] = [
        (f"workload.{name}", of_month) for name in ("input_tokens", "output_tokens", "prefix_cache_hit_rate")
    ]
    hosted += [
        (name, _("bills are compared, not costs per token")) for name in ("allocation", "output_input_cost_ratio")
    ]
    hosted.append(("power", _("electricity is never added to a rent: see cost")))
    return (
        *unused_warnings(body.api, api, prefix="api."),
        *unused_warnings(body.self_hosted, hosted, prefix="self_hosted."),
        *unused_machines(body.self_hosted),
    )


def _only_the_api(common: dict[str, Any], bills: tuple[Decimal, Decimal], paid: Machines) -> BreakEvenAnswer:
    """The answer where the plan does not fit: nothing to compare the API with."""
    return BreakEvenAnswer.model_validate(
        common
        | {
            "feasible": False,
            "currency": paid.currency,
            "cheaper": "api",
            "api": {"cost_per_request": bills[0], "cost_per_month": bills[1]},
            "self_hosted": None,
            "usage_basis": None,
            "staircase": [],
            "crossing_requests_per_month": None,
            "always_cheaper_from_requests_per_month": None,
            "load_fraction_needed": None,
            "reason": Reason.DOES_NOT_FIT.label,
        }
    )


def _usage_label(found: BreakEvenResult) -> str:
    if found.billing is Billing.SCALE_TO_ZERO:
        return _("busy time only, which is what is billed; starts from zero come on top")
    return _("busy time only: flatters self-hosting, not for comparison with an API")


def _answer(common: dict[str, Any], found: BreakEvenResult, speed: ReplicaSpeed | None) -> BreakEvenAnswer:
    needed = found.crossing.load_fraction_needed
    return BreakEvenAnswer.model_validate(
        common
        | {
            "feasible": True,
            "currency": found.currency,
            "cheaper": found.cheaper,
            "api": {"cost_per_request": found.api_cost_per_request, "cost_per_month": found.api_cost_per_month},
            "self_hosted": {
                "basis": "observed" if speed is None else speed.basis,
                "billing": found.billing.value,
                "replicas": found.replicas,
                "gpus_per_replica": found.gpus_per_replica,
                "gpus": found.gpus,
                "replica_requests_per_month": found.replica_requests_per_month,
                "replica_cost_per_month": found.replica_cost_per_month,
                "cost_per_month": found.hosted_cost_per_month,
                "load_fraction": found.load_fraction,
            },
            "usage_basis": {
                "label": _usage_label(found),
                "cost_per_month": found.usage_cost_per_month,
                "cost_per_request": found.usage_cost_per_request,
                "cheaper": found.cheaper_by_use,
            },
            "staircase": [
                {
                    "requests_up_to": stair.requests_up_to,
                    "replicas": stair.replicas,
                    "gpus": stair.gpus,
                    "cost_per_month": stair.cost_per_month,
                    "api_cost_at_end": stair.api_cost_at_end,
                }
                for stair in found.stairs
            ],
            "crossing_requests_per_month": found.crossing.first_requests_per_month,
            "always_cheaper_from_requests_per_month": found.crossing.always_from_requests_per_month,
            "load_fraction_needed": needed if math.isfinite(needed) else None,
            "reason": found.crossing.reason,
        }
    )


ENDPOINT = Endpoint(
    slug="break-even",
    summary="An API against reserved self-hosting for a month's traffic",
    description=(
        "The API bills each request; replicas come in whole GPUs and are paid for 730 h whatever their load. Answers "
        "both bills, the staircase of replicas, the volume at which they cross and the load a replica needs. The usage "
        "basis (busy time only) is given and labelled, and never compared."
    ),
    request=BreakEvenRequest,
    response=BreakEvenAnswer,
    answer=answer_break_even,
)
