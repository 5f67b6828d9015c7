"""`estimates/sizing/`: replicas and GPUs for a demand within targets and budget."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Literal

from django.utils.translation import gettext as _
from pydantic import BeforeValidator, Field

from estimator.engine.errors import InvalidInputError
from estimator.engine.explain import Step
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.options import TARGETS
from estimator.engine.sizing import Objective
from estimator.engine.specs import WorkloadMode
from estimator.estimates.answers import common_parts
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.estimates.sizing.budget import Budget
from estimator.estimates.sizing.compute import Option, ranked, size
from estimator.estimates.sizing.echo import SizingInputs
from estimator.estimates.sizing.nearest import Neighbourhood, binds, nearest_candidate, over_budget
from estimator.estimates.sizing.next_measurement import sizing_measurement
from estimator.estimates.sizing.parts import SizingAnswer, nearest_part, option_part, rejected_part
from estimator.estimates.sizing.question import CandidatesPart, Demand
from estimator.estimates.throughput.idle import idle_settings_of_speed
from estimator.estimates.throughput.setting import workload_of
from estimator.estimates.throughput.targets import binding_targets, no_gap_text, no_percentile_text
from estimator.estimates.unused import Unused, unused_in_plan, unused_warnings
from estimator.question.fields import Currency, EngineSlug, GpuSlug, Money, OnePerRow, RequestBody
from estimator.question.model import ModelRef
from estimator.question.ownership import OwnedGpus
from estimator.question.plan import DEFAULT_ENGINE, Degree, EngineSettings, Launch, Memory, PlanRequest, Precision
from estimator.question.traffic import TrafficKind
from estimator.question.workload import POWER_CAP_HELP, PowerCap, Targets, Workload
from estimator.resolvers.candidates import Candidates, Wanted, resolve_candidates
from estimator.resolvers.collect import Collector
from estimator.resolvers.facts import Facts
from estimator.resolvers.gpu_prices import GpuPrice, check_one_currency, gpu_price, offered_gpus, owned_price
from estimator.resolvers.plan import Resolved

MAX_CANDIDATES = 200


class GpuPricePart(RequestBody):
    """Price of a GPU: of its hour, or of owning it."""

    price_per_gpu_hour: Money | None = Field(
        default=None, description="Price of one GPU for an hour, exact decimal; or owned."
    )
    owned: OwnedGpus | None = Field(default=None, description="What owned GPUs cost, instead of a price of their hour.")
    currency: Currency


class SizingRequest(RequestBody):
    """Model, lengths, demand, candidates and targets."""

    model: ModelRef
    engine: EngineSlug = Field(default=DEFAULT_ENGINE, description="Engine profile of the replicas.")
    workload: Workload = Field(
        description=(
            "Lengths of a request. The load is that of `demand`: a mode, concurrency, rate or variation that says "
            "another one is refused."
        )
    )
    demand: Demand
    candidates: CandidatesPart = Field(default=CandidatesPart(), description="What to choose from.")
    memory: Memory = Field(default=Memory(), description="Overrides of the profile's memory settings.")
    engine_settings: EngineSettings = Field(
        default={}, description="Settings of each server by its engine's own names, as estimates of a plan take them."
    )
    launch: Launch = Field(default="tuned", description="tuned or default, as estimates of a plan take it.")
    power_cap_w: PowerCap | None = Field(default=None, description=POWER_CAP_HELP)
    slo: Targets | None = Field(default=None, description="Targets of a request; none when left out.")
    confidence: Annotated[float, Field(ge=0.5, le=0.99)] | None = Field(
        default=None,
        description="Chance with which every option meets all targets at once under its load, 0.5 to 0.99, in place of "
        "slo.band_side, which holds each target alone.",
    )
    objective: Literal["min_gpus", "min_cost", "max_goodput_per_gpu"] = Field(
        default="min_gpus", description="What the first option has: fewest GPUs, lowest bill, or most per GPU."
    )
    gpus_per_node: Annotated[Degree, Field(description="GPUs of one machine, count.")] = 8
    budget: Budget | None = Field(default=None, description="Limits; none when left out.")
    prices: Annotated[dict[GpuSlug, GpuPricePart], Field(max_length=50), BeforeValidator(OnePerRow("gpu"))] = Field(
        default={}, description="Prices by GPU; without one, the middle of the sellers' newest on-demand offers in USD."
    )


def answer_sizing(body: SizingRequest, asked: Asked) -> SizingAnswer:
    """The answer to a request.

    Raises:
        ResolutionError: Not exactly one demand, too many candidates, or a model that cannot be resolved.
    """
    demand = _demand(body)
    offered, body = body.candidates.gpus is None, _with_gpus(body, asked.facts)
    slo = body.slo or Targets()
    budget = _budget(body.budget)
    prices = _prices(body, asked)
    base = _base(body)
    candidates = resolve_candidates(base, asked.facts, _wanted(body), prices)
    sized = size(candidates.found, demand, slo, body.gpus_per_node, body.confidence)
    order = ranked(sized, Objective(body.objective))
    order = [o for o in order if budget.allows(o)] + [o for o in order if not budget.allows(o)]
    feasible = bool(order) and budget.allows(order[0])
    nearest = None
    if not feasible:
        around = _around(body, base)
        nearest = over_budget(budget, order) if order else nearest_candidate(sized, around, demand, slo, asked.facts)
    steps = _steps(order[0], demand) if order and asked.explain else []
    binding = None if feasible else binds(order, sized)
    resolved = _about(body, candidates, slo, prices)
    if offered:
        tried = _("GPUs not given: the %(n)s that are offered on demand in USD.") % {"n": len(_gpus(body))}
        resolved = replace(resolved, assumptions=(tried, *resolved.assumptions))
    if nearest is None and binding == "memory":
        nothing = _("Nothing near what was asked for holds one request of this length: shorten it.")
        resolved = replace(resolved, warnings=(*resolved.warnings, nothing))
    common = common_parts(resolved, catalog_revision=asked.facts.catalog_revision, steps=steps, explain=asked.explain)
    return SizingAnswer(
        **common,
        inputs=SizingInputs.of(body, candidates.found[0].plan if candidates.found else None),
        feasible=feasible,
        objective=body.objective,
        binding_constraint=binding,
        options=[option_part(option, budget) for option in order],
        next_measurement=sizing_measurement(order, demand, slo, asked.facts) if order else None,
        rejected=[rejected_part(option) for option in sized if option.served is None],
        nearest=None if nearest is None else nearest_part(nearest),
    )


def _with_gpus(body: SizingRequest, facts: Facts) -> SizingRequest:
    """The request with GPUs to try: those asked for, else as many of those offered as the limit allows, by sellers."""
    choice = body.candidates
    if choice.gpus is not None:
        return body
    most = max(MAX_CANDIDATES // (len(set(choice.tp)) * len(set(choice.precisions or (None,)))), 1)
    gpus = sorted(offered_gpus(facts)[:most])
    if not gpus:
        detail = _("The catalog holds no offer of a GPU: give gpus.")
        raise ResolutionError([Fault(path=("candidates", "gpus"), code="required", detail=detail)])
    return body.model_copy(update={"candidates": choice.model_copy(update={"gpus": gpus})})


def _gpus(body: SizingRequest) -> list[str]:
    """The GPUs to try."""
    return body.candidates.gpus or []


def _demand(body: SizingRequest) -> Demand:
    part = body.demand
    kinds = [name for name in ("concurrency", "users", "requests_per_s_peak") if getattr(part, name) is not None]
    if len(kinds) != 1:
        code: Literal["required", "ambiguous"] = "ambiguous" if kinds else "required"
        detail = _("Give exactly one of concurrency, users and requests_per_s_peak.")
        raise ResolutionError([Fault(path=("demand",), code=code, detail=detail)])
    mean, peak = part.requests_per_s_mean, part.requests_per_s_peak
    if mean is not None and (peak is None or mean > peak):
        detail = _("The mean rate goes with a peak rate and is at most that.")
        raise ResolutionError([Fault(path=("demand", "requests_per_s_mean"), code="invalid", detail=detail)])
    if part.think_time_s and part.users is None:
        detail = _("Only users pause to think: give users.")
        raise ResolutionError([Fault(path=("demand", "think_time_s"), code="not_supported", detail=detail)])
    if part.burstiness_cv != 1 and peak is None:
        detail = _("Only a rate of arrivals is bursty: give requests_per_s_peak.")
        raise ResolutionError([Fault(path=("demand", "burstiness_cv"), code="not_supported", detail=detail)])
    return part


def _budget(asked: Budget | None) -> Budget:
    if asked is None:
        return Budget()
    if (asked.cost_per_month is None) != (asked.currency is None):
        detail = _("A limit of money needs its currency.")
        raise ResolutionError([Fault(path=("budget", "currency"), code="required", detail=detail)])
    return asked


def _base(body: SizingRequest) -> PlanRequest:
    """What all candidates share; each puts its own GPU, weights and degree in."""
    return PlanRequest(
        model=body.model,
        gpu=_gpus(body)[0],
        engine=body.engine,
        precision=Precision(kv_cache=body.candidates.kv_cache),
        memory=body.memory,
        engine_settings=body.engine_settings,
        launch=body.launch,
        power_cap_w=body.power_cap_w,
        workload=_lengths(body),
    )


def _lengths(body: SizingRequest) -> Workload:
    """The lengths of a request; the load is that of `demand`, and a workload that says another one is refused.

    Raises:
        ResolutionError: Every field of the workload that speaks of another load.
    """
    given, demand, found = body.workload, body.demand, Collector()
    open_loop = demand.requests_per_s_peak is not None
    mode = WorkloadMode.OPEN_LOOP if open_loop else WorkloadMode.CLOSED_LOOP
    said = {
        "mode": (given.mode, mode, WorkloadMode.CLOSED_LOOP),
        "concurrency": (given.concurrency, demand.concurrency, None),
        "requests_per_s": (given.requests_per_s, demand.requests_per_s_peak, None),
        "burstiness_cv": (given.burstiness_cv, demand.burstiness_cv, 1.0),
        "batch_sizes": (given.batch_sizes, None, None),
    }
    for name, (value, of_demand, default) in said.items():
        if value not in (default, of_demand):
            detail = _("The load of a sizing is that of demand: say it there, or leave it out.")
            found.add(("workload", name), "not_supported", detail)
    if given.traffic.kind is not TrafficKind.STEADY:
        detail = _("A demand is that of a service; throughput and verdict take a benchmark's requests.")
        found.add(("workload", "traffic", "kind"), "not_supported", detail)
    found.raise_if_any()
    lengths = ("input_tokens", "output_tokens", "context_tokens", "prefix_cache_hit_rate", "traffic")
    return Workload(concurrency=1, **{name: getattr(given, name) for name in lengths})


def _wanted(body: SizingRequest) -> list[Wanted]:
    choice = body.candidates
    formats: Sequence[str | None] = choice.precisions or (None,)
    wanted = list(dict.fromkeys((g, p, tp) for g in _gpus(body) for p in formats for tp in choice.tp))
    if len(wanted) > MAX_CANDIDATES:
        detail = _("At most %(n)s candidates.") % {"n": MAX_CANDIDATES}
        raise ResolutionError([Fault(path=("candidates",), code="out_of_range", detail=detail)])
    return wanted


def _prices(body: SizingRequest, asked: Asked) -> dict[str, GpuPrice | None]:
    """Price of each candidate GPU, all comparable.

    Raises:
        ResolutionError: Prices in several currencies to rank by, or a budget in another than a price.
    """
    stated = {gpu: _stated(gpu, part) for gpu, part in body.prices.items()}
    prices = {gpu: gpu_price(gpu, stated, asked.facts) for gpu in _gpus(body)}
    check_one_currency(
        prices.values(),
        ranked_by_cost=body.objective == "min_cost",
        budget=body.budget.currency if body.budget is not None else None,
    )
    return prices


def _stated(gpu: str, part: GpuPricePart) -> GpuPrice:
    if (part.owned is None) == (part.price_per_gpu_hour is None):
        detail = _("Give exactly one of price_per_gpu_hour, owned.")
        raise ResolutionError([Fault(path=("prices", gpu, "owned"), code="ambiguous", detail=detail)])
    if part.owned is None:
        return GpuPrice(amount=Decimal(part.price_per_gpu_hour or "0"), currency=part.currency, source="request")
    try:
        return owned_price(part.owned, part.currency)
    except InvalidInputError as wrong:
        path = ("prices", gpu, "owned", wrong.field or "capex")
        raise ResolutionError([Fault(path=path, code="invalid", detail=str(wrong))]) from None


def _around(body: SizingRequest, base: PlanRequest) -> Neighbourhood:
    choice = body.candidates
    return Neighbourhood(
        base=base,
        gpus=tuple(dict.fromkeys(_gpus(body))),
        precisions=tuple(dict.fromkeys(choice.precisions or (None,))),
        tp=tuple(sorted(set(choice.tp))),
        gpus_per_node=body.gpus_per_node,
        confidence=body.confidence,
    )


def _unused(body: SizingRequest) -> Iterator[Unused]:
    """Which first token, or which side of the band, was asked for where no target is held against it."""
    asked = body.slo is not None and any(getattr(body.slo, name) is not None for name in TARGETS)
    if body.confidence is not None and not asked:
        yield "confidence", _("a target of slo is needed with it")
    elif body.confidence is not None:
        yield "slo.band_side", _("confidence is asked for in its place")
    why = None
    if body.demand.requests_per_s_peak is not None:
        why = _("of arrivals the client's first tokens at slo.percentile are held against the targets")
    elif body.slo is None or body.slo.ttft_s is None:
        why = _("slo.ttft_s is needed with it")
    if why is not None:
        yield from ((f"workload.traffic.{name}", why) for name in ("statistic", "ttft_at"))


def _about(
    body: SizingRequest, candidates: Candidates, slo: Targets, prices: Mapping[str, GpuPrice | None]
) -> Resolved:
    plans = [candidate.plan for candidate in candidates.found]
    assumptions = [text for plan in plans for text in plan.assumptions]
    warnings = [text for plan in plans for text in plan.warnings]
    warnings += [_("Left out: %(what)s") % {"what": text} for text in candidates.left_out]
    warnings += [_("No price of %(gpu)s is known.") % {"gpu": gpu} for gpu, price in prices.items() if price is None]
    warnings += [
        _("Not used: prices.%(gpu)s; it is no candidate.") % {"gpu": gpu} for gpu in body.prices if gpu not in prices
    ]
    if plans:
        warnings += idle_settings_of_speed(plans[0])
        warnings += unused_warnings(body, (*_unused(body), *unused_in_plan(plans[0])))
    if plans and binding_targets(slo, workload_of(plans[0])) != slo:
        warnings.append(no_gap_text())
    if slo.percentile is not None and body.demand.requests_per_s_peak is None:
        warnings.append(no_percentile_text())
    if body.demand.requests_per_s_peak is not None and not any(getattr(slo, name) is not None for name in TARGETS):
        assumptions.append(_("Without targets 95 % of the highest stable rate is taken, however bursty the arrivals."))
    if body.confidence is not None and slo.model_dump(include=set(TARGETS), exclude_none=True):
        chance = _("A replica under its capacity meets all targets at once with a chance of %(chance)g and more.")
        assumptions.append(chance % {"chance": body.confidence})
    if body.demand.headroom == 0:
        assumptions.append(_("No headroom: give one for growth and failures."))
    return Resolved(
        assumptions=tuple(dict.fromkeys(assumptions)),
        warnings=tuple(dict.fromkeys(warnings)),
        not_modelled=(_("uneven routing over replicas"), _("time to start replicas")),
        provenance=tuple(price.provenance(f"prices.{gpu}") for gpu, price in prices.items() if price is not None),
    )


def _steps(option: Option, demand: Demand) -> list[Step]:
    served = option.served
    if served is None:
        return []
    per = demand.carried_by(served.capacity)
    return [
        Step.worked(
            name="replicas",
            formula="max(ceil(demand · (1 + headroom) / capacity_per_replica), 1)",
            values={"demand": demand.wanted, "headroom": demand.headroom, "capacity_per_replica": per},
            value=served.fleet.replicas,
            unit="1",
            source="replicas are whole",
        ),
        Step.worked(
            name="gpus",
            formula="replicas · gpus_per_replica",
            values={"replicas": served.fleet.replicas, "gpus_per_replica": served.fleet.gpus_per_replica},
            value=served.fleet.gpus,
            unit="1",
            source="definition",
        ),
    ]


ENDPOINT = Endpoint(
    slug="sizing",
    summary="Replicas and GPUs for a demand within targets and budget",
    description=(
        "Sizes every candidate GPU, precision and tensor parallel degree: the largest load of one replica that its "
        "memory holds and that meets the targets, then whole replicas inside node boundaries. Answers what binds each "
        "option; when nothing is feasible, why, and the nearest that would be. An infeasible demand is 200."
    ),
    request=SizingRequest,
    response=SizingAnswer,
    answer=answer_sizing,
    says_speed=True,
)
