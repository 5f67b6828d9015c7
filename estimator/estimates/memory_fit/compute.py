"""The memory-fit estimate: the fit of a plan, its alternatives and suggestions, and the working."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from estimator.constants.families import FAMILIES
from estimator.engine.explain import Step
from estimator.engine.memory.fit import MemoryFit, Verdict, memory_fit
from estimator.engine.memory.plan import MemoryPlan
from estimator.engine.memory.suggestions import (
    Alternative,
    GpuChoice,
    Suggestion,
    alternatives,
    attention_name,
    suggestions,
)
from estimator.engine.model.cache import KvLayout, kv_layout, whole_bytes
from estimator.engine.model.parameters import ParameterTotals
from estimator.estimates.memory_fit.explain import explain_fit
from estimator.estimates.memory_fit.load import load_of, memory_plan
from estimator.resolvers.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFigures:
    """Cache of one sequence of the whole model, logical bytes: no blocks, no split over GPUs."""

    attention: str
    bytes_per_token: int
    window_bytes_per_token: int
    window_tokens: int | None
    fixed_bytes_per_sequence: int
    bytes_per_sequence: int
    mha_bytes_per_token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """Everything memory-fit answers with."""

    plan: Plan
    memory: MemoryPlan
    fit: MemoryFit
    cache: CacheFigures
    parameters: ParameterTotals
    alternatives: tuple[Alternative, ...]
    suggestions: tuple[Suggestion, ...]
    basis: Literal["observed", "calibrated", "nearest_family", "assumption"]

    def explain(self) -> list[Step]:
        """The steps from the model's dimensions to the verdict."""
        return explain_fit(self)


def estimate_memory(plan: Plan, *, gpus: Sequence[GpuChoice] = ()) -> MemoryEstimate:
    """Fit a plan into its GPUs.

    Args:
        plan: the resolved plan; without a workload one conversation of 4,096 tokens is taken.
        gpus: GPUs that may be suggested.

    Raises:
        MissingFigureError: the engine profile has no memory policy.
    """
    sequences, tokens = load_of(plan)
    memory = memory_plan(plan, longest_tokens=tokens)
    window = plan.model.context_window_tokens
    fit = memory_fit(memory, sequences=sequences, context_tokens=tokens, window_tokens=window)
    if fit.feasible and host_decides(plan):
        fit = replace(fit, verdict=Verdict.TIGHT)
    architecture = plan.model.architecture
    return MemoryEstimate(
        plan=plan,
        memory=memory,
        fit=fit,
        cache=cache_figures(plan, tokens),
        parameters=plan.model.parameters,
        alternatives=alternatives(architecture, plan.precision.kv_cache),
        suggestions=_as_answered(
            plan,
            gpus,
            suggestions(memory, fit, window_tokens=window, scale_up_gpus=plan.gpu.spec.scale_up_gpus, gpus=gpus),
        ),
        basis="observed" if fit.observed else memory.policy.basis,
    )


def host_decides(plan: Plan) -> bool:
    """Whether what the host holds at the start takes from the cache: one memory for both, and no cache observed."""
    return _host_decides_on(plan, plan.gpu.spec.kernel_family)


def _host_decides_on(plan: Plan, kernel_family: str | None) -> bool:
    family = FAMILIES.get(kernel_family or "")
    shared = family is not None and family.shares_host_memory
    return shared and plan.engine.kind == "serving" and plan.memory.kv_cache_tokens_observed is None


def _as_answered(plan: Plan, gpus: Sequence[GpuChoice], found: Sequence[Suggestion]) -> tuple[Suggestion, ...]:
    """The suggestions with the verdict that each gets when it is asked: on memory shared with a host, tight."""
    families = {gpu.slug: gpu.family for gpu in gpus}

    def answered(one: Suggestion) -> Suggestion:
        family = families.get(str(one.value)) if one.change == "gpu" else plan.gpu.spec.kernel_family
        return replace(one, verdict=Verdict.TIGHT.value) if _host_decides_on(plan, family) else one

    return tuple(answered(one) for one in found)


def cache_figures(plan: Plan, tokens: int) -> CacheFigures:
    """Logical cache figures of the whole model; a window no shorter than the model's context counts as growing."""
    layout, figures = plan.kept.of("cache_figures", lambda: _of_any_length(plan))
    return CacheFigures(bytes_per_sequence=round(float(layout.sequence_bytes(float(tokens)))), **figures)


def _of_any_length(plan: Plan) -> tuple[KvLayout, dict[str, Any]]:
    """The layout of a plan's cache, and the figures that do not depend on the length of a sequence."""
    architecture = plan.model.architecture
    layout = kv_layout(architecture, plan.precision.kv_cache)
    longest = plan.model.context_window_tokens
    growing = [cost for cost in layout.windows if longest is not None and cost.window_tokens >= longest]
    capped = [cost for cost in layout.windows if cost not in growing]
    fixed = sum((cost.bytes_per_token * cost.window_tokens for cost in capped), layout.state_bytes)
    mha = next(item for item in alternatives(architecture, plan.precision.kv_cache) if item.name == "mha")
    return layout, {
        "attention": attention_name(architecture),
        "bytes_per_token": whole_bytes(sum((cost.bytes_per_token for cost in growing), layout.growth_bytes_per_token)),
        "window_bytes_per_token": whole_bytes(sum((cost.bytes_per_token for cost in capped), layout.state_bytes * 0)),
        "window_tokens": max((cost.window_tokens for cost in capped), default=None),
        "fixed_bytes_per_sequence": whole_bytes(fixed),
        "mha_bytes_per_token": mha.bytes_per_token,
    }
