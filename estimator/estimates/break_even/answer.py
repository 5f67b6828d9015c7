"""`estimates/break-even/`: an API against reserved self-hosting for a month's traffic, and the months ahead."""

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from estimator.engine.codes import Reason
from estimator.engine.cost import money
from estimator.engine.cost.api import api_cost
from estimator.engine.cost.self_hosted import Billing
from estimator.engine.faults import Fault, ResolutionError
from estimator.estimates.break_even.compute import BreakEvenResult, Traffic, break_even
from estimator.estimates.break_even.months import (
    API,
    OWN,
    PROVISIONED,
    RENT,
    Ahead,
    Change,
    Fleet,
    api_month,
    changes,
    months_ahead,
    provisioned_month,
)
from estimator.estimates.break_even.parts import (
    BreakEvenAnswer,
    BreakEvenHosted,
    BreakEvenRequest,
)
from estimator.estimates.break_even.sides import CostOfKinds, exchange, fleet_of, lengths_of_month, traffic_of
from estimator.estimates.cost.price_part import InlinePricePart
from estimator.estimates.cost.self_hosted import Machines
from estimator.estimates.cost.self_hosted_part import (
    in_part,
)
from estimator.estimates.echo import several_parts
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.estimates.throughput.replica import ReplicaSpeed
from estimator.estimates.unused import unused_of_a_bill, unused_warnings
from estimator.resolvers.plan import Resolved
from estimator.resolvers.prices import price_provenance, resolve_price

WAYS = (API, RENT, OWN, PROVISIONED)


def answer_break_even(body: BreakEvenRequest, asked: Asked) -> BreakEvenAnswer:
    """The answer to a request.

    Raises:
        ResolutionError: Faults of a part, or two currencies without a rate.
    """
    traffic = traffic_of(body)
    price = in_part("api", lambda: resolve_price(body.api.price_choice(), asked.facts))
    bills = in_part("api", lambda: [api_cost(price.prices, kind.usage()) for kind in traffic.kinds])
    renting, speed, origin = in_part("self_hosted", lambda: fleet_of("self_hosted", body.self_hosted, traffic, asked))
    rate, rate_note = exchange(body, price.prices.currency, renting.machines.currency)
    costs = CostOfKinds(body.api, asked)
    contract = body.api.contract()

    def api(month: int, day: datetime.date) -> Decimal:
        return in_part("api", lambda: api_month(traffic, month, day, costs.of, contract, rate))

    start = price.day or timezone.now().date()
    found = ahead = None
    if renting.made:
        found = break_even(api(1, start), renting.machines, renting.bill, renting.made, traffic)
        ahead, origin_owned = _ahead(body, traffic, renting, asked, api, start, rate)
        origin += origin_owned
    references = {line.reference: f"api.lines.{line.meter}" for bill in bills for line in bill.lines if line.reference}
    resolved = [
        price,
        price_provenance(price, asked.facts, references),
        *origin,
        rate_note,
        _notes(body, renting, costs),
    ]
    common = several_parts(
        resolved,
        catalog_revision=asked.facts.catalog_revision,
        steps=found.explain() if asked.explain and found is not None else [],
        explain=asked.explain,
    )
    if found is None or ahead is None:
        return _only_the_api(common, traffic, api(1, start), renting.machines)
    return _answer(common, found, ahead, speed, changes(found, renting.machines, traffic, renting.bill))


def _ahead(
    body: BreakEvenRequest,
    traffic: Traffic,
    renting: Fleet,
    asked: Asked,
    api: Callable[[int, datetime.date], Decimal],
    start: datetime.date,
    rate: Decimal,
) -> tuple[Ahead, list[Resolved]]:
    """The months ahead, and where the owned machines come from.

    Raises:
        ResolutionError: Owned machines in another currency, or without capex.
    """
    owned: Fleet | None = None
    origin: list[Resolved] = []
    if body.owned is not None:
        if body.owned.capex is None:
            raise ResolutionError([Fault(path=("owned", "capex"), code="required", detail=_("What is bought costs."))])
        owned, _speed, origin = in_part("owned", lambda: fleet_of("owned", body.owned, traffic, asked))
        if owned.machines.currency != renting.machines.currency:
            detail = _("Give both kinds of machines in one currency.")
            raise ResolutionError([Fault(path=("owned", "currency"), code="ambiguous", detail=detail)])
        owned = owned if owned.made else None
    offer = None if body.provisioned is None else body.provisioned.offer()

    def units(month: int, api_cost_of_month: Decimal) -> tuple[int, Decimal]:
        assert offer is not None  # noqa: S101  only called with one
        return provisioned_month(offer, traffic, month, api_cost_of_month, rate)

    return months_ahead(
        traffic, months=body.months, start=start, api=api, rented=renting, owned=owned,
        provisioned=None if offer is None else units,
    ), origin  # fmt: skip


