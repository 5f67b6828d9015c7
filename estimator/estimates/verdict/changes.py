"""What would change a verdict: the same question with one thing changed, judged by the same function."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.estimates.cost.self_hosted_part import SelfHostedPart
from estimator.estimates.verdict.judge import Judged, State, judge, month_of
from estimator.question.plan import PlanRequest
from estimator.resolvers.facts import FactRow, Facts
from estimator.resolvers.gpu_prices import default_price
from estimator.resolvers.plan import Plan
from estimator.resolvers.resolve import resolve_plan

_SIXTEEN_BIT = ("bf16", "fp16", "fp32")
_FEWEST_BYTES_PER_S = 0.5
"""Share of the asked GPU's bandwidth that a smaller neighbour has at least."""
_BETTER = {state: place for place, state in enumerate(State)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing changed: the setting as the request spells it, its new value, and the verdict then."""

    setting: str
    value: str | int
    label: str
    judged: Judged


def changes(asked: PlanRequest, plan: Plan, price: SelfHostedPart, facts: Facts) -> tuple[Change, ...]:
    """The neighbours of a plan: GPUs halved and doubled, narrower weights and cache, the GPUs next to this one.

    What does not go together (a degree that does not divide the heads, a format the engine does not take) is left out.
    A price that was stated is of the GPU asked for: others take their default price.
    """
    found = []
    for setting, value, label, changed in _neighbours(asked, plan, facts):
        try:
            other = resolve_plan(asked.model_copy(update=changed), facts)
            paid = price.model_copy(update=changed | _unstated(setting))
            found.append(Change(setting=setting, value=value, label=label, judged=judge(other, paid, facts)))
        except (ResolutionError, EngineError):
            continue
    return tuple(found)


def counted(gpus: int, name: str) -> str:
    """So many GPUs of a name, without what the catalog says of it in brackets."""
    return f"{gpus} × {name.partition(' (')[0]}"


def nearest(judged: Judged, found: tuple[Change, ...]) -> Change | None:
    """The change with the best verdict that is better than the one now, of these the cheapest; None where none is."""
    better = [one for one in found if _BETTER[one.judged.state] < _BETTER[judged.state]]
    better = [one for one in better if one.judged.state in (State.SAFE, State.LIKELY, State.FITS)]

    def rank(one: Change) -> tuple[int, bool, Any]:
        month = month_of(one.judged)
        return (_BETTER[one.judged.state], month is None, month or 0)

    return min(better, key=rank, default=None)


def _unstated(setting: str) -> dict[str, Any]:
    return {"price_per_gpu_hour": None, "offer": None} if setting == "gpu" else {}


Neighbour = tuple[str, str | int, str, dict[str, Any]]


def _neighbours(asked: PlanRequest, plan: Plan, facts: Facts) -> Iterator[Neighbour]:
    yield from _degrees(asked, plan)
    yield from _formats(asked, plan)
    yield from _gpus(plan, facts)


def _degrees(asked: PlanRequest, plan: Plan) -> Iterator[Neighbour]:
    tp, gpus = asked.parallelism.tp, plan.parallelism.gpus
    for degree in (tp // 2, tp * 2):
        if degree < 1 or (tp % 2 and degree < tp) or degree > max(plan.gpu.spec.scale_up_gpus, 1):
            continue
        label = counted(gpus * degree // tp, plan.gpu.name)
        yield "parallelism.tp", degree, label, {"parallelism": asked.parallelism.model_copy(update={"tp": degree})}


def _formats(asked: PlanRequest, plan: Plan) -> Iterator[Neighbour]:
    files = plan.engine.kind == "llama_cpp"
    weights, cache = plan.precision.weights, plan.precision.kv_cache
    for narrow in ("q8_0", "q4_k_m") if files else ("fp8", "int4"):
        if weights in _SIXTEEN_BIT or (weights in ("fp8", "q8_0") and narrow in ("int4", "q4_k_m")):
            label = _("%(format)s weights") % {"format": narrow.upper()}
            formats = asked.precision.model_copy(update={"weights": narrow})
            yield "precision.weights", narrow, label, {"precision": formats}
    narrow = "q8_0" if files else "fp8"
    if cache in _SIXTEEN_BIT:
        label = _("%(format)s cache") % {"format": narrow.upper()}
        formats = asked.precision.model_copy(update={"kv_cache": narrow})
        yield "precision.kv_cache", narrow, label, {"precision": formats}


def _gpus(plan: Plan, facts: Facts) -> Iterator[Neighbour]:
    """The two next faster GPUs and the next slower one of the same maker that somebody sells by the hour."""
    if plan.gpu.slug is None:
        return
    mine = plan.gpu.spec.memory_bandwidth_bytes_per_s
    rows = facts.derived(("sold_gpus", str(plan.gpu.facts.get("vendor"))), lambda: _sold(plan, facts))
    peak = plan.gpu.spec.peak_flops_per_s.get("bf16", 0.0)
    faster = [row for row in rows if _rate(row) > mine and _peak(row) >= peak]
    slower = [row for row in rows if _FEWEST_BYTES_PER_S * mine <= _rate(row) < mine]
    same_board = str(plan.gpu.facts.get("form_factor") or "")

    def near(row: FactRow) -> tuple[bool, float]:
        return (str(row.get("form_factor") or "")[:3] != same_board[:3], abs(_rate(row) - mine))

    for row in (*sorted(faster, key=near)[:2], *sorted(slower, key=near)[:1]):
        yield "gpu", row["slug"], counted(plan.parallelism.gpus, row["name"]), {"gpu": row["slug"]}


def _sold(plan: Plan, facts: Facts) -> tuple[FactRow, ...]:
    rows = (facts.row("gpu", slug) for slug in sorted(facts.slugs("gpu")))
    return tuple(
        row
        for row in rows
        if row.get("vendor") == plan.gpu.facts.get("vendor")
        and row.get("kernel_family_used")
        and row.get("devices_per_unit", 1) == 1
        and row.get("memory_bandwidth_bytes_per_s")
        and _peak(row)
        and default_price(row["slug"], facts) is not None
    )


def _peak(row: FactRow) -> float:
    return float(row["peak_flops_per_s"].get("bf16") or 0.0)


def _rate(row: FactRow) -> float:
    return float(row["memory_bandwidth_bytes_per_s"])
