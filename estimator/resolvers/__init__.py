"""Turns catalog facts, or inline values of a question, into engine specs; the only place that does."""

from estimator.engine.faults import Fault, ResolutionError
from estimator.resolvers.facts import Facts, StoredFacts, UnknownSlugError
from estimator.resolvers.plan import Checkpoint, Plan, Provenance, ResolvedGpu, ResolvedModel
from estimator.resolvers.resolve import resolve_plan

__all__ = [
    "Checkpoint",
    "Facts",
    "Fault",
    "Plan",
    "Provenance",
    "ResolutionError",
    "ResolvedGpu",
    "ResolvedModel",
    "StoredFacts",
    "UnknownSlugError",
    "resolve_plan",
]
