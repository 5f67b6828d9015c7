"""What a sweep gives in vain: fields that no setting of it has a use of, each named in a warning."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.utils.translation import gettext as _
from pydantic import BaseModel

from estimator.engine.specs import WorkloadMode
from estimator.estimates.memory_fit.idle import GENERAL, idle_names, idle_warning, special_settings
from estimator.estimates.sweep.axes import Axes
from estimator.estimates.sweep.evaluation import plan_of
from estimator.estimates.sweep.refining import has_targets
from estimator.estimates.throughput.idle import same_launch, same_speed
from estimator.estimates.throughput.targets import no_percentile_text
from estimator.estimates.unused import Unused, unused_in_plan, unused_warnings
from estimator.question.acting import is_given
from estimator.question.plan import Memory
from estimator.question.sweep import OverriddenEngine, Sweep
from estimator.question.workload import Targets
from estimator.resolvers.plan import Plan

# Settings that are tried, about 0.5 ms each: beyond them nothing is said of what none of these had a use of.
_MOST_TRIED = 1000
# Of these, settings whose speed is compared too, about 10 ms each: after them another launch counts as another speed.
_MOST_COMPARED = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class _Doubtful:
    """A field that was given: its place in the sweep, the axis and entry it belongs to, and its place in a plan."""

    path: str
    of_plan: str
    axis: int | None = None
    entry: int = 0

    def concerns(self, codes: tuple[int, ...]) -> bool:
        """Whether the setting at these places of the axes holds the field."""
        return self.axis is None or codes[self.axis] == self.entry


def unused_of_sweep(sweep: Sweep, axes: Axes, slo: Targets | None, *, is_refined: bool) -> Iterator[str]:
    """Warnings of the fields that change no row.

    Args:
        sweep: as asked for.
        axes: what it was resolved to.
        slo: the targets beside it.
        is_refined: whether a batch size was added between two that were asked for.
    """
    reasons, idle = _idle_in_every_setting(sweep, axes)
    yield from unused_warnings(sweep, [*_rules(sweep), *reasons], prefix="sweep.")
    if not any(gpu.spec.tdp_w for gpu in axes.gpus):
        unknown = _("the power of no GPU of the sweep is known")
        yield from unused_warnings(sweep, [("power", unknown), ("power_cap_w", unknown)], prefix="sweep.")
    open_loop = any(workload.mode is WorkloadMode.OPEN_LOOP for workload in sweep.workloads)
    if slo is not None:
        yield from unused_warnings(slo, prefix="slo.")
    if slo is not None and slo.percentile is not None and not open_loop:
        yield no_percentile_text()
    if sweep.refine and (slo is None or not has_targets(slo)):
        yield _("Not used: sweep.refine; there are no targets.")
    elif sweep.refine and not is_refined:
        yield _(
            "Not used: sweep.refine; no batch size lies between one within the targets and the next that misses them."
        )
    yield from idle_warning(f"sweep.{path}" for path in idle)


def _rules(sweep: Sweep) -> Iterator[Unused]:
    for name in Memory.model_fields:
        if all(isinstance(one, OverriddenEngine) and is_given(one.memory, name) for one in sweep.engines):
            yield f"memory.{name}", _("each engine has its own")
    if all(isinstance(one, OverriddenEngine) and one.launch is not None for one in sweep.engines):
        yield "launch", _("each engine has its own")


def _idle_in_every_setting(sweep: Sweep, axes: Axes) -> tuple[list[Unused], list[str]]:
    """Fields without which every setting is the same: those with a reason, and settings of an engine."""
    left = list(_doubtful(sweep))
    why: dict[str, str] = {}
    for number, codes in enumerate(np.ndindex(*axes.shape)):
        if not left or number == _MOST_TRIED:
            break
        if int(axes.unsupported(codes)) >= 0:
            continue
        plan = plan_of(axes, codes)
        reasons = dict(unused_in_plan(plan))
        given = {f"memory.{name}": name for name in special_settings(plan)}
        asked = [given[place] for place in dict.fromkeys(one.of_plan for one in left) if place in given]
        same = same_speed if number < _MOST_COMPARED else same_launch
        idle = {f"memory.{name}" for name in idle_names(plan, asked, same=same)}
        left = [
            one
            for one in left
            if not _at_work(one, codes, sweep, plan) or one.of_plan in reasons or one.of_plan in idle
        ]
        why |= {one.path: reasons[one.of_plan] for one in left if one.of_plan in reasons}
    if int(np.prod(axes.shape)) > _MOST_TRIED:
        return [], []
    return list(why.items()), [one.path for one in left if one.path not in why]


def _at_work(one: _Doubtful, codes: tuple[int, ...], sweep: Sweep, plan: Plan) -> bool:
    """Whether the setting would show that the field acts: it holds it, and no engine's own value stands before it."""
    if not one.concerns(codes):
        return False
    engine = sweep.engines[codes[2]]
    name = one.of_plan.removeprefix("memory.")
    own = isinstance(engine, OverriddenEngine) and (
        engine.launch is not None if name == "launch" else name in Memory.model_fields and is_given(engine.memory, name)
    )
    return not (one.axis is None and own)


def _doubtful(sweep: Sweep) -> Iterator[_Doubtful]:
    """Fields that were given and of which only the settings can tell whether they act."""
    yield from _of_entries(sweep.gpus, "gpus", 1, "gpu.", ("link", "link_bytes_per_s_per_direction", "scale_up_gpus"))
    formats = ("attention_weights", "expert_weights", "activations")
    yield from _of_entries(sweep.precisions, "precisions", 3, "precision.", formats)
    yield from _of_entries(sweep.workloads, "workloads", 5, "workload.", ("traffic",))
    yield from _of_entries(sweep.engines, "engines", 2, "", ("launch",))
    if sweep.lora is not None:
        yield _Doubtful(path="lora", of_plan="lora")
    if is_given(sweep, "launch"):
        yield _Doubtful(path="launch", of_plan="launch")
    special = [name for name in Memory.model_fields if name not in GENERAL]
    yield from (_Doubtful(path=f"memory.{n}", of_plan=f"memory.{n}") for n in special if is_given(sweep.memory, n))
    own = {place: one.memory for place, one in enumerate(sweep.engines) if isinstance(one, OverriddenEngine)}
    for place, memory in own.items():
        for one in _of_entries([memory], "engines", 2, "memory.", special):
            yield replace(one, path=f"engines.{place}.memory.{one.path.rpartition('.')[2]}", entry=place)


def _of_entries(
    entries: Sequence[object], axis: str, number: int, of_plan: str, names: Iterable[str]
) -> Iterator[_Doubtful]:
    """Fields of those names that entries of an axis give."""
    for place, entry in enumerate(entries):
        for name in names:
            if isinstance(entry, BaseModel) and getattr(entry, name) is not None and is_given(entry, name):
                yield _Doubtful(path=f"{axis}.{place}.{name}", of_plan=f"{of_plan}{name}", axis=number, entry=place)
