"""`estimates/cost/`: what tokens cost on one's own GPUs and what an API bills for a usage."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Annotated, Any

from django.utils.translation import gettext as _
from pydantic import BeforeValidator, Field

from estimator.engine.cost.api import ApiCost
from estimator.engine.cost.api import CostLine as BilledLine
from estimator.engine.cost.ownership import OwnedMonth
from estimator.engine.cost.price_rules import LOW
from estimator.engine.cost.self_hosted import Billing
from estimator.engine.explain import Step
from estimator.engine.faults import Fault, ResolutionError
from estimator.estimates.answers import BASIS_HELP, Amount, Basis, part_of, shown
from estimator.estimates.cost.api_bill import Bill, bill_usage
from estimator.estimates.cost.ownership_part import ownership_steps
from estimator.estimates.cost.power_use import power_use
from estimator.estimates.cost.price_part import ApiCostPart, InlinePricePart, as_sent, json_quantity
from estimator.estimates.cost.self_hosted import (
    Electricity,
    Machines,
    SelfHostedCost,
    cost_of_nothing,
    self_hosted_cost,
)
from estimator.estimates.cost.self_hosted_part import (
    SelfHostedPart,
    allocation_of,
    at_arrivals,
    band_of,
    in_part,
    machines,
    resolved_plan,
    speed_and_yield,
    unused_machines,
)
from estimator.estimates.cost.usage_part import Counted
from estimator.estimates.echo import PartlyPlannedAnswer, several_parts
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.estimates.throughput.replica import ReplicaSpeed
from estimator.estimates.unused import Unused, unused_days, unused_warnings
from estimator.question.fields import RequestBody
from estimator.resolvers.plan import Plan, Resolved
from estimator.resolvers.prices import ResolvedPrice, price_provenance, resolve_price


class CostRequest(RequestBody):
    """`self_hosted`, `api`, or both."""

    self_hosted: SelfHostedPart | None = Field(default=None, description="One's own GPUs.")
    api: ApiCostPart | None = Field(default=None, description="An API's price list and a usage.")


def _count(quantity: Any) -> Any:
    return json_quantity(quantity) if isinstance(quantity, Decimal) else quantity


Quantity = Annotated[float | int, BeforeValidator(_count)]
CostLine: Any = part_of(
    BilledLine,
    "CostLine",
    "One meter of the bill.",
    meter="What is counted.",
    quantity=shown("Count over all requests, base units.", kind=Quantity),
    free_quantity=shown("How many of them a monthly free quantity covers, base units.", kind=Quantity),
    unit="What the unit price is for (mtok: a million tokens); null when unpriced.",
    unit_price="Price of one unit; null when unpriced.",
    amount="(quantity − free_quantity) · unit_price / unit, exact; null when unpriced.",
    tier="Tier of the price list that bills the request.",
    channel="Channel whose price it is; null when unpriced.",
    billed_as="Meter whose price is used where this one has none of its own.",
    reason="Why there is no amount.",
)


ApiBill: Any = part_of(
    ApiCost,
    "ApiBill",
    "What the API bills.",
    price=shown("Slug of the prices; null for stated ones.", kind=str | None),
    currency="ISO 4217 code of every amount here.",
    channel="Channel asked for.",
    on=shown("Day or moment whose prices apply, ISO 8601.", kind=str),
    tier=shown("The one tier of the request, chosen by its total prompt.", kind=str),
    prompt_tokens_per_request=shown("Total prompt that chose the tier, tokens.", kind=Quantity),
    requests=shown("Requests billed, count.", kind=int),
    lines=shown("One line per meter; they add up to the total.", kind=list[CostLine]),
    total="Sum of the lines; null when one is unpriced.",
    priced_total="Sum of the lines that have a price.",
    cost_per_mtok_blended="Total over all tokens of prompts and answers, per million, as self_hosted says it; null "
    "without a total or without tokens.",
    reason="Why there is no total.",
    lines_csv=shown("The lines as CSV with a header, one line per meter, to save as a file.", kind=str),
)


ElectricityCost: Any = part_of(
    Electricity,
    "ElectricityCost",
    "Electricity of the GPUs; beside the price of rented ones, part of the month of owned ones. Hosts are not in it.",
    currency="ISO 4217 code of the electricity's amounts.",
    watts_per_gpu="Mean power of one GPU over the hours that are billed, W: idle time draws idle power.",
    basis=shown(
        BASIS_HELP + " Of the watts; assumption where the rate was given and nothing is known of the work.", kind=Basis
    ),
    cost_per_hour="Electricity of a billed hour, PUE in it, at the middle of the band.",
    cost_per_month="Electricity of a month of 730 h.",
    kwh_per_month="Energy of a month, kWh.",
    cost_per_mtok_output="Electricity of a million output tokens; null where none is made.",
)


OwnedBill: Any = part_of(
    OwnedMonth,
    "OwnedBill",
    "What owned machines cost a month, part by part.",
    capital="Capital paid off with its interest.",
    electricity="Power of GPUs, hosts and network times PUE, hours and price.",
    colocation="Kilowatts times their price in a rack.",
    overhead="As stated.",
    staff="As stated.",
    licence="As stated.",
    total="Their sum.",
)


SelfHostedBill: Any = part_of(
    SelfHostedCost,
    "SelfHostedBill",
    "What tokens cost on one's own GPUs.",
    currency=shown("ISO 4217 code of the amounts here.", at="machines.currency"),
    feasible="Whether the load fits, as memory-fit says it; where not even one sequence fits, hours are billed "
    "and no token is made.",
    cost_basis="reservation: held hours are paid whatever the load (for comparison); usage: busy time only.",
    basis=shown(BASIS_HELP, at="rests_on", kind=Basis),
    billing=shown("How hours are billed.", at="machines.billing.value"),
    gpus=shown("GPUs paid for, count.", at="machines.gpus"),
    load_fraction=shown("Share of the time with work, 0 to 1.", at="machines.load_fraction"),
    allocation=shown("How cost is split over input and output tokens.", kind=str, at="allocation.value"),
    tokens_per_s_output="Output tokens per second of all GPUs at full load; null where the plan does not fit.",
    cost_per_mtok_output="Cost of a million output tokens, at the middle of the band; null where the plan does not "
    "fit.",
    cost_per_mtok_output_low="At the fast end of the speed's band; null for a given speed.",
    cost_per_mtok_output_high="At the slow end of the speed's band.",
    cost_per_mtok_input="Cost of a million fresh input tokens; null with a reason.",
    cost_per_mtok_cached_input="Cost of a million input tokens found in the prefix cache; null with a reason.",
    cost_per_mtok_blended="Cost of a million tokens of input and output together, in the workload's mix; null "
    "with a reason.",
    cost_per_request="Cost of one request; null with a reason.",
    cost_per_hour="Price of an hour of all GPUs while they run.",
    cost_per_month="Bill of a month: its hours and all that is paid beside them.",
    price_per_gpu_hour=shown(
        "Price of a GPU hour; of owned machines their month over its hours.",
        kind=Amount,
        at="machines.price_per_gpu_hour",
    ),
    owned=shown(
        "The month of owned machines, part by part; null for rented ones.", kind=OwnedBill | None, at="machines.month"
    ),
    usage_cost_per_mtok_output="Cost of a million output tokens at full load, idle time left out: flatters, not for "
    "comparison.",
    reasons="Why a figure is null, by its name.",
    electricity=shown("Electricity alone; null when power was not asked for.", kind=ElectricityCost | None),
)


class CostAnswer(PartlyPlannedAnswer):
    """Both bills; a part that was not asked for is null."""

    self_hosted: SelfHostedBill | None = Field(description="One's own GPUs; null when not asked for.")
    api: ApiBill | None = Field(description="The API; null when not asked for.")


def answer_cost(body: CostRequest, asked: Asked) -> CostAnswer:
    """The answer to a request.

    Raises:
        ResolutionError: Neither part, or faults of one.
    """
    if body.self_hosted is None and body.api is None:
        raise ResolutionError([Fault(path=(), code="required", detail=_("Give self_hosted, api or both."))])
    resolved: list[Resolved] = []
    steps: list[Step] = []
    hosted, api = None, None
    if (part := body.self_hosted) is not None:
        hosted = in_part("self_hosted", lambda: _hosted(part, asked, resolved, steps))
    if (usage := body.api) is not None:
        api = in_part("api", lambda: _api(usage, asked, resolved, steps))
    parts = several_parts(resolved, catalog_revision=asked.facts.catalog_revision, steps=steps, explain=asked.explain)
    return CostAnswer(**parts, self_hosted=hosted, api=api)


def _api(part: ApiCostPart, asked: Asked, resolved: list[Resolved], steps: list[Step]) -> ApiBill:
    usage = part.counted()
    choice, sent = as_sent(part, usage)
    price = resolve_price(choice, asked.facts)
    billed = partial(_billed, part, usage)
    bill = in_part("usage", lambda: billed(price))
    resolved += [price, price_provenance(price, asked.facts, bill.references), sent]
    idle = list(_idle_of_bill(part, bill))
    if part.search_context_size != LOW:
        least = billed(resolve_price(replace(choice, search_context=LOW), asked.facts))
        if least.cost.lines == bill.cost.lines:
            idle.append(("search_context_size", _("no meter used depends on it")))
    resolved.append(
        Resolved(
            assumptions=tuple(note for note in bill.cost.notes if note not in price.warnings),
            warnings=(
                *bill.cost.warnings,
                *_beyond_window(price, bill),
                *unused_warnings(part, idle, prefix="api."),
            ),
        )
    )
    if asked.explain:
        steps += bill.explain()
    return api_bill(bill, part, choice.moment.isoformat())


def _billed(part: ApiCostPart, usage: Counted, price: ResolvedPrice) -> Bill:
    return bill_usage(
        price,
        usage.quantities,
        convention=usage.convention,
        requests=Decimal(part.requests),
        partial=part.partial,
        whole_month=part.whole_month,
    )


def _idle_of_bill(part: ApiCostPart, bill: Bill) -> Iterator[Unused]:
    """What was asked of a bill and changes nothing of it."""
    if isinstance(part.price, InlinePricePart):
        yield from unused_days()
    if bill.cost.total is not None:
        yield "partial", _("every meter used has a price")
    if not any(line.free_quantity for line in bill.cost.lines):
        yield "whole_month", _("no meter used has a free quantity")


def _beyond_window(price: ResolvedPrice, bill: Bill) -> tuple[str, ...]:
    """A word where the prompt of one request is longer than the model takes."""
    most, window = price.max_input_tokens, price.context_window_tokens
    prompt = bill.cost.prompt_tokens_per_request
    if most is not None and prompt > most:
        text = _("The prompt has %(prompt)s tokens and %(model)s takes %(most)s at most: such a request is refused.")
    elif most is None and window is not None and prompt > window:
        text = _("The prompt has %(prompt)s tokens and the window of %(model)s is %(most)s: such a request is refused.")
        most = window
    else:
        return ()
    return (text % {"prompt": f"{prompt:,f}", "model": price.model, "most": f"{most:,}"},)


def api_bill(bill: Bill, part: ApiCostPart, moment: str) -> ApiBill:
    """The bill in the answer's form, checked at once."""
    cost = bill.cost
    return ApiBill.model_validate(
        {
            "price": bill.price.slug,
            "currency": cost.currency,
            "channel": cost.channel,
            "on": moment,
            "tier": cost.tier.label,
            "prompt_tokens_per_request": cost.prompt_tokens_per_request,
            "requests": part.requests,
            "lines": cost.lines,
            "total": cost.total,
            "priced_total": cost.priced_total,
            "cost_per_mtok_blended": cost.cost_per_mtok_blended,
            "reason": cost.reason,
            "lines_csv": bill.as_csv(),
        }
    )


