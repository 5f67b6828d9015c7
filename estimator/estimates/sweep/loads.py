"""Loads of a sweep's workloads: what each is evaluated at (batch sizes, or rates of arrival)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from estimator.engine.faults import Fault, FaultCode, ResolutionError
from estimator.engine.specs import WorkloadMode
from estimator.question.sweep import BatchRange, Sweep, SweptWorkload
from estimator.question.workload import ResolvedWorkload
from estimator.resolvers.collect import Collector
from estimator.resolvers.plan import ResolvedModel
from estimator.resolvers.workloads import check_lengths, check_traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """The load of each row: its batch size (0: the mode sets it) and its rate of arrival in requests/s (NaN: none).

    `refined` marks those that nobody asked for: they stand between a load within the targets and one that misses them.
    """

    batch: NDArray[np.int64]
    rate: NDArray[np.float64]
    refined: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.batch)

    def at(self, index: Any) -> "Loads":
        """The loads of some rows."""
        return Loads(batch=self.batch[index], rate=self.rate[index], refined=self.refined[index])


def joined(parts: Sequence[Loads]) -> Loads:
    """The loads of all parts, one after another."""
    return Loads(
        batch=np.concatenate([part.batch for part in parts]),
        rate=np.concatenate([part.rate for part in parts]),
        refined=np.concatenate([part.refined for part in parts]),
    )


def of_batches(batches: Any, refined: Sequence[int] = ()) -> Loads:
    """Loads of these batch sizes; those in `refined` are marked."""
    sizes = np.asarray(batches, dtype=np.int64)
    return Loads(batch=sizes, rate=np.full(len(sizes), np.nan), refined=np.isin(sizes, list(refined)))


def loads_of(workload: SweptWorkload, batch_sizes: Sequence[int]) -> Loads:
    """The loads that a workload is evaluated at, in row order."""
    if workload.takes_batches:
        return of_batches(workload.own_batches or batch_sizes)
    if workload.mode is WorkloadMode.OPEN_LOOP:
        rates = workload.rates
        none = np.zeros(len(rates), dtype=np.int64)
        return Loads(batch=none, rate=np.array(rates), refined=none.astype(np.bool_))
    return of_batches([1 if workload.mode is WorkloadMode.SINGLE_STREAM else 0])


def count_of_loads(workload: SweptWorkload, batches: int) -> int:
    """How many loads `loads_of` gives, counted without making them: what is refused must cost nothing."""
    if workload.takes_batches:
        return len(workload.own_batches) or batches
    return len(workload.rates) if workload.mode is WorkloadMode.OPEN_LOOP else 1


def load_faults(sweep: Sweep) -> list[Fault]:
    """Loads that a mode needs and does not have, or has and does not take; and batch sizes that nobody takes."""
    found = Collector()
    for number, workload in enumerate(sweep.workloads):
        check_lengths(workload, found, ("workloads", number))
        check_traffic(workload, found, ("workloads", number))
        for name, code, detail in _faults(workload):
            found.add(("workloads", number, name), code, detail)
    batched = [workload.mode for workload in sweep.workloads if workload.takes_batches and not workload.own_batches]
    if sweep.batch_sizes is None and batched:
        detail = _("Mode %(mode)s needs batch sizes.") % {"mode": batched[0]}
        found.add(("batch_sizes",), "required", detail)
    if sweep.batch_sizes is not None and not batched:
        found.add(("batch_sizes",), "not_supported", _("No workload of this sweep takes a batch size."))
    return found.faults


def _faults(workload: SweptWorkload) -> Iterator[tuple[str, FaultCode, str]]:
    mode = {"mode": workload.mode}
    if workload.mode is WorkloadMode.OPEN_LOOP:
        if not workload.requests_per_s:
            yield "requests_per_s", "required", _("Open loop needs rates of requests.")
    elif workload.requests_per_s:
        yield "requests_per_s", "not_supported", _("Mode %(mode)s takes no rate.") % mode
    if workload.mode is not WorkloadMode.OPEN_LOOP and workload.burstiness_cv != 1.0:
        yield "burstiness_cv", "not_supported", _("Mode %(mode)s has no arrivals that could be bursty.") % mode
    for name in ("concurrency", "batch_sizes"):
        if getattr(workload, name) and not workload.takes_batches:
            yield name, "not_supported", _("Mode %(mode)s takes no batch size.") % mode
    if workload.concurrency and workload.batch_sizes:
        yield "concurrency", "ambiguous", _("Give concurrency or batch_sizes, not both.")


def batch_sizes_of(given: Any) -> list[int]:
    """Batch sizes of a list or a range, ascending and each once; none where none are given.

    Raises:
        ResolutionError: A range that ends before it begins.
    """
    if given is None:
        return []
    if isinstance(given, BatchRange):
        first, last = given.from_, given.to
        if last < first:
            detail = _("The range ends before it begins.")
            raise ResolutionError([Fault(path=("batch_sizes", "to"), code="out_of_range", detail=detail)])
        if given.scale == "powers_of_two":
            sizes = {first, last} | {2**power for power in range(first.bit_length(), last.bit_length())}
            return sorted(size for size in sizes if first <= size <= last)
        return list(range(first, last + 1))
    return sorted(set(given))


def check_window(model: ResolvedModel, workload: ResolvedWorkload) -> None:
    """Whether prompt and answer fit into the model's context window.

    Raises:
        ResolutionError: they do not.
    """
    window = model.context_window_tokens
    needed = max(ceil(workload.input_tokens) + ceil(workload.output_tokens), ceil(workload.context_tokens or 0))
    if window is not None and needed > window:
        detail = _("%(needed)s tokens are more than the context window of %(model)s, %(window)s.") % {
            "needed": needed,
            "model": model.name,
            "window": window,
        }
        raise ResolutionError([Fault(path=(), code="out_of_range", detail=detail)])
