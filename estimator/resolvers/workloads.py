"""Resolves lengths and load: what each mode needs, defaults with an assumption, and the context window."""

from math import ceil

from django.utils.translation import gettext as _

from estimator.engine.specs import Workload, WorkloadMode
from estimator.resolvers.choices import WorkloadChoice
from estimator.resolvers.collect import Collector

_PATH = ("workload",)
_ONE_AT_A_TIME = (WorkloadMode.SINGLE_STREAM,)
_NEEDS_CONCURRENCY = (WorkloadMode.CLOSED_LOOP, WorkloadMode.STATIC_BATCH, WorkloadMode.DECODE_STEP)


def resolve_workload(
    choice: WorkloadChoice, *, context_window_tokens: int | None, assumptions: list[str], warnings: list[str]
) -> Workload:
    """The workload of the engine.

    Closed loop, static batch and decode step need a concurrency (1 is assumed); open loop needs a rate. A decode step
    may leave the lengths out when it gives context_tokens.

    Raises:
        ResolutionError: every field that is missing or contradicts the mode.
    """
    found = Collector()
    _check_lengths(choice, found)
    _check_load(choice, found)
    found.raise_if_any()
    if choice.concurrency is None and not choice.batch_sizes and choice.mode in _NEEDS_CONCURRENCY:
        assumptions.append(_("Concurrency not given: 1."))
    _check_window(choice, context_window_tokens, warnings)
    return Workload(
        mode=choice.mode,
        input_tokens=_first(choice.input_tokens, choice.context_tokens),
        output_tokens=_first(choice.output_tokens, 1),
        context_tokens=choice.context_tokens,
        concurrency=choice.concurrency or 1,
        requests_per_s=choice.requests_per_s,
        burstiness_cv=choice.burstiness_cv,
        prefix_cache_hit_rate=choice.prefix_cache_hit_rate,
    )


def _first(*lengths: float | None) -> float:
    """The first length that is given, tokens."""
    return next((length for length in lengths if length is not None), 0)


def _check_lengths(choice: WorkloadChoice, found: Collector) -> None:
    if choice.mode is WorkloadMode.DECODE_STEP and choice.context_tokens is not None:
        return
    for name in ("input_tokens", "output_tokens"):
        if getattr(choice, name) is None:
            found.add((*_PATH, name), "required", _("This field is required in mode %(mode)s.") % {"mode": choice.mode})
    if choice.input_tokens == 0 and choice.output_tokens == 0 and not choice.context_tokens:
        found.add(_PATH, "invalid", _("There is nothing to do: prompt and answer are both of 0 tokens."))


def _check_load(choice: WorkloadChoice, found: Collector) -> None:
    mode = choice.mode
    if mode is WorkloadMode.OPEN_LOOP and choice.requests_per_s is None:
        found.add((*_PATH, "requests_per_s"), "required", _("Open loop needs a rate of requests."))
    if mode is not WorkloadMode.OPEN_LOOP and choice.requests_per_s is not None:
        detail = _("Only open loop takes a rate; mode %(mode)s takes a concurrency.") % {"mode": mode}
        found.add((*_PATH, "requests_per_s"), "not_supported", detail)
    if mode in _ONE_AT_A_TIME and choice.concurrency not in (None, 1):
        found.add((*_PATH, "concurrency"), "out_of_range", _("A single stream has a concurrency of 1."))


def _check_window(choice: WorkloadChoice, window: int | None, warnings: list[str]) -> None:
    total = max(ceil(choice.input_tokens or 0) + ceil(choice.output_tokens or 0), ceil(choice.context_tokens or 0))
    if window is not None and total > window:
        warnings.append(
            _("Prompt and answer need %(total)s tokens; the model's context window holds %(window)s.")
            % {"total": total, "window": window}
        )
