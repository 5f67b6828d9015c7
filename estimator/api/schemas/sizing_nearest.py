"""What would be feasible where nothing asked for is."""

from typing import Any

from pydantic import Field

from estimator.api.answers import Amount, ResponsePart
from estimator.api.schemas.memory_fit import gpu_choices
from estimator.engine.options import ServiceLevel
from estimator.resolvers.facts import Facts
from estimator.services.memory_fit import estimate_memory
from estimator.services.sizing import Option, nearest

_FIELDS = {"precision.weights": "precision", "parallelism.tp": "tp", "gpu": "gpu"}


class SizingNearest(ResponsePart):
    """What would be feasible: these targets on this candidate, or this budget."""

    gpu: str = Field(description="GPU.")
    precision: str = Field(description="Format of the weights.")
    tp: int = Field(description="Tensor parallel degree.")
    what: str = Field(
        description=(
            "slo: the targets have to be at least these; budget: the limit has to be this; memory: this candidate "
            "holds one request of the length."
        )
    )
    ttft_s: float | None = Field(description="Target that would be met, seconds; null where it is met already.")
    tpot_s: float | None = Field(description="Target that would be met, seconds; null where it is met already.")
    gpus: int | None = Field(description="GPUs the cheapest option takes, count; null for targets.")
    cost_per_month: Amount | None = Field(description="Its price for 730 h; null for targets or without a price.")


def who(option: Option) -> dict[str, Any]:
    """The candidate of an option."""
    return {"gpu": option.candidate.gpu, "precision": option.candidate.precision, "tp": option.candidate.tp}


def ruled_out(order: list[Option], sized: list[Option]) -> str:
    """What rules everything out."""
    if order:
        return "budget"
    reasons = [(option.reason or "").split(":")[0] for option in sized]
    if "targets_not_met" in reasons:
        return "slo"
    return "memory" if "does_not_fit" in reasons else (reasons[0] if reasons else "no_candidate")


def nearest_of(order: list[Option], sized: list[Option], slo: ServiceLevel, facts: Facts) -> SizingNearest | None:
    """The nearest that would be feasible: a budget, targets, or a candidate with enough memory."""
    if order:
        first = order[0]
        return SizingNearest(**who(first), what="budget", ttft_s=None, tpot_s=None, gpus=first.gpus,
                             cost_per_month=first.cost_per_month)  # fmt: skip
    best = nearest(sized, slo)
    if best is None:
        return _enough_memory(sized, facts)

    def missed(value: float | None, target: float | None) -> float | None:
        return value if value is not None and target is not None and value > target else None

    return SizingNearest(
        **who(best),
        what="slo",
        ttft_s=missed(best.best_ttft_s, slo.ttft_s),
        tpot_s=missed(best.best_tpot_s, slo.tpot_s),
        gpus=None,
        cost_per_month=None,
    )


def _enough_memory(sized: list[Option], facts: Facts) -> SizingNearest | None:
    """The candidate with one part changed that holds a request of the length: the one with the fewest GPUs."""
    found = []
    for option in sized:
        plan = option.candidate.plan
        if option.reason != "does_not_fit":
            continue
        for change in estimate_memory(plan, gpus=gpu_choices(plan, facts)).suggestions:
            name = _FIELDS.get(change.change)
            if name is not None:
                found.append({**who(option), name: change.value})
    if not found:
        return None
    best = min(found, key=lambda one: int(one["tp"]))
    return SizingNearest(**best, what="memory", ttft_s=None, tpot_s=None, gpus=None, cost_per_month=None)
