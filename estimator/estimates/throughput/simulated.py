"""Percentiles of a load played through request by request, beside those of the closed form."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from django.utils.translation import gettext as _
from pydantic import Field

from estimator.engine.codes import Reason
from estimator.engine.errors import InvalidInputError
from estimator.engine.serving.loop import Limits, Played, Request, can_be_played, play, play_arrivals
from estimator.engine.specs import WorkloadMode
from estimator.estimates.answers import ResponsePart
from estimator.estimates.throughput.compute import Throughput
from estimator.question.traffic import TrafficKind
from estimator.question.workload import ResolvedWorkload

Floats = npt.NDArray[np.float64]
MOST_REQUESTS = 2000
# Rounds of the loop that a request may take: some seconds of work.
_MOST_ROUNDS = 20_000
_FEWEST = 200
# The first of them find an emptier server than the others do, in a loop until its requests have come in twice.
_ROUNDS_OF_A_LOOP, _STARTING_ROUNDS, _STARTING_SHARE = 10, 2, 0.2
# Rounds of requests in flight that are played at least; requests of arrivals, whose 99th percentile is asked for.
_FEWEST_ROUNDS, _ARRIVALS = 3, 1000
_PERCENTILES = (50, 90, 99)
_PLAYED = (WorkloadMode.CLOSED_LOOP, WorkloadMode.OPEN_LOOP, WorkloadMode.SINGLE_STREAM)
Percentiles = Literal["closed_form", "simulated"]


class SimulatedTime(ResponsePart):
    """A time over the requests that were counted, seconds."""

    mean: float = Field(description="Mean, seconds.")
    p50: float = Field(description="Half of the requests take no longer, seconds.")
    p90: float = Field(description="90 % of the requests take no longer, seconds.")
    p99: float = Field(description="99 % of the requests take no longer, seconds.")


class SimulatedPart(ResponsePart):
    """The load played through the same passes and steps, request by request; the same question has the same figures."""

    requests: int = Field(description="Requests that were played, count; 0 where none could be.")
    counted: int = Field(description="Of these, requests that the figures are of: those that found the load, count.")
    passes: int = Field(description="Passes with prompts that they took, count.")
    seed: int = Field(description="Seed of lengths and arrivals.")
    ttft_s: SimulatedTime | None = Field(description="Time to the first token, from the client; null with a reason.")
    tpot_s: SimulatedTime | None = Field(description="Mean time between tokens of each answer that has two.")
    e2e_s: SimulatedTime | None = Field(description="Time to the whole answer.")
    closed_form_ttft_s: SimulatedTime | None = Field(
        description="What the closed form says of the time to the first token; null where it says none."
    )
    reason: str | None = Field(description="Why nothing was played; null where it was.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Requests to play (None: as many as the load asks for) and the seed of their lengths and arrivals."""

    requests: int | None
    seed: int


def simulated(result: Throughput, asked: Asked) -> SimulatedPart:
    """The load of an estimate, played through.

    Raises:
        InvalidInputError: fewer requests than twice those in flight, or more work than the limit.
    """
    reason = _obstacle(result)
    if reason is not None:
        unsaid = dict.fromkeys(("ttft_s", "tpot_s", "e2e_s"))
        return SimulatedPart(
            requests=0,
            counted=0,
            passes=0,
            seed=asked.seed,
            closed_form_ttft_s=_closed_form(result),
            reason=reason,
            **unsaid,
        )
    requests = _drawn(result.workload, asked)
    played = _play(result, requests, asked)
    counted = slice(_starting(result.workload, len(requests)), None)
    answers = _gaps(played, requests, counted)
    return SimulatedPart(
        requests=len(requests),
        counted=len(requests) - counted.start,
        passes=played.passes,
        seed=asked.seed,
        ttft_s=_time(played.first_s[counted]),
        tpot_s=_time(answers) if len(answers) else None,
        e2e_s=_time(played.last_s[counted]),
        closed_form_ttft_s=_closed_form(result),
        reason=None,
    )


def _obstacle(result: Throughput) -> str | None:
    """Why a load is not played, None where it is."""
    key, workload = result.prepared, result.workload
    if workload.mode not in _PLAYED:
        return _("Only requests in flight and arrivals are played: closed_loop, single_stream and open_loop.")
    if result.figures.reason not in (Reason.NONE, Reason.NO_SECOND_TOKEN, Reason.KV_SETTINGS_ASSUMED):
        return _("No times are said under this load: see expected.reason.")
    if key.serving is None or key.scheduler is None:
        return _("Only serving engines are played: llama.cpp and ideal have no queue.")
    if not can_be_played(key.serving, key.scheduler):
        return _("One attention-data rank and pipeline stage is played, without waits to batch.")
    if result.plan.power_cap_w is not None:
        return _("A cap on power is not played: see expected for the times under it.")
    if result.plan.calibration is not None:
        return _("A calibration corrects the expected times alone: ask with calibrated=false to play the load.")
    if workload.prefix_cache_hit_rate:
        return _("Prompts with a common prefix are not played.")
    return None


