"""Turns catalog facts, or inline values of a request, into engine specs; the only place that does."""

from estimator.resolvers.choices import (
    GpuChoice,
    GpuShape,
    ModelChoice,
    ModelOverride,
    ModelShape,
    PlanChoice,
    PrecisionChoice,
    WorkloadChoice,
)
from estimator.resolvers.facts import Facts, StoredFacts, UnknownSlugError
from estimator.resolvers.issues import Issue, ResolutionError
from estimator.resolvers.plan import Checkpoint, Plan, Provenance, ResolvedGpu, ResolvedModel
from estimator.resolvers.resolve import resolve_plan

__all__ = [
    "Checkpoint",
    "Facts",
    "GpuChoice",
    "GpuShape",
    "Issue",
    "ModelChoice",
    "ModelOverride",
    "ModelShape",
    "Plan",
    "PlanChoice",
    "PrecisionChoice",
    "Provenance",
    "ResolutionError",
    "ResolvedGpu",
    "ResolvedModel",
    "StoredFacts",
    "UnknownSlugError",
    "WorkloadChoice",
    "resolve_plan",
]
