"""`estimates/sizing/`: replicas and GPUs for a demand within targets and budget."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Literal, cast, get_args

from django.utils.translation import gettext as _
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from estimator.api.answers import BASIS_HELP, Amount, Answer, Basis, ResponsePart, common_parts
from estimator.api.endpoint import Asked, Endpoint
from estimator.api.examples import WorkedExample
from estimator.api.fields import SMALLEST, Count, Currency, EngineSlug, GpuSlug, Money, OnePerRow, RequestBody
from estimator.api.schemas.formats import CacheFormatName, WeightFormatName
from estimator.api.schemas.load_parts import SloPart, WorkloadPart
from estimator.api.schemas.model_part import ModelPart
from estimator.api.schemas.plan import Degree, MemoryPart, ParallelismPart, PlanRequest, PrecisionPart
from estimator.api.schemas.sizing_echo import SizingInputs
from estimator.api.schemas.sizing_nearest import SizingNearest, nearest_of, ruled_out, who
from estimator.engine.errors import EngineError
from estimator.engine.explain import Step
from estimator.engine.sizing import Objective
from estimator.resolvers.choices import DEFAULT_ENGINE
from estimator.resolvers.facts import Facts
from estimator.resolvers.issues import Issue, ResolutionError
from estimator.resolvers.plan import Provenance, Resolved
from estimator.services.sizing import Budget, Candidate, Demand, Option, Price, ranked, size

MAX_CANDIDATES = 200


WEIGHT_FORMATS = get_args(WeightFormatName)


def _weight_format(value: str) -> str:
    if value not in WEIGHT_FORMATS:
        expected = ", ".join(f"'{name}'" for name in WEIGHT_FORMATS)
        raise PydanticCustomError("literal_error", "one of {expected}", {"expected": expected})
    return value


# Checked by hand: a second field of the same choices would make the schema name them twice.
Precision = Annotated[str, Field(max_length=20), AfterValidator(_weight_format)]


class DemandPart(RequestBody):
    """What has to be served: a concurrency, users with a think time, or a peak rate."""

    concurrency: Annotated[float, Field(ge=SMALLEST, le=1e9)] | None = Field(
        default=None, description="Requests in flight at the peak, count."
    )
    users: Annotated[float, Field(ge=SMALLEST, le=1e9)] | None = Field(
        default=None, description="Users at the peak, count."
    )
    think_time_s: Annotated[float, Field(ge=0, le=1e7)] = Field(
        default=0.0, description="A user's pause between an answer and the next request, seconds."
    )
    requests_per_s_peak: Annotated[float, Field(ge=SMALLEST, le=1e9)] | None = Field(
        default=None, description="Arrivals at the peak, requests/s."
    )
    requests_per_s_mean: Annotated[float, Field(ge=SMALLEST, le=1e9)] | None = Field(
        default=None, description="Mean arrivals, requests/s; answers the replicas a mean hour needs."
    )
    burstiness_cv: Annotated[float, Field(ge=0, le=100)] = Field(
        default=1.0, description="Coefficient of variation of the times between arrivals; 1 is Poisson."
    )
    headroom: Annotated[float, Field(ge=0, le=10)] = Field(
        default=0.0, description="Share added to the demand: 0.2 sizes for 20 % more."
    )


class CandidatesPart(RequestBody):
    """What to choose from; every combination is sized."""

    gpus: Annotated[list[GpuSlug], Field(min_length=1, max_length=50)] = Field(description="GPUs of the catalog.")
    precisions: Annotated[list[Precision], Field(min_length=1, max_length=10)] | None = Field(
        default=None,
        description=(
            f"Formats of the weights: {', '.join(WEIGHT_FORMATS)}; when left out that of the model's own files, else "
            "bf16."
        ),
    )
    tp: Annotated[list[Degree], Field(min_length=1, max_length=10)] = Field(
        default=[1, 2, 4, 8], description="Tensor parallel degrees; those that do not divide the heads are left out."
    )
    kv_cache: CacheFormatName = Field(default="bf16", description="Format of the KV cache.")


class GpuPricePart(RequestBody):
    """Price of a GPU."""

    price_per_gpu_hour: Money = Field(description="Price of one GPU for an hour, exact decimal.")
    currency: Currency


class BudgetPart(RequestBody):
    """Limits of the whole fleet."""

    gpus: Count | None = Field(default=None, description="Most GPUs, count.")
    cost_per_month: Money | None = Field(default=None, description="Most money for 730 h, exact decimal.")
    currency: Currency | None = Field(default=None, description="Currency of the limit.")


class SizingRequest(RequestBody):
    """Model, lengths, demand, candidates and targets."""

    model: ModelPart
    engine: EngineSlug = Field(default=DEFAULT_ENGINE, description="Engine profile of the replicas.")
    workload: WorkloadPart = Field(description="Lengths of a request; the load is that of `demand`.")
    demand: DemandPart
    candidates: CandidatesPart
    memory: MemoryPart = Field(default=MemoryPart(), description="Overrides of the profile's memory settings.")
    slo: SloPart | None = Field(default=None, description="Targets of a request; none when left out.")
    objective: Literal["min_gpus", "min_cost", "max_goodput_per_gpu"] = Field(
        default="min_gpus", description="What the first option has: fewest GPUs, lowest bill, or most per GPU."
    )
    gpus_per_node: Annotated[Degree, Field(description="GPUs of one machine, count.")] = 8
    budget: BudgetPart | None = Field(default=None, description="Limits; none when left out.")
    prices: Annotated[dict[GpuSlug, GpuPricePart], Field(max_length=50), BeforeValidator(OnePerRow("gpu"))] = Field(
        default={}, description="Prices by GPU; without one, the median of the catalog's on-demand offers in USD."
    )


class SizingCapacity(ResponsePart):
    """What one replica, or all of them, can carry within memory and targets."""

    concurrency: int | None = Field(description="Requests in flight of one replica, count.")
    requests_per_s: float | None = Field(description="Requests per second of one replica.")
    users: float | None = Field(description="Users of one replica with their think time; null without users.")
    max_sequences: int | None = Field(
        description="Most requests that a replica runs at once, count: max_sequences of throughput."
    )
    full_length_sequences: int | None = Field(
        description="Requests that the KV cache holds with their whole answers, count: max_sequences of memory-fit."
    )
    total: float = Field(description="Capacity of all replicas in the unit of the demand.")


class SizingOption(ResponsePart):
    """One candidate, sized."""

    gpu: str = Field(description="GPU.")
    precision: str = Field(description="Format of the weights.")
    tp: int = Field(description="Tensor parallel degree.")
    basis: Basis = Field(description=BASIS_HELP)
    replicas: int = Field(description="Copies of the model, count.")
    gpus_per_replica: int = Field(description="GPUs of one replica, count.")
    gpus: int = Field(description="replicas · gpus_per_replica, count.")
    nodes: int = Field(description="Machines, no replica straddling two unless larger than one, count.")
    gpus_in_nodes: int = Field(description="GPUs of those machines, idle ones included, count.")
    mean_replicas: int | None = Field(description="Replicas the mean rate would need; null without one.")
    binding_constraint: str = Field(
        description="memory, max_num_seqs, ttft, tpot, e2e or rate: what ends a replica's capacity."
    )
    capacity: SizingCapacity
    goodput_requests_per_s_per_gpu: float = Field(description="Requests per second within targets, per GPU.")
    within_budget: bool = Field(description="Whether it stays within the budget.")
    currency: str | None = Field(description="ISO 4217 code of the costs; null without a price.")
    cost_per_hour: Amount | None = Field(description="Price of all GPUs for an hour; null without a price.")
    cost_per_month: Amount | None = Field(description="Price of all GPUs for 730 h; null without a price.")


class SizingRejected(ResponsePart):
    """A candidate that serves nothing, and why."""

    gpu: str = Field(description="GPU.")
    precision: str = Field(description="Format of the weights.")
    tp: int = Field(description="Tensor parallel degree.")
    reason: str = Field(description="does_not_fit, targets_not_met, tensor_parallel_crosses_node, not_supported …")
    ttft_s: float | None = Field(description="TTFT it reaches with one request in flight, seconds; null if unknown.")
    tpot_s: float | None = Field(description="TPOT it reaches with one request in flight, seconds; null if unknown.")


class SizingAnswer(Answer):
    """Options, best first by the objective."""

    inputs: SizingInputs
    feasible: bool = Field(description="Whether an option meets targets and budget.")
    objective: str = Field(description="What the options are ranked by.")
    binding_constraint: str | None = Field(description="What rules everything out; null when feasible.")
    options: list[SizingOption] = Field(description="Candidates that serve the demand; those within budget first.")
    rejected: list[SizingRejected] = Field(description="Candidates that serve nothing.")
    nearest: SizingNearest | None = Field(description="The nearest that would be feasible; null when feasible.")


def answer_sizing(body: SizingRequest, asked: Asked) -> SizingAnswer:
    """The answer to a request.

    Raises:
        ResolutionError: Not exactly one demand, too many candidates, or a model that cannot be resolved.
    """
    demand = _demand(body)
    slo = (body.slo or SloPart()).service_level()
    candidates, resolved = _candidates(body, asked.facts)
    sized = [size(candidate, demand, slo, body.gpus_per_node) for candidate in candidates]
    budget = _budget(body.budget)
    order = ranked(sized, Objective(body.objective))
    order = [o for o in order if budget.allows(o)] + [o for o in order if not budget.allows(o)]
    feasible = bool(order) and budget.allows(order[0])
    steps = _steps(order[0], demand) if order and asked.explain else []
    common = common_parts(resolved, catalog_revision=asked.facts.catalog_revision, steps=steps, explain=asked.explain)
    return SizingAnswer(
        **common,
        inputs=SizingInputs.of(body, candidates[0].plan if candidates else None),
        feasible=feasible,
        objective=body.objective,
        binding_constraint=None if feasible else ruled_out(order, sized),
        options=[_option(option, budget) for option in order],
        rejected=[_rejected(option) for option in sized if option.fleet is None],
        nearest=None if feasible else nearest_of(order, sized, slo, asked.facts),
    )


def _demand(body: SizingRequest) -> Demand:
    part = body.demand
    kinds = [name for name in ("concurrency", "users", "requests_per_s_peak") if getattr(part, name) is not None]
    if len(kinds) != 1:
        code: Literal["required", "ambiguous"] = "ambiguous" if kinds else "required"
        detail = _("Give exactly one of concurrency, users and requests_per_s_peak.")
        raise ResolutionError([Issue(path=("demand",), code=code, detail=detail)])
    mean, peak = part.requests_per_s_mean, part.requests_per_s_peak
    if mean is not None and (peak is None or mean > peak):
        detail = _("The mean rate goes with a peak rate and is at most that.")
        raise ResolutionError([Issue(path=("demand", "requests_per_s_mean"), code="invalid", detail=detail)])
    return Demand(**dict(part))


def _budget(part: BudgetPart | None) -> Budget:
    if part is None:
        return Budget()
    if (part.cost_per_month is None) != (part.currency is None):
        detail = _("A limit of money needs its currency.")
        raise ResolutionError([Issue(path=("budget", "currency"), code="required", detail=detail)])
    limit = None if part.cost_per_month is None else Decimal(part.cost_per_month)
    return Budget(gpus=part.gpus, cost_per_month=limit, currency=part.currency)


def _candidates(body: SizingRequest, facts: Facts) -> tuple[list[Candidate], Resolved]:
    choice = body.candidates
    formats: Sequence[str | None] = choice.precisions or (None,)
    wanted = list(dict.fromkeys((g, p, tp) for g in choice.gpus for p in formats for tp in choice.tp))
    if len(wanted) > MAX_CANDIDATES:
        detail = _("At most %(n)s candidates.") % {"n": MAX_CANDIDATES}
        raise ResolutionError([Issue(path=("candidates",), code="out_of_range", detail=detail)])
    found, left_out, faults = [], [], None
    # The load is that of the demand: a concurrency of the workload would only be an assumption too many.
    lengths = body.workload.model_copy(update={"concurrency": body.workload.concurrency or 1})
    prices = {gpu: _price(body, gpu, facts) for gpu in body.candidates.gpus}
    _one_currency(body, prices)
    plans = []
    for gpu, precision, tp in wanted:
        request = PlanRequest(
            model=body.model,
            gpu=gpu,
            engine=body.engine,
            parallelism=ParallelismPart(tp=tp),
            precision=PrecisionPart(
                weights=cast(WeightFormatName | None, precision), kv_cache=body.candidates.kv_cache
            ),
            memory=body.memory,
            workload=lengths,
        )
        try:
            plan = request.plan(facts)
        except ResolutionError as error:
            faults = faults or ResolutionError([_in_candidates(issue) for issue in error.issues])
            left_out.append(f"{gpu}{f' {precision}' if precision else ''} tp {tp}: {error.issues[0].detail}")
            continue
        except EngineError as error:
            left_out.append(f"{gpu}{f' {precision}' if precision else ''} tp {tp}: {error}")
            continue
        plans.append(plan)
        found.append(Candidate(plan=plan, gpu=gpu, precision=plan.precision.weights, tp=tp, price=prices[gpu]))
    if not found and faults is not None:
        raise faults
    return found, _about(body, plans, left_out, prices)


def _in_candidates(issue: Issue) -> Issue:
    """A fault of a plan, pointed at where this request has the value."""
    places = {"parallelism": ("candidates", "tp"), "precision": ("candidates", "precisions")}
    start = places.get(str(issue.path[0])) if issue.path else None
    return issue if start is None else replace(issue, path=start)


def _one_currency(body: SizingRequest, prices: dict[str, Price | None]) -> None:
    """Amounts are held against each other in one currency; nothing is converted.

    Raises:
        ResolutionError: Prices in several currencies to rank by, or a budget in another than a price.
    """
    currencies = sorted({price.currency for price in prices.values() if price is not None})
    if body.objective == "min_cost" and len(currencies) > 1:
        detail = _("Bills in %(currencies)s cannot be ranked: give all prices in one.")
        raise ResolutionError(
            [Issue(path=("prices",), code="invalid", detail=detail % {"currencies": ", ".join(currencies)})]
        )
    budget = body.budget.currency if body.budget is not None else None
    if budget is not None and any(currency != budget for currency in currencies):
        detail = _("The budget is in %(budget)s, prices are in %(currencies)s: give both in one currency.")
        words = {"budget": budget, "currencies": ", ".join(currencies)}
        raise ResolutionError([Issue(path=("budget", "currency"), code="invalid", detail=detail % words)])


def _about(body: SizingRequest, plans: list[Any], left_out: list[str], prices: dict[str, Price | None]) -> Resolved:
    assumptions = [text for plan in plans for text in plan.assumptions]
    warnings = [text for plan in plans for text in plan.warnings]
    warnings += [_("Left out: %(what)s") % {"what": text} for text in left_out]
    warnings += [_("No price of %(gpu)s is known.") % {"gpu": gpu} for gpu, price in prices.items() if price is None]
    entries = [
        Provenance(what=f"prices.{gpu}", value=str(price.amount), unit=f"{price.currency}/GPU/h", source=price.source)
        for gpu, price in prices.items()
        if price is not None
    ]
    if body.demand.headroom == 0:
        assumptions.append(_("No headroom: give one for growth and failures."))
    return Resolved(
        assumptions=tuple(dict.fromkeys(assumptions)),
        warnings=tuple(dict.fromkeys(warnings)),
        not_modelled=(_("uneven routing over replicas"), _("time to start replicas")),
        provenance=tuple(entries),
    )


def _price(body: SizingRequest, gpu: str, facts: Facts) -> Price | None:
    given = body.prices.get(gpu)
    if given is not None:
        return Price(amount=Decimal(given.price_per_gpu_hour), currency=given.currency, source="request")
    offers = facts.derived(("on_demand_offers",), lambda: _offers(facts)).get(gpu, ())
    if not offers:
        return None
    middle = sorted(offers)[len(offers) // 2]
    source = _("median of %(n)s on-demand offers in the catalog") % {"n": len(offers)}
    return Price(amount=middle, currency="USD", source=source)


def _offers(facts: Facts) -> dict[str, tuple[Decimal, ...]]:
    by_gpu: dict[str, list[Decimal]] = {}
    for slug in facts.slugs("offer"):
        offer = facts.row("offer", slug)
        if offer["market"] == "on-demand" and offer["currency"] == "USD" and offer["gpu"]:
            by_gpu.setdefault(offer["gpu"], []).append(Decimal(offer["price_per_gpu_hour"]))
    return {gpu: tuple(amounts) for gpu, amounts in by_gpu.items()}


def _steps(option: Option, demand: Demand) -> list[Step]:
    if option.fleet is None or option.total_capacity is None:
        return []
    wanted = demand.concurrency or demand.users or demand.requests_per_s_peak or 0.0
    per = option.total_capacity / option.fleet.replicas
    return [
        Step.worked(
            name="replicas",
            formula="max(ceil(demand · (1 + headroom) / capacity_per_replica), 1)",
            values={"demand": wanted, "headroom": demand.headroom, "capacity_per_replica": per},
            value=option.fleet.replicas,
            unit="1",
            source="replicas are whole",
        ),
        Step.worked(
            name="gpus",
            formula="replicas · gpus_per_replica",
            values={"replicas": option.fleet.replicas, "gpus_per_replica": option.fleet.gpus_per_replica},
            value=option.fleet.gpus,
            unit="1",
            source="definition",
        ),
    ]


def _option(option: Option, budget: Budget) -> SizingOption:
    machines, capacity, price = option.fleet, option.capacity, option.candidate.price
    assert machines is not None and capacity is not None  # noqa: PT018, S101  ranked options have both
    return SizingOption.model_validate(
        {
            **who(option),
            "basis": option.basis,
            "replicas": machines.replicas,
            "gpus_per_replica": machines.gpus_per_replica,
            "gpus": machines.gpus,
            "nodes": machines.nodes,
            "gpus_in_nodes": machines.gpus_in_nodes,
            "mean_replicas": option.mean_replicas,
            "binding_constraint": capacity.binding.value,
            "capacity": {
                "concurrency": capacity.concurrency,
                "requests_per_s": capacity.requests_per_s,
                "users": capacity.users,
                "max_sequences": option.max_sequences,
                "full_length_sequences": option.full_length_sequences,
                "total": option.total_capacity,
            },
            "goodput_requests_per_s_per_gpu": option.goodput_per_gpu,
            "within_budget": budget.allows(option),
            "currency": price.currency if price else None,
            "cost_per_hour": option.cost_per_hour,
            "cost_per_month": option.cost_per_month,
        }
    )


def _rejected(option: Option) -> SizingRejected:
    return SizingRejected(
        **who(option), reason=option.reason or "", ttft_s=option.best_ttft_s, tpot_s=option.best_tpot_s
    )


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
    examples=(
        WorkedExample(
            name="chat",
            summary="200 chats in flight with Llama 3.1 8B on two kinds of GPU, ideal roofline",
            body={
                "model": "llama-3.1-8b",
                "engine": "ideal",
                "workload": {"input_tokens": 1500, "output_tokens": 400},
                "demand": {"concurrency": 200, "headroom": 0.2},
                "candidates": {"gpus": ["h100-sxm5-80gb", "l40s"], "precisions": ["bf16"], "tp": [1, 2]},
                "slo": {"ttft_s": 2, "tpot_s": 0.05},
                "prices": {
                    "h100-sxm5-80gb": {"price_per_gpu_hour": "2.50", "currency": "USD"},
                    "l40s": {"price_per_gpu_hour": "0.90", "currency": "USD"},
                },
            },
            explain=True,
        ),
    ),
)
