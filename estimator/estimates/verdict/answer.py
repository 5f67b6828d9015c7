"""`estimates/verdict/`: one verdict on a plan: does it fit, is it fast enough, what does it cost, what would help."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from pydantic import Field

from estimator.engine.explain import Step
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.specs import WorkloadMode
from estimator.estimates.answers import Band
from estimator.estimates.cost.answer import hosted_bill
from estimator.estimates.cost.self_hosted_part import SelfHostedPart
from estimator.estimates.echo import merged, plan_parts
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.estimates.memory_fit.answer import ledger_part
from estimator.estimates.memory_fit.compute import MemoryEstimate, estimate_memory
from estimator.estimates.memory_fit.launch import Server, launch_hint
from estimator.estimates.memory_fit.launch_command import launch_command
from estimator.estimates.memory_fit.manifest import manifest
from estimator.estimates.memory_fit.notes import memory_not_modelled, memory_warnings
from estimator.estimates.throughput.answer import (
    expected_part,
    measurement_of,
    odds_part,
    speed_word_of,
)
from estimator.estimates.throughput.capacity import LoadWithin
from estimator.estimates.throughput.caveats import throughput_assumptions, throughput_not_modelled, throughput_warnings
from estimator.estimates.throughput.compute import Throughput, estimate_throughput
from estimator.estimates.throughput.energy import energy_part
from estimator.estimates.throughput.explain import steps_of
from estimator.estimates.throughput.figures import band_part, bands_at
from estimator.estimates.throughput.idle import idle_settings_of_speed
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import workload_of
from estimator.estimates.unused import Unused, unused_in_plan, unused_warnings
from estimator.estimates.verdict.changes import Change, changes, nearest
from estimator.estimates.verdict.judge import Judged, State, has_targets, judge
from estimator.estimates.verdict.parts import (
    ChangePart,
    ConcurrencyWithin,
    CurvePoint,
    LaunchPart,
    VerdictAnswer,
    VerdictMemory,
    VerdictWords,
)
from estimator.estimates.verdict.sentences import advice_of, binds_of, figures_of, label_of, sentence_of
from estimator.question.fields import Currency, Money, OfferSlug
from estimator.question.plan import PlanRequest
from estimator.resolvers.plan import Plan
from estimator.resolvers.resolve import resolve_plan

CURVE_POINTS = 24


class VerdictRequest(PlanRequest):
    """A plan with its workload, its targets and the price of its GPUs."""

    price_per_gpu_hour: Money | None = Field(
        default=None,
        description="Price of one GPU for an hour, exact decimal in `currency`; the catalog's default when not given.",
    )
    currency: Currency | None = Field(default=None, description="ISO 4217 code of the price; USD when not given.")
    offer: OfferSlug | None = Field(default=None, description="Slug of a seen offer (gpu-offers/) instead of a price.")
    changes: bool = Field(default=True, description="Whether the neighbours of the plan are judged too.")


def answer_verdict(body: VerdictRequest, asked: Asked) -> VerdictAnswer:
    """The answer to a request.

    Raises:
        ResolutionError: no workload, or parts that do not go together.
    """
    if body.workload is None:
        raise ResolutionError([Fault(path=("workload",), code="required", detail=_("This field is required."))])
    plan = resolve_plan(body, asked.facts)
    price = _price(body)
    judged = judge(plan, price, asked.facts)
    found = changes(body, plan, price, asked.facts) if body.changes else ()
    memory = estimate_memory(plan)
    # The targets were searched by the judge.
    speed = estimate_throughput(replace(plan, slo=None))
    return VerdictAnswer(
        **_surroundings(judged, memory, speed, asked, unused_warnings(body, _unused(body, plan))),
        verdict=_words(judged, found),
        max_concurrency_within_slo=_users(judged.users),
        max_requests_per_s_within_slo=_rates(judged),
        odds=odds_part(speed, judged.odds) if has_targets(plan) else None,
        next_measurement=measurement_of(speed, judged.odds, asked.facts) if has_targets(plan) else None,
        memory=_memory(memory),
        speed=expected_part(speed),
        energy=energy_part(plan, speed.prepared, speed.figures),
        binding_term=judged.figures.binding.label if judged.figures.binding is not None else None,
        speed_word=speed_word_of(judged.figures),
        curve=_curve(judged),
        cost=None if judged.bill is None else hosted_bill(judged.bill.cost, judged.bill.speed),
        changes=[_change(one) for one in found],
        launch=_launch(memory, asked),
        launch_hint=_launch_hint(memory),
    )


def _price(body: VerdictRequest) -> SelfHostedPart:
    """The way the GPUs are paid, as the cost estimate takes it."""
    named = {name: getattr(body, name) for name in PlanRequest.model_fields}
    currency = body.currency or ("USD" if body.price_per_gpu_hour is not None else None)
    return SelfHostedPart.model_construct(
        _fields_set=set(body.model_fields_set) - {"changes"},
        **named,
        price_per_gpu_hour=body.price_per_gpu_hour,
        currency=currency,
        offer=body.offer,
    )


def _unused(body: VerdictRequest, plan: Plan) -> Iterator[Unused]:
    """What changes no word and no figure of a verdict."""
    yield from unused_in_plan(plan)
    yield "workload.batch_sizes", _("the verdict is that of one load")
    yield "speculative", _("the speed is that without speculation")
    if plan.gpu.spec.tdp_w is None:
        yield "power", _("the design power of this GPU is not known")
    yield "slo.band_side", _("the verdict tells the chance of meeting the targets")
    mode = body.workload.mode if body.workload is not None else None
    if mode is not WorkloadMode.OPEN_LOOP:
        yield "slo.percentile", _("only an open loop's requests wait for different times")
    if mode is WorkloadMode.OFFLINE:
        for path in ("slo.ttft_s", "slo.e2e_s"):
            yield path, _("offline all requests are there at once: no time to the first token is given")


def _surroundings(
    judged: Judged, memory: MemoryEstimate, speed: Throughput, asked: Asked, unused: tuple[str, ...]
) -> dict[str, Any]:
    """What every answer holds beside its figures: the texts of memory, speed and cost, each once."""
    plan, bill = judged.plan, judged.bill
    priced = merged([] if bill is None else [bill.origin, bill.notes])
    fits = judged.state is not State.DOES_NOT_FIT
    warnings = [*memory_warnings(memory), *idle_settings_of_speed(plan), *(throughput_warnings(speed) if fits else ())]
    left_out = [*memory_not_modelled(memory), *throughput_not_modelled(speed), *priced.not_modelled]
    if bill is None:
        warnings.append(_("No price of this GPU is known: give price_per_gpu_hour."))
    steps = _steps(judged, memory, speed) if asked.explain else []
    parts = plan_parts(
        plan,
        steps=steps,
        explain=asked.explain,
        assumptions=[*throughput_assumptions(speed), *priced.assumptions],
        warnings=list(dict.fromkeys([*warnings, *unused])),
        not_modelled=list(dict.fromkeys(left_out)),
    )
    parts["provenance"] = [*parts["provenance"], *priced.provenance]
    return parts


def _steps(judged: Judged, memory: MemoryEstimate, speed: Throughput) -> list[Step]:
    steps = list(memory.explain())
    if judged.fit.max_sequences >= 1:
        steps += steps_of(speed)
    if judged.bill is not None:
        steps += judged.bill.cost.explain()
    return steps


def _words(judged: Judged, found: tuple[Change, ...]) -> VerdictWords:
    return VerdictWords(
        state=judged.state.value,
        label=label_of(judged.state),
        sentence=sentence_of(judged),
        figures=figures_of(judged),
        binds=binds_of(judged),
        advice=advice_of(judged, nearest(judged, found)),
    )


def _users(users: LoadWithin | None) -> ConcurrencyWithin | None:
    if users is None:
        return None
    binding = None if users.binding is None else users.binding.value
    return ConcurrencyWithin(low=users.low, mid=users.mid, high=users.high, binding=binding)


def _rates(judged: Judged) -> Band | None:
    return None if judged.rates is None else band_part(judged.rates)


def _memory(estimate: MemoryEstimate) -> VerdictMemory:
    fit = estimate.fit
    return VerdictMemory(
        verdict=fit.verdict.value,
        feasible=fit.feasible,
        binding_term=fit.binding_term.value,
        max_sequences=fit.max_sequences,
        per_gpu=ledger_part(estimate),
    )


def _curve(judged: Judged) -> list[CurvePoint]:
    """The speed at loads from one to what memory holds, the asked one among them; dense where few are held."""
    workload, most = workload_of(judged.plan), min(judged.fit.max_sequences, judged.fit.engine_sequences_limit)
    if judged.users is None or most < 1:
        return []
    spread = np.linspace(1, most, CURVE_POINTS) if most <= 2 * CURVE_POINTS else np.geomspace(1, most, CURVE_POINTS)
    loads = np.unique(np.round([*spread, min(workload.concurrency, most)]))
    columns = judged.setting.sweep.evaluate(rows_of(workload, loads))
    times = (bands_at(columns, name) for name in ("ttft_s", "tpot_s", "tokens_per_s_total"))
    return [
        CurvePoint(concurrency=int(load), ttft_s=ttft, tpot_s=tpot, tokens_per_s_total=total)
        for load, ttft, tpot, total in zip(loads.tolist(), *times, strict=True)
    ]


def _change(one: Change) -> ChangePart:
    judged = one.judged
    bill = judged.bill
    expected = judged.figures.expected
    return ChangePart(
        change=one.setting,
        value=one.value,
        label=one.label,
        state=judged.state.value,
        sentence=sentence_of(judged),
        max_concurrency_within_slo=_users(judged.users),
        max_requests_per_s_within_slo=_rates(judged),
        ttft_s=expected["ttft_s"].mid,
        tpot_s=expected["tpot_s"].mid,
        currency=None if bill is None else bill.cost.machines.currency,
        cost_per_mtok_output=None if bill is None else bill.cost.cost_per_mtok_output,
        cost_per_mtok_blended=None if bill is None else bill.cost.cost_per_mtok_blended,
        cost_per_month=None if bill is None else bill.cost.cost_per_month,
    )


def _server(estimate: MemoryEstimate) -> Server:
    fit = estimate.fit
    return Server(
        plan=estimate.plan,
        memory=estimate.memory,
        context_tokens=fit.context_tokens,
        sequences=fit.sequences,
        engine_sequences=fit.engine_sequences_limit,
    )


def _launch_hint(estimate: MemoryEstimate) -> list[str]:
    """Flags of a server that holds the load; none where it does not fit."""
    return launch_hint(_server(estimate)) if estimate.fit.feasible else []


def _launch(estimate: MemoryEstimate, asked: Asked) -> LaunchPart:
    """The command of a server that holds the load, checked against the arguments of the engine's version."""
    if not estimate.fit.feasible:
        reason = _("The load does not fit.")
        none = dict.fromkeys(("command", "version", "source", "manifest"))
        return LaunchPart(**none, reason=reason, manifest_reason=reason)
    slug = estimate.plan.model.slug
    source = None if slug is None else str(asked.facts.row("model", slug).get("source") or "")
    found = launch_command(_server(estimate), source)
    read, kubernetes = found.arguments, manifest(estimate.plan, found)
    return LaunchPart(
        command=found.command,
        reason=found.reason,
        version=None if read is None else read.version,
        source=None if read is None else read.source,
        manifest=kubernetes.text,
        manifest_reason=kubernetes.reason,
    )


ENDPOINT = Endpoint(
    slug="verdict",
    summary="One verdict: fit, speed, cost, and what would change it",
    description=(
        "Memory, speed and money of one plan held together, from the same functions as memory-fit, throughput and "
        "cost: a state with its sentence, the chance of meeting the targets, what binds, the users within them (low: "
        "safe, with a chance of 0.9; mid: likely, with 0.5), the speed curve, the bill at the price given or the "
        "catalog's default, and the same "
        "question with one thing changed at a time. A plan that does not fit is 200 with state does_not_fit."
    ),
    request=VerdictRequest,
    response=VerdictAnswer,
    answer=answer_verdict,
    says_speed=True,
)
