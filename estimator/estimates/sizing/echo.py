"""The resolved inputs of a sizing, echoed in its answer."""

from typing import Any

from pydantic import Field

from estimator.engine.specs import WorkloadMode
from estimator.estimates.answers import ResponsePart, part_of, shown
from estimator.estimates.echo import EngineEcho, ModelEcho, SettingEcho, setting_echo, targets_echo
from estimator.estimates.sizing.budget import Budget
from estimator.estimates.sizing.question import CandidatesPart, Demand
from estimator.question.fields import MeanTokens
from estimator.question.plan import Launch, Memory
from estimator.question.traffic import Traffic
from estimator.question.workload import Targets, Workload
from estimator.resolvers.plan import Plan

SizingLengthsEcho: Any = part_of(
    Workload,
    "SizingLengthsEcho",
    "Lengths of a request that were taken; the load is that of the demand.",
    input_tokens=shown("Mean prompt of a request, tokens.", kind=MeanTokens),
    output_tokens=shown("Mean answer of a request, tokens.", kind=MeanTokens),
    context_tokens=shown("Cache length asked for, tokens; null: from the lengths.", kind=MeanTokens | None),
    prefix_cache_hit_rate=shown("Share of prompt tokens found in the prefix cache.", kind=float),
    traffic=shown("Which first token is held against the targets.", kind=Traffic),
)


class SizingInputs(ResponsePart):
    """What the sizing was made for, resolved."""

    model: ModelEcho | None = Field(description="The model; null where no candidate could be planned.")
    engine: EngineEcho | None = Field(description="The engine profile; null where no candidate could be planned.")
    memory: Memory = Field(description="Overrides of the profile's memory settings; null: the profile's own.")
    engine_settings: list[SettingEcho] = Field(
        description="Settings of each server that speed depends on, by its engine's own names, stated and by default."
    )
    launch: Launch = Field(description="tuned: kernels were picked by flags; default: a plain start.")
    workload: SizingLengthsEcho | None = Field(description="Lengths; null where no candidate could be planned.")
    demand: Demand
    candidates: CandidatesPart
    power_cap_w: float | None = Field(description="Most power of each GPU, W; null for its design power.")
    slo: Targets | None = Field(description="Targets; null where none were given.")
    confidence: float | None = Field(description="Chance of meeting all targets asked for; null: band_side holds.")
    objective: str = Field(description="What the options are ranked by.")
    gpus_per_node: int = Field(description="GPUs of one machine, count.")
    budget: Budget | None = Field(description="Limits; null where none were given.")

    @classmethod
    def of(cls, body: Any, plan: Plan | None) -> "SizingInputs":
        """The echo of a request and of one of its candidates' plans, which share model, engine and lengths.

        Args:
            body: the `SizingRequest`.
            plan: a plan of it, None where there is none.
        """
        unplanned = {"model": None, "engine": None, "memory": body.memory, "engine_settings": [], "launch": body.launch}
        own = unplanned if plan is None else setting_echo(plan)
        return cls(
            model=own["model"],
            engine=own["engine"],
            memory=own["memory"],
            engine_settings=own["engine_settings"],
            launch=own["launch"],
            workload=None if plan is None or plan.workload is None else SizingLengthsEcho.model_validate(plan.workload),
            demand=body.demand,
            candidates=_chosen_from(body.candidates, plan),
            power_cap_w=body.power_cap_w,
            slo=targets_echo(body.slo, _mode(body)),
            confidence=body.confidence,
            objective=body.objective,
            gpus_per_node=body.gpus_per_node,
            budget=body.budget,
        )


def _mode(body: Any) -> WorkloadMode:
    """Arrivals at a rate are an open loop, people and requests in flight a closed one."""
    return WorkloadMode.CLOSED_LOOP if body.demand.requests_per_s_peak is None else WorkloadMode.OPEN_LOOP


def _chosen_from(asked: CandidatesPart, plan: Plan | None) -> CandidatesPart:
    """The candidates; formats left out are that of the plan, null where nothing could be planned."""
    own = None if plan is None else [plan.precision.weights]
    return asked.model_copy(update={"precisions": own if asked.precisions is None else asked.precisions})
