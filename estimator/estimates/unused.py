"""Fields that a request gives and an estimate does not use: said in a warning, never silently ignored.

Where a field needs another one of its own part, its annotation says so (`estimator.question.acting`). Here stands what
hangs on the estimate that is asked, and on what the question was resolved to.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from django.utils.translation import gettext as _
from pydantic import BaseModel

from estimator.engine.forward_pass.kernels import weight_format
from estimator.engine.specs import WorkloadMode
from estimator.question.acting import idle_fields, is_given
from estimator.question.gpu import GpuFigures
from estimator.question.plan import PlanRequest
from estimator.question.workload import Speculative, Workload
from estimator.resolvers.engine_settings import memory_settings
from estimator.resolvers.plan import Plan

Unused = tuple[str, str]
"""A dotted path below a body, and in words why the field there is not used."""


def unused_warnings(body: BaseModel, rules: Iterable[Unused] = (), *, prefix: str = "") -> tuple[str, ...]:
    """One warning for each reason, naming the fields it holds for that were given another value than their default.

    Args:
        body: The request or a part of it; what its fields need of one another is read from them.
        rules: Paths below it with the reason why they are not used here.
        prefix: Path of the part in the request, with its last point.
    """
    by_reason: dict[str, list[str]] = {}
    for path, why in (*((path, why) for path, why in rules if _given(body, path)), *idle_fields(body)):
        names = by_reason.setdefault(why, [])
        if f"{prefix}{path}" not in names:
            names.append(f"{prefix}{path}")
    return tuple(
        _("Not used: %(fields)s; %(why)s.") % {"fields": ", ".join(names), "why": why}
        for why, names in by_reason.items()
    )


def _given(body: BaseModel, path: str) -> bool:
    *parents, name = _steps(path)
    # Asked for many paths of every request. What is left out is its default, of whose fields none is given.
    if (parents[0] if parents else name) not in body.__pydantic_fields_set__:
        return False
    part: object = body
    for place, parent in enumerate(parents, start=1):
        part = part[int(parent)] if isinstance(part, list) else getattr(part, parent, None)
        if isinstance(part, dict):
            # A key may hold points of its own.
            return ".".join((*parents, name)[place:]) in part
    return isinstance(part, BaseModel) and is_given(part, name)


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def unused_in_plan(plan: Plan) -> Iterator[Unused]:
    """What the model, the GPU and the engine of a plan have no use of, and what one GPU does not exchange."""
    groups = plan.model.architecture.layer_groups
    asked = plan.precision
    dense = all(group.feed_forward is None or not group.feed_forward.experts for group in groups)
    if asked.expert_weights is not None and dense:
        yield "precision.expert_weights", _("the model has no routed experts")
    if not any(group.matrices for group in groups):
        by_totals = _("the model is known by its totals, not by its matrices")
        yield from ((path, by_totals) for path in ("lora", "precision.attention_weights"))
    if plan.parallelism.gpus == 1:
        alone = _("one GPU exchanges nothing")
        yield from ((f"gpu.{n}", alone) for n in ("link", "link_bytes_per_s_per_direction", "scale_up_gpus"))
    if plan.engine.serving is None:
        unlaunched = _("the figures of %(engine)s know no scheduler") % {"engine": plan.engine.engine}
        yield from ((path, unlaunched) for path in ("launch", "workload.traffic"))
    if plan.power_cap_w is not None and (why := _idle_cap(plan.gpu.spec.tdp_w, plan.power_cap_w)):
        yield "power_cap_w", why
    if asked.activations is not None and _same_products(plan):
        yield "precision.activations", _("products with these weights run in the format that they run in anyway")


def _idle_cap(tdp_w: float | None, cap_w: float) -> str | None:
    """Why a cap changes nothing, None where it may."""
    if tdp_w is None:
        return _("the design power of this GPU is not known")
    return _("the design power of this GPU is no more") if cap_w >= tdp_w else None


def _same_products(plan: Plan) -> bool:
    """Whether the format of activations that was asked for leaves every product in the format it would run in."""
    asked, gpu = plan.precision, plan.gpu.spec
    weights = {(asked.attention_weights or asked.weights, False), (asked.weights, False)}
    weights.add((asked.expert_weights or asked.weights, True))
    return all(
        weight_format(name, gpu, experts=experts, activations=asked.activations)
        == weight_format(name, gpu, experts=experts)
        for name, experts in weights
    )


def unused_by_speed() -> Iterator[Unused]:
    """What the speed of a replica does not depend on."""
    yield "power", _("speed does not depend on its price")
    yield "gpu.tdp_w", _("speed does not depend on the power of a GPU")


def unused_by_memory(body: PlanRequest, plan: Plan) -> Iterator[Unused]:
    """What the memory of a replica does not depend on."""
    of_speed = (
        "slo",
        "power",
        "power_cap_w",
        "launch",
        "workload.batch_sizes",
        "workload.traffic",
        "precision.activations",
    )
    deciding = memory_settings(plan.engine_settings, plan.engine).values()
    settings = (f"engine_settings.{name}" for name in plan.engine_settings if name not in deciding)
    for path in (*of_speed, *settings, *_of_other_than_memory(body)):
        yield path, _("memory does not depend on it")
    for path in ("workload.mode", "workload.requests_per_s", "workload.burstiness_cv"):
        yield path, _("memory is that of the requests in flight, workload.concurrency")
    yield "workload.prefix_cache_hit_rate", _("every prompt is counted whole, as if no two shared a prefix")
    if isinstance(body.speculative, Speculative):
        drafts = body.speculative.draft_model is not None
        path = "speculative.draft_cost_ratio" if drafts else "speculative"
        yield path, _("of speculative decoding a draft model alone takes memory")


def _of_other_than_memory(body: PlanRequest) -> Iterator[str]:
    """Figures of a GPU beside its memory; those that have to be given are no vain wish of anybody."""
    if isinstance(body.gpu, GpuFigures):
        optional = (name for name, info in GpuFigures.model_fields.items() if not info.is_required())
        yield from (f"gpu.{name}" for name in optional if name != "name")


def unused_by_money(workload: Workload | None) -> Iterator[Unused]:
    """What the speed behind a cost does not take."""
    if workload is not None and workload.mode is WorkloadMode.OPEN_LOOP:
        yield "workload.burstiness_cv", _("the cost is that of the highest rate that is stable")
        yield "workload.traffic.client_s", _("the client's own time holds no place of the server")
    for name in ("statistic", "ttft_at"):
        yield f"workload.traffic.{name}", _("the cost does not depend on which first token is asked for")
    yield "workload.batch_sizes", _("the cost is that of one load")
    yield "slo", _("the load is not cut to meet targets: see sizing")
    yield "speculative", _("the speed is that without speculation")


# What still counts of a plan where its tokens per second are given: lengths say what a request costs, a GPU its power.
_KEPT_BESIDE_A_RATE = ("workload.input_tokens", "workload.output_tokens", "workload.prefix_cache_hit_rate")


def unused_beside_a_rate(kept: Iterable[str]) -> Iterator[Unused]:
    """What does not count where the tokens per second are given; `kept` still do."""
    why = _("tokens_per_s_output is given")
    fields = (name for name in PlanRequest.model_fields if name not in ("workload", "gpu", "power"))
    lengths = (f"workload.{name}" for name in Workload.model_fields)
    yield from ((path, why) for path in (*fields, *lengths) if path not in {*kept, *_KEPT_BESIDE_A_RATE})


def unused_of_a_bill(why: str, *, inline: bool) -> Iterator[Unused]:
    """The usage side of an `api` part where the lengths come from elsewhere; days where the prices are stated."""
    yield from ((path, why) for path in ("usage", "usage_convention", "requests", "partial", "whole_month"))
    yield "search_context_size", _("no searches are counted here")
    if inline:
        yield from unused_days()
        yield "channel", _("the stated prices are taken to hold")


def unused_days() -> Iterator[Unused]:
    """Days and places of stated prices."""
    yield from ((path, _("the stated prices are taken to hold")) for path in ("on", "at", "endpoint_class"))
