"""Resolves lengths and load: what each mode needs, defaults with an assumption, and the context window."""

from math import ceil

from django.utils.translation import gettext as _

from estimator.engine.specs import WorkloadMode
from estimator.question.traffic import TakenFrom, TrafficKind
from estimator.question.workload import ResolvedWorkload, Workload
from estimator.resolvers.collect import Collector

_PATH = ("workload",)
_ONE_AT_A_TIME = (WorkloadMode.SINGLE_STREAM,)
_NEEDS_CONCURRENCY = (WorkloadMode.CLOSED_LOOP, WorkloadMode.STATIC_BATCH, WorkloadMode.DECODE_STEP)


def resolve_workload(
    asked: Workload, *, context_window_tokens: int | None, assumptions: list[str], warnings: list[str]
) -> ResolvedWorkload:
    """The workload with nothing left open.

    Closed loop, static batch and decode step need a concurrency (1 is assumed); open loop needs a rate. A decode step
    may leave the lengths out when it gives context_tokens.

    Raises:
        ResolutionError: every field that is missing or contradicts the mode.
    """
    found = Collector()
    check_lengths(asked, found, _PATH)
    _check_load(asked, found)
    check_traffic(asked, found, _PATH)
    found.raise_if_any()
    if asked.concurrency is None and not asked.batch_sizes and asked.mode in _NEEDS_CONCURRENCY:
        assumptions.append(_("Concurrency not given: 1."))
    _check_window(asked, context_window_tokens, warnings)
    return asked.resolved()


def check_traffic(asked: Workload, found: Collector, path: tuple[str | int, ...]) -> None:
    """Notes traffic that a service or a mode does not have."""
    traffic = asked.traffic
    place = (*path, "traffic")
    if traffic.requests is not None and traffic.requests_per_concurrency is not None:
        found.add((*place, "requests"), "ambiguous", _("Give requests or requests_per_concurrency, not both."))
    if traffic.kind is TrafficKind.STEADY:
        for name in ("requests", "requests_per_concurrency", "random_range_ratio", "ramp_s"):
            if getattr(traffic, name) is not None:
                found.add((*place, name), "not_supported", _("Only traffic of kind benchmark has it."))
    elif asked.mode is not WorkloadMode.CLOSED_LOOP:
        detail = _("Mode %(mode)s has no benchmark client; closed_loop has.") % {"mode": asked.mode}
        found.add((*place, "kind"), "not_supported", detail)
    if traffic.ttft_at is TakenFrom.FORWARD and traffic.statistic != "mean":
        found.add((*place, "statistic"), "not_supported", _("From the first pass only a mean is said."))


def check_lengths(asked: Workload, found: Collector, path: tuple[str | int, ...]) -> None:
    """Notes lengths that a mode needs and that are not given, and a question of nothing."""
    if asked.mode is WorkloadMode.DECODE_STEP and asked.context_tokens is not None:
        return
    for name in ("input_tokens", "output_tokens"):
        if getattr(asked, name) is None:
            found.add((*path, name), "required", _("This field is required in mode %(mode)s.") % {"mode": asked.mode})
    if asked.input_tokens == 0 and asked.output_tokens == 0 and not asked.context_tokens:
        found.add(path, "invalid", _("There is nothing to do: prompt and answer are both of 0 tokens."))


def _check_load(asked: Workload, found: Collector) -> None:
    mode = asked.mode
    if mode is WorkloadMode.OPEN_LOOP and asked.requests_per_s is None:
        found.add((*_PATH, "requests_per_s"), "required", _("Open loop needs a rate of requests."))
    if mode is not WorkloadMode.OPEN_LOOP and asked.requests_per_s is not None:
        detail = _("Only open loop takes a rate; mode %(mode)s takes a concurrency.") % {"mode": mode}
        found.add((*_PATH, "requests_per_s"), "not_supported", detail)
    if mode in _ONE_AT_A_TIME and asked.concurrency not in (None, 1):
        found.add((*_PATH, "concurrency"), "out_of_range", _("A single stream has a concurrency of 1."))


def _check_window(asked: Workload, window: int | None, warnings: list[str]) -> None:
    total = max(ceil(asked.input_tokens or 0) + ceil(asked.output_tokens or 0), ceil(asked.context_tokens or 0))
    if window is not None and total > window:
        warnings.append(
            _("Prompt and answer need %(total)s tokens; the model's context window holds %(window)s.")
            % {"total": total, "window": window}
        )
