"""Memory settings that make no difference to a plan, its speed included: some of them decide the launch as well."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from estimator.engine.errors import MissingFigureError
from estimator.engine.specs import WorkloadMode
from estimator.estimates.memory_fit.idle import idle_settings
from estimator.estimates.memory_fit.load import memory_plan
from estimator.estimates.throughput.rows import rows_of
from estimator.estimates.throughput.setting import launch_of, setting_of, workload_of
from estimator.resolvers.plan import Plan

_LOADS = 8
"""Loads from one request to the most that run at once, at which the speed of two plans is compared."""


def idle_settings_of_speed(plan: Plan, prefix: str = "") -> Iterator[str]:
    """A warning that names the memory settings that were given and move neither memory nor speed of this plan.

    Args:
        plan: the resolved plan.
        prefix: place of the plan in the request, with its last point.
    """
    yield from idle_settings(plan, prefix, same=same_speed)


def with_idle_settings(plan: Plan, prefix: str) -> Plan:
    """The plan with the warning among its own."""
    return replace(plan, warnings=(*plan.warnings, *idle_settings_of_speed(plan, prefix)))


def same_launch(plan: Plan, other: Plan) -> bool:
    """Whether the schedulers of two plans are started alike."""
    return launch_of(plan, memory_plan(plan)) == launch_of(other, memory_plan(other))


def same_speed(plan: Plan, other: Plan) -> bool:
    """Whether two plans of one load and the same memory are as fast: started alike, or equal at every load tried."""
    if plan.workload is None or same_launch(plan, other):
        return True
    return _speed(plan) == _speed(other)


def _speed(plan: Plan) -> tuple[Any, ...]:
    """Every figure at loads from one request in flight to the most that run at once, in closed loop and as asked.

    An open loop's passes are those of the closed loop.
    """
    try:
        workload, setting = workload_of(plan), setting_of(plan)
    except MissingFigureError:
        # Of experts in host memory no speed is said, whatever else is set.
        return ()
    loads = np.geomspace(1.0, setting.speed.cache.engine_sequences, _LOADS)
    modes = {WorkloadMode.CLOSED_LOOP, workload.mode} - {WorkloadMode.OPEN_LOOP}
    found = [setting.sweep.evaluate(rows_of(workload, loads, mode=mode)) for mode in sorted(modes)]
    return tuple((name, values.tobytes()) for columns in found for name, values in columns.items())