def _notes(body: BreakEvenRequest, renting: Fleet, costs: CostOfKinds) -> Resolved:
    paid = renting.machines
    assumed = [_("GPUs are held: every hour of the month is paid.")]
    if body.self_hosted.power is not None and paid.owned is None:
        assumed.append(_("Electricity of busy GPUs is added: the price of a GPU hour is taken to leave it out."))
    if paid.billing is Billing.SCALE_TO_ZERO:
        assumed = [_("Billing is by use: usage_basis holds that bill, self_hosted that of GPUs held at this price.")]
    kinds = body.monthly if isinstance(body.monthly, list) else [body.monthly]
    if any(kind.cached_fraction for kind in kinds):
        assumed.append(_("The self-hosted prefix cache finds the same share of the prompts as the API's."))
    left_out = [_("storage, traffic out of the site and taxes")]
    if not renting.bill.fixed:
        left_out.append(_("staff"))
    if paid.billing is Billing.SCALE_TO_ZERO:
        left_out.append(_("time to start a machine from zero, which is billed too"))
    if paid.billing is Billing.SPOT:
        left_out.append(_("work lost when a spot machine is taken away"))
    return Resolved(assumptions=tuple(assumed), not_modelled=tuple(left_out), warnings=_unused(body, costs))


def _unused(body: BreakEvenRequest, costs: CostOfKinds) -> tuple[str, ...]:
    api = unused_of_a_bill(lengths_of_month(), inline=isinstance(body.api.price, InlinePricePart))
    found = unused_warnings(body.api, api, prefix="api.")
    if costs.batch_is_no_other:
        found += (_("Not used: monthly.batch_fraction; the batch channel costs the same."),)
    return found


def _only_the_api(common: dict[str, Any], traffic: Traffic, api_month_cost: Decimal, paid: Machines) -> BreakEvenAnswer:
    """The answer where the plan does not fit: nothing to compare the API with."""
    with localcontext(money.EXACT):
        per_request = (api_month_cost / traffic.requests).normalize()
    return BreakEvenAnswer.model_validate(
        common
        | {
            "feasible": False,
            "currency": paid.currency,
            "cheaper": "api",
            "api": {"cost_per_request": per_request, "cost_per_month": api_month_cost},
            "self_hosted": None,
            "usage_basis": None,
            "staircase": [],
            "crossing_requests_per_month": None,
            "always_cheaper_from_requests_per_month": None,
            "load_fraction_needed": None,
            "reason": Reason.DOES_NOT_FIT.label,
            "over_time": None,
            "what_would_change": [],
        }
    )


def _usage_label(found: BreakEvenResult) -> str:
    if found.billing is Billing.SCALE_TO_ZERO:
        return _("busy time only, which is what is billed; starts from zero come on top")
    return _("busy time only: flatters self-hosting, not for comparison with an API")


def _over_time(ahead: Ahead) -> dict[str, Any]:
    return {
        "curve": [
            {
                "month": month.month,
                "day": month.day.isoformat(),
                "requests": month.requests,
                **{way: month.costs.get(way) for way in WAYS},
                "replicas": month.replicas,
                "owned_replicas": month.owned_replicas,
                "units": month.units,
                "cheapest": month.cheapest,
            }
            for month in ahead.months
        ],
        "totals": {way: ahead.totals.get(way) for way in WAYS},
        "cheapest": ahead.cheapest,
        "crossing_month": ahead.crossing_month,
        "payback_month_against_api": ahead.payback_month_against_api,
        "payback_month_against_rent": ahead.payback_month_against_rent,
    }


def _answer(
    common: dict[str, Any],
    found: BreakEvenResult,
    ahead: Ahead,
    speed: ReplicaSpeed | None,
    turns: Sequence[Change],
) -> BreakEvenAnswer:
    needed = found.crossing.load_fraction_needed
    return BreakEvenAnswer.model_validate(
        common
        | {
            "feasible": True,
            "currency": found.currency,
            "cheaper": found.cheaper,
            "api": {"cost_per_request": found.api_cost_per_request, "cost_per_month": found.api_cost_per_month},
            "self_hosted": BreakEvenHosted.model_validate(
                found if speed is None else replace(found, rests_on=speed.basis)
            ),
            "usage_basis": {
                "label": _usage_label(found),
                "cost_per_month": found.usage_cost_per_month,
                "cost_per_request": found.usage_cost_per_request,
                "cheaper": found.cheaper_by_use,
            },
            "staircase": found.stairs,
            "crossing_requests_per_month": found.crossing.first_requests_per_month,
            "always_cheaper_from_requests_per_month": found.crossing.always_from_requests_per_month,
            "load_fraction_needed": needed if math.isfinite(needed) else None,
            "reason": found.crossing.reason,
            "over_time": _over_time(ahead),
            "what_would_change": turns,
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
    says_speed=True,
)
