"""The scheduler of the examples in docs/model.md: an engine that states nothing of its own, started with defaults."""

from estimator.engine.serving.launch import LaunchSettings, Scheduler, scheduler_of
from estimator.engine.specs import Parallelism, ServingConstants


def scheduler() -> Scheduler:
    """Its scheduler."""
    return scheduler_of(LaunchSettings(), ServingConstants(), Parallelism())
