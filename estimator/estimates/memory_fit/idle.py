"""Settings of an engine that make no difference to a plan: found by leaving each out, not by a list kept by hand."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.memory.ledger import ranks
from estimator.engine.memory.replica_cache import cache_of
from estimator.engine.options import MemoryOverrides
from estimator.estimates.memory_fit.load import load_of, memory_plan
from estimator.resolvers.engine_settings import memory_settings
from estimator.resolvers.plan import Plan

# What every engine has, whether it binds here or not; the roofline makes no passes that a batch could limit.
GENERAL = {"utilization", "runtime_overhead_bytes", "max_batched_tokens", "max_num_seqs", "kv_cache_tokens_observed"}
GENERAL_IDEAL = GENERAL - {"max_batched_tokens"}
_ALL = tuple(field.name for field in fields(MemoryOverrides))


Same = Callable[[Plan, Plan], bool]
"""Whether two plans of the same memory are alike in whatever else is asked."""


def idle_settings(plan: Plan, prefix: str = "", *, same: Same | None = None) -> Iterator[str]:
    """A warning that names the memory settings that were given and change nothing of this model on this engine.

    Args:
        plan: the resolved plan.
        prefix: place of the plan in the request, with its last point.
        same: whether what is asked beside memory is the same; memory alone is asked when not given.
    """
    own = memory_settings(plan.engine_settings, plan.engine)
    idle = idle_names(plan, special_settings(plan), same=same)
    yield from idle_warning(prefix + (f"engine_settings.{own[n]}" if n in own else f"memory.{n}") for n in idle)


def special_settings(plan: Plan) -> list[str]:
    """Settings of a plan that only some engines have, as far as they were given."""
    general = GENERAL_IDEAL if plan.engine.ideal is not None else GENERAL
    return [name for name in _ALL if name not in general and getattr(plan.memory, name) is not None]


def idle_names(plan: Plan, given: Iterable[str], *, same: Same | None = None) -> list[str]:
    """Those of the memory settings given without which the memory of a plan, and what `same` compares, is the same."""
    given = list(given)
    if not given:
        return []
    own = _seen(plan)
    others = {name: _without(plan, name) for name in given}
    return [name for name, other in others.items() if _seen(other) == own and (same is None or same(plan, other))]


def _without(plan: Plan, override: str) -> Plan:
    """The plan without a memory override, nor the setting by its engine's own name that stated it."""
    stated_by = memory_settings(plan.engine_settings, plan.engine).get(override)
    left = {name: value for name, value in plan.engine_settings.items() if name != stated_by}
    return replace(plan, memory=replace(plan.memory, **{override: None}), engine_settings=left)


def idle_warning(paths: Iterable[str]) -> Iterator[str]:
    """The warning of settings that make no difference; none where there are none."""
    if names := ", ".join(paths):
        text = _("No difference: %(fields)s; so it is here anyway, or this engine and model have no use of it.")
        yield text % {"fields": names}


def _seen(plan: Plan) -> tuple[Any, ...]:
    """What the memory of a plan comes to: bytes of each rank, and what its cache holds of the load and of one token."""
    memory = memory_plan(plan)
    held = ranks(memory)
    cache = cache_of(memory, held)
    parts = ("kv_budget_bytes", "activation_bytes", "cuda_graph_bytes", "outside_graph_bytes", "batched_tokens")
    figures = tuple(getattr(rank, part) for rank in held for part in parts)
    return (*figures, cache.engine_sequences, *(float(cache.sequences(tokens)) for tokens in (1, load_of(plan)[1])))
