"""Workloads of a sweep: lengths and mode, and the loads each is evaluated at (batch sizes, or rates of arrival)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from estimator.engine.specs import WorkloadMode
from estimator.question.workload import ResolvedWorkload
from estimator.resolvers.issues import Issue, IssueCode, ResolutionError
from estimator.resolvers.plan import ResolvedModel

UP_TO_FIT = "max"
# Modes whose load is the batch size of the row; the others set their own: a rate, what fits, or one stream.
BATCH_MODES = (WorkloadMode.CLOSED_LOOP, WorkloadMode.STATIC_BATCH, WorkloadMode.DECODE_STEP)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepWorkload:
    """Lengths in tokens and mode of one workload; `rates` are its arrivals in requests/s, of an open loop only."""

    label: str
    mode: WorkloadMode
    input_tokens: int
    output_tokens: int
    context_tokens: int | None
    prefix_cache_hit_rate: float
    rates: tuple[float, ...]
    burstiness_cv: float

    @property
    def takes_batches(self) -> bool:
        """Whether its load is a batch size."""
        return self.mode in BATCH_MODES

    @property
    def longest_tokens(self) -> int:
        """Length that a sequence reaches, tokens."""
        return self.context_tokens or self.input_tokens + self.output_tokens

    def asked(self) -> ResolvedWorkload:
        """The workload as an estimate takes it, at a load of one."""
        return ResolvedWorkload(
            mode=self.mode,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            context_tokens=self.context_tokens,
            burstiness_cv=self.burstiness_cv,
            prefix_cache_hit_rate=self.prefix_cache_hit_rate,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """The load of each row: its batch size (0: the mode sets it) and its rate of arrival in requests/s (NaN: none)."""

    batch: NDArray[np.int64]
    rate: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.batch)

    def at(self, index: Any) -> "Loads":
        """The loads of some rows."""
        return Loads(batch=self.batch[index], rate=self.rate[index])


def joined(parts: Sequence[Loads]) -> Loads:
    """The loads of all parts, one after another."""
    return Loads(
        batch=np.concatenate([part.batch for part in parts]), rate=np.concatenate([part.rate for part in parts])
    )


def of_batches(batches: Any) -> Loads:
    """Loads of these batch sizes."""
    sizes = np.asarray(batches, dtype=np.int64)
    return Loads(batch=sizes, rate=np.full(len(sizes), np.nan))


def loads_of(workload: SweepWorkload, batch_sizes: Sequence[int]) -> Loads:
    """The loads that a workload is evaluated at, in row order."""
    if workload.takes_batches:
        return of_batches(batch_sizes)
    if workload.mode is WorkloadMode.OPEN_LOOP:
        return Loads(batch=np.zeros(len(workload.rates), dtype=np.int64), rate=np.array(workload.rates))
    return of_batches([1 if workload.mode is WorkloadMode.SINGLE_STREAM else 0])


def count_of_loads(workload: SweepWorkload, batches: int) -> int:
    """How many loads `loads_of` gives, counted without making them: what is refused must cost nothing."""
    if workload.takes_batches:
        return batches
    return len(workload.rates) if workload.mode is WorkloadMode.OPEN_LOOP else 1


def workload_of(given: Mapping[str, Any]) -> SweepWorkload:
    """A workload as stored with a report; keys that older reports lack have the API's defaults."""
    context = given.get("context_tokens")
    return SweepWorkload(
        label=_label(given),
        mode=WorkloadMode(given["mode"]),
        input_tokens=int(given["input_tokens"]),
        output_tokens=int(given["output_tokens"]),
        context_tokens=None if context is None else int(context),
        prefix_cache_hit_rate=float(given.get("prefix_cache_hit_rate") or 0.0),
        rates=tuple(sorted(set(map(float, given.get("requests_per_s") or ())))),
        burstiness_cv=_burstiness(given),
    )


def _burstiness(given: Mapping[str, Any]) -> float:
    asked = given.get("burstiness_cv")
    return 1.0 if asked is None else float(asked)


def _label(given: Mapping[str, Any]) -> str:
    if given.get("name"):
        return str(given["name"])
    label = f"{given['mode']} {given['input_tokens']}+{given['output_tokens']}"
    if given.get("context_tokens"):
        label += f" at {given['context_tokens']}"
    if given.get("prefix_cache_hit_rate"):
        label += f" hit {given['prefix_cache_hit_rate']:g}"
    if _burstiness(given) != 1.0:
        label += f" cv {_burstiness(given):g}"
    return label


def load_faults(workloads: Sequence[Mapping[str, Any]], batch_sizes: Any) -> list[Issue]:
    """Loads that a mode needs and does not have, or has and does not take; and batch sizes that nobody takes."""
    issues = []
    for number, given in enumerate(workloads):
        for name, code, detail in _faults(given):
            issues.append(Issue(path=("workloads", number, name), code=code, detail=detail))
    batched = [WorkloadMode(given["mode"]) in BATCH_MODES for given in workloads]
    if batch_sizes is None and any(batched):
        detail = _("Mode %(mode)s needs batch sizes.") % {"mode": workloads[batched.index(True)]["mode"]}
        issues.append(Issue(path=("batch_sizes",), code="required", detail=detail))
    if batch_sizes is not None and not any(batched):
        detail = _("No workload of this sweep takes a batch size.")
        issues.append(Issue(path=("batch_sizes",), code="not_supported", detail=detail))
    return issues


def _faults(given: Mapping[str, Any]) -> list[tuple[str, IssueCode, str]]:
    mode, open_loop = given["mode"], given["mode"] == WorkloadMode.OPEN_LOOP
    found: list[tuple[str, IssueCode, str]] = []
    if open_loop and not given.get("requests_per_s"):
        found.append(("requests_per_s", "required", _("Open loop needs rates of requests.")))
    if not open_loop and given.get("requests_per_s"):
        found.append(("requests_per_s", "not_supported", _("Mode %(mode)s takes no rate.") % {"mode": mode}))
    if not open_loop and given.get("burstiness_cv") is not None:
        detail = _("Mode %(mode)s has no arrivals that could be bursty.") % {"mode": mode}
        found.append(("burstiness_cv", "not_supported", detail))
    return found


def batch_sizes_of(given: Any) -> list[int]:
    """Batch sizes of a list or a range, ascending and each once; none where none are given.

    Raises:
        ResolutionError: A range that ends before it begins.
    """
    if given is None:
        return []
    if isinstance(given, Mapping):
        first, last = int(given["from"]), int(given["to"])
        if last < first:
            detail = _("The range ends before it begins.")
            raise ResolutionError([Issue(path=("batch_sizes", "to"), code="out_of_range", detail=detail)])
        if given["scale"] == "powers_of_two":
            sizes = {first, last} | {2**power for power in range(first.bit_length(), last.bit_length())}
            return sorted(size for size in sizes if first <= size <= last)
        return list(range(first, last + 1))
    return sorted(set(given))


def check_window(model: ResolvedModel, workload: SweepWorkload) -> None:
    """Whether prompt and answer fit into the model's context window.

    Raises:
        ResolutionError: they do not.
    """
    window = model.context_window_tokens
    needed = max(workload.input_tokens + workload.output_tokens, workload.context_tokens or 0)
    if window is not None and needed > window:
        detail = _("%(needed)s tokens are more than the context window of %(model)s, %(window)s.") % {
            "needed": needed,
            "model": model.name,
            "window": window,
        }
        raise ResolutionError([Issue(path=(), code="out_of_range", detail=detail)])
