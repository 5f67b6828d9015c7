"""Fields that a request gives and an estimate does not use: said in a warning, never silently ignored."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.utils.translation import gettext as _
from pydantic import BaseModel

from estimator.engine.specs import WorkloadMode
from estimator.question.workload import Workload

Unused = tuple[str, str]
"""A dotted path below a body, and in words why the field there is not used."""


def unused_warnings(body: BaseModel, rules: Iterable[Unused], *, prefix: str = "") -> tuple[str, ...]:
    """One warning for each reason, naming the fields it holds for that were given another value than their default.

    Args:
        body: The request or a part of it.
        rules: Paths below it with the reason why they are not used.
        prefix: Path of the part in the request, with its last point.
    """
    by_reason: dict[str, list[str]] = {}
    for path, why in rules:
        if _given(body, path):
            by_reason.setdefault(why, []).append(f"{prefix}{path}")
    return tuple(
        _("Not used: %(fields)s; %(why)s.") % {"fields": ", ".join(names), "why": why}
        for why, names in by_reason.items()
    )


def _given(body: Any, path: str) -> bool:
    *parents, name = path.split(".")
    for parent in parents:
        body = getattr(body, parent)
    if not isinstance(body, BaseModel) or name not in body.model_fields_set:
        return False
    default = type(body).model_fields[name].get_default(call_default_factory=True)
    return bool(getattr(body, name) != default)


def unused_load(workload: Workload | None) -> Iterator[Unused]:
    """What a mode of load does not take."""
    if workload is None:
        return
    if workload.mode is WorkloadMode.OPEN_LOOP:
        yield "workload.concurrency", _("an open loop's requests in flight follow from its rate")
    else:
        yield "workload.burstiness_cv", _("only an open loop has arrivals")
    if workload.mode is WorkloadMode.OFFLINE:
        yield "workload.concurrency", _("offline takes as many as memory holds")


def unused_by_memory() -> Iterator[Unused]:
    """What the memory of a replica does not depend on."""
    for path in ("slo", "power", "workload.batch_sizes"):
        yield path, _("memory does not depend on it")
    for path in ("workload.requests_per_s", "workload.burstiness_cv"):
        yield path, _("memory is that of the requests in flight, workload.concurrency")
    yield "workload.prefix_cache_hit_rate", _("every prompt is counted whole, as if no two shared a prefix")


def unused_by_money(workload: Workload | None) -> Iterator[Unused]:
    """What the speed behind a cost does not take."""
    yield from unused_load(workload)
    if workload is not None and workload.mode is WorkloadMode.OPEN_LOOP:
        yield "workload.burstiness_cv", _("the cost is that of the highest rate that is stable")
    yield "workload.batch_sizes", _("the cost is that of one load")
    yield "slo", _("the load is not cut to meet targets: see sizing")
    yield "speculative", _("the speed is that without speculation")


_OF_A_PLAN = (
    "model", "engine", "parallelism", "precision", "memory", "workload.mode", "workload.context_tokens",
    "workload.concurrency", "workload.requests_per_s", "workload.burstiness_cv", "workload.batch_sizes", "slo",
    "speculative", "lora", "mtp_layers_loaded",
)  # fmt: skip


def unused_beside_a_rate(kept: Iterable[str]) -> Iterator[Unused]:
    """What does not count where the tokens per second are given; `kept` still do."""
    why = _("tokens_per_s_output is given")
    yield from ((path, why) for path in _OF_A_PLAN if path not in set(kept))


def unused_of_a_bill(why: str, *, inline: bool) -> Iterator[Unused]:
    """The usage side of an `api` part where the lengths come from elsewhere; days where the prices are stated."""
    yield from ((path, why) for path in ("usage", "usage_convention", "requests", "partial"))
    if inline:
        yield from unused_days()


def unused_days() -> Iterator[Unused]:
    """Days of stated prices."""
    yield from ((path, _("the stated prices are taken to hold")) for path in ("on", "at"))