def _hosted(part: SelfHostedPart, asked: Asked, resolved: list[Resolved], steps: list[Step]) -> SelfHostedBill:
    plan = resolved_plan(part, asked.facts)
    speed, made, gpus = speed_and_yield(part, plan)
    power = power_use(part, plan, speed, asked.facts)
    paid, origin = machines(part, asked.facts, gpus, power)
    paid = at_arrivals(part, paid, speed)
    if made is None:
        reason = (speed.reason if speed else None) or "does_not_fit"
        cost = cost_of_nothing(paid, reason, allocation=allocation_of(part), power=power)
    else:
        cost = self_hosted_cost(
            paid,
            made,
            allocation=allocation_of(part),
            output_input_cost_ratio=part.output_input_cost_ratio,
            tokens_per_s_band=band_of(speed, made),
            power=power,
        )
    resolved += [origin, hosted_notes(part, paid, plan)]
    if plan is not None:
        resolved.append(plan)
    if asked.explain:
        if paid.owned is not None and paid.month is not None:
            steps += ownership_steps(paid.owned, paid.month, paid.currency)
        steps += cost.explain()
    return hosted_bill(cost, speed)


def hosted_notes(part: SelfHostedPart, paid: Machines, plan: Plan | None) -> Resolved:
    """What self-hosted money leaves out, and what was given in vain."""
    left_out = [_("storage, traffic out of the site and taxes")]
    if not any(Decimal(getattr(part, name)) for name in ("staff_per_month", "overhead_per_month")):
        left_out.append(_("staff"))
    if paid.billing is Billing.SPOT:
        left_out.append(_("work lost when a spot machine is taken away"))
    if paid.billing is Billing.SCALE_TO_ZERO:
        left_out.append(_("time to start a machine from zero, which is billed too"))
    assumed = []
    if plan is not None and part.workload is not None and (part.workload.output_tokens or 0) < 1:
        assumed.append(_("An answer of no token is counted as the one that a prompt's pass yields."))
    if part.power is not None and "pue" not in part.power.model_fields_set:
        assumed.append(_("Power usage effectiveness not given: %(pue)g.") % {"pue": part.power.pue})
    if plan is None and part.tokens_per_s_output is not None:
        assumed.append(_("The tokens per second are those you gave."))
    unused = unused_machines(part, plan)
    return Resolved(not_modelled=tuple(left_out), assumptions=tuple(assumed), warnings=unused)


def hosted_bill(cost: SelfHostedCost, speed: ReplicaSpeed | None) -> SelfHostedBill:
    """The self-hosted cost in the answer's form."""
    return SelfHostedBill.model_validate(
        cost if speed is None else replace(cost, rests_on=speed.basis, fits=speed.feasible)
    )


ENDPOINT = Endpoint(
    slug="cost",
    summary="Cost of tokens: one's own GPUs and an API's bill",
    description=(
        "Self-hosted: hours are billed, tokens are what they yield; a held GPU costs the same whatever its load. API: "
        "disjoint meters at the prices of a day, one tier for the whole request chosen by its total prompt, exact "
        "decimals. A used meter without a price is 422 unpriced-meter, or null with a reason when partial is true; an "
        "explicit zero is a price. A plan that does not fit is 200 with feasible false. Currencies are never converted."
    ),
    request=CostRequest,
    response=CostAnswer,
    answer=answer_cost,
    says_speed=True,
)