def _drawn(workload: ResolvedWorkload, asked: Asked) -> list[Request]:
    """Lengths of the requests: their means, or uniform as traffic says, fractions drawn up or down."""
    opened = workload.mode is WorkloadMode.OPEN_LOOP
    in_flight = 1 if opened else workload.concurrency
    rounds = workload.traffic.waves(in_flight) or _ROUNDS_OF_A_LOOP
    wanted = asked.requests or min(max(round(rounds * in_flight), _ARRIVALS if opened else _FEWEST), MOST_REQUESTS)
    if wanted < _FEWEST_ROUNDS * in_flight:
        detail = _("Give at least three times workload.concurrency, %(n)s; at most %(most)s are played.") % {
            "n": _FEWEST_ROUNDS * in_flight,
            "most": MOST_REQUESTS,
        }
        raise InvalidInputError(detail, field="simulated_requests")
    random, ratio = np.random.default_rng(asked.seed), workload.traffic.length_ratio
    drawn = []
    for mean, least in ((workload.input_tokens, 1), (workload.output_tokens, 1)):
        longest = 2.0 * mean / (1.0 + ratio)
        lengths = np.floor(random.uniform(ratio * longest, longest, wanted) + random.uniform(size=wanted))
        drawn.append(np.maximum(lengths if ratio < 1.0 or mean % 1.0 else np.full(wanted, mean), least).astype(int))
    return [Request(input_tokens=int(a), output_tokens=int(b)) for a, b in zip(*drawn, strict=True)]


def _play(result: Throughput, requests: list[Request], asked: Asked) -> Played:
    key, workload = result.prepared, result.workload
    assert key.serving is not None and key.scheduler is not None  # noqa: PT018, S101  checked before
    limits = Limits(places=max(float(result.figures.max_sequences or 1.0), 1.0), rounds=_MOST_ROUNDS)
    client = workload.traffic.client_s
    if workload.mode is WorkloadMode.OPEN_LOOP:
        arrivals = _arrivals(workload, len(requests), asked.seed)
        return play_arrivals(key.serving, key.scheduler, requests, arrivals, client_s=client, limits=limits)
    whole = result.figures.expected["e2e_s"].mid or 0.0
    # A service's requests come evenly over a cycle, a benchmark's at once or over its ramp.
    steady = workload.traffic.kind is TrafficKind.STEADY
    over = whole if steady else workload.traffic.ramp_s or 0.0
    gap = over / workload.concurrency
    return play(
        key.serving, key.scheduler, requests, workload.concurrency, client_s=client, sending_gap_s=gap, limits=limits
    )


def _arrivals(workload: ResolvedWorkload, count: int, seed: int) -> list[float]:
    """Gamma-distributed gaps of the mean and the variation asked for; regular ones where it is 0."""
    mean, variation = 1.0 / (workload.requests_per_s or 1.0), workload.burstiness_cv
    if variation == 0.0:
        return [mean * number for number in range(count)]
    shape = variation**-2
    gaps = np.random.default_rng((seed, 1)).gamma(shape, mean / shape, count)
    return [float(at) for at in np.cumsum(gaps)]


def _starting(workload: ResolvedWorkload, count: int) -> int:
    """Requests at the start that find an emptier server; a benchmark counts all of its own."""
    if workload.mode is WorkloadMode.OPEN_LOOP:
        return int(_STARTING_SHARE * count)
    return 0 if workload.traffic.kind is TrafficKind.BENCHMARK else _STARTING_ROUNDS * workload.concurrency


def _gaps(played: Played, requests: list[Request], counted: slice) -> Floats:
    part = Played(first_s=played.first_s[counted], last_s=played.last_s[counted], passes=played.passes)
    return part.tpot_s(requests[counted])


def _time(values: Floats) -> SimulatedTime:
    p50, p90, p99 = (float(value) for value in np.percentile(values, _PERCENTILES))
    return SimulatedTime(mean=float(values.mean()), p50=p50, p90=p90, p99=p99)


def _closed_form(result: Throughput) -> SimulatedTime | None:
    figures = result.figures
    parts = (figures.ttft_outside_s, figures.ttft_waiting_s, figures.ttft_forward_s)
    found = (figures.ttft_s_p50, figures.ttft_s_p90, figures.ttft_s_p99)
    if any(value is None for value in (*parts, *found)):
        return None
    return SimulatedTime(
        mean=sum(value or 0.0 for value in parts), p50=found[0] or 0.0, p90=found[1] or 0.0, p99=found[2] or 0.0
    )
