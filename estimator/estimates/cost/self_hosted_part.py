"""The `self_hosted` part of money requests: GPUs, their price, and what they produce."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar, cast

from django.utils.translation import gettext as _
from pydantic import Field

from estimator.engine.codes import Reason
from estimator.engine.cost import money
from estimator.engine.cost.ownership import owned_month
from estimator.engine.cost.self_hosted import Allocation, Billing, Yield
from estimator.engine.errors import EngineError, MissingFigureError
from estimator.engine.faults import Fault, ResolutionError
from estimator.estimates.cost.ownership_part import RENTED, OwnershipPart, owned_by
from estimator.estimates.cost.power_use import PowerUse
from estimator.estimates.cost.price_part import under
from estimator.estimates.cost.self_hosted import Machines
from estimator.estimates.throughput.idle import with_idle_settings
from estimator.estimates.throughput.replica import ReplicaSpeed, replica_speed
from estimator.estimates.unused import (
    Unused,
    unused_beside_a_rate,
    unused_by_money,
    unused_in_plan,
    unused_warnings,
)
from estimator.question.acting import Needs
from estimator.question.fields import SMALLEST, Count, Currency, Money, OfferSlug, PositiveRate
from estimator.question.gpu import GpuRef
from estimator.question.model import ModelRef
from estimator.resolvers.facts import Facts
from estimator.resolvers.gpu_prices import OFFERS_CURRENCY, GpuPrice, default_price
from estimator.resolvers.plan import Plan, Provenance, Resolved
from estimator.resolvers.resolve import resolve_plan

ValueT = TypeVar("ValueT")
_BY_RATIO = Needs("only allocation ratio takes it", lambda part: part.allocation == "ratio")
_BILLING_OF_MARKET = {"on-demand": "on_demand", "spot": "spot", "reserved": "reserved", "serverless": "scale_to_zero"}


class MachinesPart(OwnershipPart):
    """Price of the GPUs, and either their tokens per second or the plan to compute it from."""

    # Optional, never null: a union told apart by key cannot be joined with None.
    model: ModelRef = Field(
        default=cast(Any, None), description="Model to serve; together with gpu, engine and workload."
    )
    gpu: GpuRef = Field(default=cast(Any, None), description="GPU of the replicas.")
    price_per_gpu_hour: Money | None = Field(
        default=None, description="Price of one GPU for an hour, exact decimal in `currency`."
    )
    currency: Currency | None = Field(default=None, description="ISO 4217 code of the price; needed with it.")
    offer: OfferSlug | None = Field(default=None, description="Slug of a seen offer (gpu-offers/) instead of a price.")
    gpus: Count | None = Field(
        default=None, description="GPUs paid for, whole ones; those of one replica when not given."
    )
    billing: Annotated[Literal["reserved", "on_demand", "spot", "scale_to_zero"] | None, RENTED] = Field(
        default=None,
        description=(
            "reserved, on_demand and spot bill every hour the GPUs are held; scale_to_zero bills busy time only. The "
            "offer's market, else reserved, when not given."
        ),
    )
    load_fraction: Annotated[float, Field(ge=SMALLEST, le=1)] = Field(
        default=1.0, description="Share of the time with work, above 0 to 1; idle time of held GPUs is paid."
    )
    tokens_per_s_output: PositiveRate | None = Field(
        default=None, description="Output tokens per second of all GPUs together at full load, where it is known."
    )


class SelfHostedPart(MachinesPart):
    """Self-hosting, with the way cost is split over tokens."""

    allocation: Literal["all_to_output", "by_time", "ratio"] = Field(
        default="all_to_output",
        description=(
            "all_to_output: answers carry the whole cost; by_time: prompts carry the share of time spent on prefill; "
            "ratio: an output token costs output_input_cost_ratio prompt tokens."
        ),
    )
    output_input_cost_ratio: Annotated[Annotated[float, Field(ge=SMALLEST, le=1e6)] | None, _BY_RATIO] = Field(
        default=None, description="Cost of an output token over that of a fresh input token; for allocation ratio."
    )


def in_part(prefix: str, run: Callable[[], ValueT]) -> ValueT:
    """Run, putting the faults of a part below its name in the body.

    Raises:
        ResolutionError: with longer paths.
        EngineError: with a longer field.
    """
    try:
        return run()
    except ResolutionError as error:
        raise under(prefix, error) from None
    except EngineError as error:
        error.field = f"{prefix}.{error.field}" if error.field else prefix
        raise


def resolved_plan(part: MachinesPart, facts: Facts, *, prefix: str = "self_hosted.") -> Plan | None:
    """The plan of the part, None when the rate is given instead; a GPU may stand beside a rate for its power.

    Raises:
        ResolutionError: Half a plan, or faults of its parts.
    """
    if part.model is None and (part.gpu is None or part.tokens_per_s_output is not None):
        return None
    missing = [name for name in ("model", "gpu") if getattr(part, name) is None]
    if part.workload is None and part.tokens_per_s_output is None:
        missing.append("workload")
    if missing:
        raise ResolutionError(
            [Fault(path=(name,), code="required", detail=_("Needed to compute the speed.")) for name in missing]
        )
    return with_idle_settings(resolve_plan(part, facts), prefix)


def speed_and_yield(part: MachinesPart, plan: Plan | None) -> tuple[ReplicaSpeed | None, Yield | None, int]:
    """The replica's speed, what all GPUs produce (None where the plan does not fit), and how many they are.

    Raises:
        ResolutionError: No rate and no plan, or GPUs that do not make whole replicas.
        MissingFigureError: The speed of this plan cannot be said.
    """
    if part.tokens_per_s_output is not None:
        workload = part.workload
        made = Yield(
            tokens_per_s_output=part.tokens_per_s_output,
            output_tokens_per_request=workload.output_tokens if workload else None,
            input_tokens_per_request=workload.input_tokens if workload else None,
            cached_fraction=workload.prefix_cache_hit_rate if workload else 0.0,
        )
        return None, made, part.gpus or (plan.parallelism.gpus if plan else 1)
    if plan is None or plan.workload is None:
        detail = _("Give tokens_per_s_output, or model, gpu, engine and workload.")
        raise ResolutionError([Fault(path=("tokens_per_s_output",), code="required", detail=detail)])
    gpus = part.gpus or plan.parallelism.gpus
    replicas, rest = divmod(gpus, plan.parallelism.gpus)
    if rest or not replicas:
        detail = _("A replica takes %(n)s GPUs: give a multiple.") % {"n": plan.parallelism.gpus}
        raise ResolutionError([Fault(path=("gpus",), code="invalid", detail=detail)])
    speed = replica_speed(plan)
    if speed.reason == Reason.DOES_NOT_FIT.label:
        return speed, None, gpus
    if speed.tokens_per_s_output is None:
        raise MissingFigureError(
            _("The speed of this plan cannot be said: %(reason)s.") % {"reason": speed.reason or _("unknown")},
            field="workload",
        )
    made = Yield(
        tokens_per_s_output=speed.tokens_per_s_output * replicas,
        # The speed model counts the token that a prompt's pass yields, also where none is asked for.
        output_tokens_per_request=max(plan.workload.output_tokens, 1),
        input_tokens_per_request=plan.workload.input_tokens,
        cached_fraction=plan.workload.prefix_cache_hit_rate,
        prefill_time_share=speed.prefill_time_share,
    )
    return speed, made, gpus


def band_of(speed: ReplicaSpeed | None, made: Yield) -> tuple[float, float] | None:
    """Slow and fast end of the rate of all GPUs; None where the rate was given."""
    if speed is None or not speed.tokens_per_s_output or not speed.tokens_per_s_output_low:
        return None
    replicas = made.tokens_per_s_output / speed.tokens_per_s_output
    return speed.tokens_per_s_output_low * replicas, (speed.tokens_per_s_output_high or 0.0) * replicas


def machines(part: MachinesPart, facts: Facts, gpus: int, power: PowerUse | None = None) -> tuple[Machines, Resolved]:
    """What is paid for, and where the price is from.

    Args:
        part: the machines as asked for.
        facts: where offers and prices come from.
        gpus: all of them.
        power: what one of them draws; the month of owned machines holds its electricity.

    Raises:
        ResolutionError: No price, a price without currency, a price and an offer, or an offer in another currency.
    """
    ways = ("price_per_gpu_hour", "price_per_node_hour", "offer", "capex")
    given = [name for name in ways if getattr(part, name) is not None]
    if len(given) > 1:
        detail = _("Give exactly one of %(ways)s.") % {"ways": ", ".join(ways)}
        raise ResolutionError([Fault(path=(given[-1],), code="ambiguous", detail=detail)])
    if part.capex is not None:
        return _owned(part, gpus, power)
    if part.offer is not None:
        offer = facts.row("offer", part.offer)
        if part.currency not in (None, offer["currency"]):
            detail = _("The offer is in %(currency)s; nothing is converted.") % {"currency": offer["currency"]}
            raise ResolutionError([Fault(path=("currency",), code="ambiguous", detail=detail)])
        return _from_offer(part, offer, gpus)
    if not given and (found := _default(part, facts)) is not None:
        return _rented(part, found.amount, found.currency, gpus, part.billing), Resolved(
            assumptions=(_("Price not given: %(source)s.") % {"source": found.source},),
            provenance=(found.provenance("self_hosted.price_per_gpu_hour"),),
        )
    missing = [] if given else ["price_per_gpu_hour"]
    missing += [] if part.currency is not None else ["currency"]
    if missing:
        detail = _("Give price_per_gpu_hour with its currency, capex, or offer.")
        raise ResolutionError([Fault(path=(name,), code="required", detail=detail) for name in missing])
    priced = _rented(part, Decimal(part.price_per_gpu_hour or "0"), part.currency or "", gpus, part.billing)
    if part.price_per_node_hour is not None:
        nodes = -(-gpus // part.gpus_per_node)
        per_gpu = money.priced(Decimal(1), Decimal(part.price_per_node_hour), part.gpus_per_node)
        priced = replace(priced, price_per_gpu_hour=per_gpu, billed_gpus=nodes * part.gpus_per_node)
    amount = money.money_text(priced.price_per_gpu_hour)
    return priced, Resolved(provenance=(_price_entry(amount, priced.currency, "request", None),))


def _default(part: MachinesPart, facts: Facts) -> GpuPrice | None:
    """The default price of the GPU, in the currency asked for; None where there is none."""
    if not isinstance(part.gpu, str):
        return None
    return default_price(part.gpu, facts, part.currency or OFFERS_CURRENCY)


def _rented(part: MachinesPart, price: Decimal, currency: str, gpus: int, billing: str | None) -> Machines:
    return Machines(
        price_per_gpu_hour=price,
        currency=currency,
        gpus=gpus,
        billing=Billing(billing or "reserved"),
        load_fraction=part.load_fraction,
        hours_per_month=Decimal(repr(part.hours_per_month)),
        extra_per_month=part.beside_rent(),
    )


def _owned(part: MachinesPart, gpus: int, power: PowerUse | None) -> tuple[Machines, Resolved]:
    """Owned machines with the bill of their month.

    Raises:
        ResolutionError: No currency, or electricity in another one.
    """
    if part.currency is None:
        raise ResolutionError([Fault(path=("currency",), code="required", detail=_("Needed with capex."))])
    if part.power is not None and part.power.currency != part.currency:
        detail = _("Electricity and machines are added up: give both in one currency.")
        raise ResolutionError([Fault(path=("power", "currency"), code="ambiguous", detail=detail)])
    watts = part.watts_per_gpu if power is None else power.mean(part.load_fraction).mid
    owned, assumed = owned_by(part, gpus, watts)
    month = owned_month(owned)
    priced = replace(_rented(part, month.per_gpu_hour, part.currency, gpus, part.billing), owned=owned, month=month)
    entry = _price_entry(money.money_text(month.per_gpu_hour), part.currency, "capex of the request", None)
    return priced, Resolved(provenance=(entry,), assumptions=assumed)


def at_arrivals(part: MachinesPart, paid: Machines, speed: ReplicaSpeed | None) -> Machines:
    """The machines at the load that an open loop's arrivals make of them; as asked for every other workload.

    Raises:
        ResolutionError: A load beside a rate of arrivals, which is one already.
    """
    if speed is None or speed.load_share >= 1.0:
        return paid
    if "load_fraction" in part.model_fields_set:
        detail = _("An open loop's rate is the load already: leave load_fraction out.")
        raise ResolutionError([Fault(path=("load_fraction",), code="ambiguous", detail=detail)])
    return replace(paid, load_fraction=speed.load_share)


def _price_entry(amount: str, currency: str, source: str, date: str | None) -> Provenance:
    return Provenance(
        what="self_hosted.price_per_gpu_hour", value=amount, unit=f"{currency}/GPU/h", source=source, date=date
    )


def _from_offer(part: MachinesPart, offer: Any, gpus: int) -> tuple[Machines, Resolved]:
    market = part.billing or _BILLING_OF_MARKET.get(offer["market"], "reserved")
    priced = _rented(part, Decimal(offer["price_per_gpu_hour"]), offer["currency"], gpus, market)
    warnings = []
    if gpus % offer["gpu_count"]:
        whole = -(-gpus // offer["gpu_count"]) * offer["gpu_count"]
        priced = replace(priced, billed_gpus=whole)
        warnings.append(
            _("The offer is for whole instances of %(n)s GPUs; %(gpus)s GPUs leave one partly unused, which is paid.")
            % {"n": offer["gpu_count"], "gpus": gpus}
        )
    gpu_slug = part.gpu if isinstance(part.gpu, str) else None
    if gpu_slug and offer["gpu"] and gpu_slug != offer["gpu"]:
        warnings.append(
            _("The offer is for %(offered)s, not for %(gpu)s.") % {"offered": offer["gpu"], "gpu": gpu_slug}
        )
    entry = _price_entry(
        offer["price_per_gpu_hour"], offer["currency"], f"{offer['source']} ({offer['slug']})", offer["date_seen"]
    )
    return priced, Resolved(provenance=(entry,), warnings=tuple(warnings))


def allocation_of(part: SelfHostedPart) -> Allocation:
    """The allocation as the engine takes it."""
    return Allocation(part.allocation)


def unused_machines(
    part: SelfHostedPart, plan: Plan | None, rules: Iterable[Unused] = (), *, prefix: str = "self_hosted."
) -> tuple[str, ...]:
    """Warnings of what was given and does not change the cost.

    Args:
        part: the machines as asked for.
        plan: their plan, where there is one.
        rules: what else is not used here, with the reason.
        prefix: path of the part in the request, with its last point.
    """
    found: list[Unused] = list(rules)
    if part.tokens_per_s_output is None:
        found += unused_by_money(part.workload)
    else:
        found += unused_beside_a_rate(() if part.model is None else ("parallelism",))
        if part.power is None or part.watts_per_gpu is not None:
            found.append(("gpu", _("tokens_per_s_output is given")))
        if part.workload is not None and part.workload.output_tokens is None:
            found.append(("workload.input_tokens", _("workload.output_tokens is needed with it")))
    if part.power is None or part.watts_per_gpu is not None:
        found.append(("gpu.tdp_w", _("power without watts_per_gpu takes it")))
    if plan is not None:
        found += unused_in_plan(plan)
    return unused_warnings(part, found, prefix=prefix)
