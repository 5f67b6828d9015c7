"""What of a receipt cannot be true, each with its reason and the place in the file; no estimate is needed for these.

Shares and tolerances are of arithmetic, not of speed: rounding, requests under way at the ends of a run, and lengths
that differ between requests.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from receipts.reading.receipt import Receipt, Run

MOST_FAILED_SHARE = 0.01
LENGTH_TOLERANCE = 0.10
LEAST_LOAD_SHARE = 0.8
MOST_LOAD_SHARE = 1.15
LEAST_ROUNDS = 3.0
_RATE_TOLERANCE = 0.05
_ENDS_OF_A_RUN = 2.0
_SUM_TOLERANCE = 0.30
_REQUESTS_THAT_SAY_A_RATE = 20.0
_ORDER = ("min", "median", "p75", "p90", "p95", "p99", "max")
_ROUNDING = 1e-6
_SHARES = ("cache_share", "prefix_hit_share")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Why a file cannot be true: a code, the place in it, and a sentence."""

    code: str
    field: str
    detail: str


def lengths_agree(got: float, asked: float) -> bool:
    """Whether requests had the lengths (tokens) that were asked for: within 10 %, or one token."""
    return abs(got - asked) <= LENGTH_TOLERANCE * asked + 1.0


def faults_of(receipt: Receipt) -> tuple[Flaw, ...]:
    """Every fault of every run.

    A start-up log and a scrape have no load: what they print is checked for what no number may be.
    """
    found = [fault for run in receipt.runs for fault in _of_run(run)]
    found += _of_settings(receipt)
    return tuple(dict.fromkeys(found))


def _of_run(run: Run) -> Iterator[Flaw]:
    impossible = [*_signs(run), *_order(run)]
    yield from impossible
    yield from _requests(run)
    yield from _lengths(run)
    if not impossible:
        yield from _rates(run)
        yield from _times(run)
        yield from _load(run)


def _signs(run: Run) -> Iterator[Flaw]:
    for one in run.figures:
        if one.value < 0.0:
            yield Flaw(code="negative", field=one.field, detail=f"{one.name} is below zero")
        elif one.name in _SHARES and one.value > 1.0 + _ROUNDING:
            yield Flaw(code="above_one", field=one.field, detail=f"{one.name} is a share and above 1")
        elif one.value == 0.0 and one.statistic in ("mean", "median") and _never_zero(one.name, run):
            yield Flaw(code="zero", field=one.field, detail=f"{one.name} is zero, which no run has")
    for name in type(run.load).__slots__:
        value = getattr(run.load, name)
        if value is not None and value < 0.0:
            yield Flaw(code="negative", field=run.field_of(name), detail=f"{name} is below zero")
    if run.load.duration_s == 0.0:
        yield Flaw(code="zero_duration", field=run.field_of("duration_s"), detail="the run took no time")


def _never_zero(name: str, run: Run) -> bool:
    """Times of tokens that were there; a run of one token an answer has none between two."""
    if name in ("ttft_s", "e2e_s") or name.endswith("tokens_per_s"):
        return name != "total_tokens_per_s" and (run.load.requests or 0.0) > 0.0 and bool(run.load.output_tokens)
    return name in ("tpot_s", "itl_s") and (run.load.output_tokens or 0.0) >= 2.0


def _order(run: Run) -> Iterator[Flaw]:
    for name in {one.name for one in run.figures}:
        by = {one.statistic: one for one in run.figures if one.name == name and one.low is None}
        for lower, upper in pairwise([by[key] for key in _ORDER if key in by]):
            if lower.value > upper.value * (1.0 + _ROUNDING):
                detail = f"{upper.statistic} of {name} is below its {lower.statistic}"
                yield Flaw(code="percentiles_out_of_order", field=upper.field, detail=detail)
        mean = by.get("mean")
        for key, beyond in (("min", -1.0), ("max", 1.0)):
            end = by.get(key)
            if mean is not None and end is not None and beyond * (mean.value - end.value) > _ROUNDING * abs(end.value):
                detail = f"the mean of {name} is beyond its {key}"
                yield Flaw(code="percentiles_out_of_order", field=mean.field, detail=detail)


def _requests(run: Run) -> Iterator[Flaw]:
    load = run.load
    done, failed = load.requests, load.failed or 0.0
    if done is not None and done == 0.0 and (run.figures or failed):
        yield Flaw(code="no_requests", field=run.field_of("requests"), detail="no request was completed")
        return
    if done is None:
        return
    if done != math.floor(done):
        yield Flaw(code="not_whole", field=run.field_of("requests"), detail="requests are no whole number")
    if failed > MOST_FAILED_SHARE * (done + failed):
        detail = f"{failed:.0f} of {done + failed:.0f} requests failed; at most 1 % may"
        yield Flaw(code="failed_requests", field=run.field_of("failed"), detail=detail)
    asked = load.requests_asked
    if asked is not None and done + failed > asked * (1.0 + _ROUNDING):
        detail = f"{done + failed:.0f} requests came of {asked:.0f} that were sent"
        yield Flaw(code="more_requests_than_sent", field=run.field_of("requests"), detail=detail)
    if asked is not None and load.failed is not None and done + failed < asked * (1.0 - MOST_FAILED_SHARE):
        detail = f"{done + failed:.0f} requests are counted of {asked:.0f} that were sent"
        yield Flaw(code="requests_missing", field=run.field_of("requests"), detail=detail)
    if load.concurrency_asked is not None and done < load.concurrency_asked:
        detail = f"{done:.0f} requests cannot keep {load.concurrency_asked:.0f} in flight"
        yield Flaw(code="fewer_requests_than_concurrency", field=run.field_of("requests"), detail=detail)


def _lengths(run: Run) -> Iterator[Flaw]:
    for way in ("input", "output"):
        got, asked = getattr(run.load, f"{way}_tokens"), getattr(run.load, f"{way}_tokens_asked")
        if got is not None and asked and not lengths_agree(got, asked):
            detail = f"{got:.6g} {way} tokens a request, {asked:.6g} were asked for"
            yield Flaw(code="lengths_do_not_match", field=run.field_of(f"{way}_tokens"), detail=detail)
        total = getattr(run.load, f"total_{way}_tokens")
        if got is not None and total is not None and run.load.requests:
            whole = got * run.load.requests
            if abs(whole - total) > 0.02 * max(whole, total) + 2.0 * max(got, 1.0):
                detail = f"{total:.6g} {way} tokens are not {run.load.requests:.0f} requests of {got:.6g}"
                field = run.field_of(f"total_{way}_tokens")
                yield Flaw(code="lengths_do_not_match", field=field, detail=detail)


def _rates(run: Run) -> Iterator[Flaw]:
    """Rates against counts over the duration: requests under way at the ends of a run may count or not."""
    load = run.load
    if not load.duration_s or not load.requests:
        return
    slack = _RATE_TOLERANCE + _ENDS_OF_A_RUN / load.requests
    rate = load.requests / load.duration_s
    inputs, outputs = (_per_request(run, way) for way in ("input", "output"))
    expected = {
        "requests_per_s": rate,
        "output_tokens_per_s": None if outputs is None else rate * outputs,
        "input_tokens_per_s": None if inputs is None else rate * inputs,
        "total_tokens_per_s": None if inputs is None or outputs is None else rate * (inputs + outputs),
    }
    for name, value in expected.items():
        figure = run.figure(name, "mean")
        if figure is None or value is None or value <= 0.0:
            continue
        if abs(figure.value / value - 1.0) > slack:
            detail = f"{name} is {figure.value:.6g}, counts over the duration give {value:.6g}"
            yield Flaw(code="rate_contradicts_counts", field=figure.field, detail=detail)


def _per_request(run: Run, way: str) -> float | None:
    mean: float | None = getattr(run.load, f"{way}_tokens")
    total: float | None = getattr(run.load, f"total_{way}_tokens")
    if mean is None and total is not None and run.load.requests:
        return total / run.load.requests
    return mean


def _times(run: Run) -> Iterator[Flaw]:
    """The end-to-end time is first token and further tokens; only means can be added."""
    e2e, first, each = (run.figure(name, "mean") for name in ("e2e_s", "ttft_s", "tpot_s"))
    if e2e is None:
        return
    if first is not None and first.value > e2e.value * (1.0 + _ROUNDING):
        detail = "the first token comes later than the last one"
        yield Flaw(code="times_contradict", field=first.field, detail=detail)
        return
    outputs = run.load.output_tokens
    if first is None or each is None or outputs is None or outputs < 2.0:
        return
    whole = first.value + (outputs - 1.0) * each.value
    if abs(whole / e2e.value - 1.0) > _SUM_TOLERANCE:
        detail = f"first token and {outputs - 1.0:.6g} further ones make {whole:.6g} s, the file says {e2e.value:.6g}"
        yield Flaw(code="times_contradict", field=e2e.field, detail=detail)


def _load(run: Run) -> Iterator[Flaw]:
    """The load that was reached, by Little's law where the file does not say it."""
    load = run.load
    rate = run.figure("requests_per_s", "mean")
    achieved = rate.value if rate is not None else None
    if achieved is None and load.requests and load.duration_s:
        achieved = load.requests / load.duration_s
    asked_rate = load.requests_per_s_asked
    if asked_rate and achieved and (load.requests or 0.0) >= _REQUESTS_THAT_SAY_A_RATE:
        if achieved < LEAST_LOAD_SHARE * asked_rate:
            detail = f"{achieved:.4g} requests/s were served of {asked_rate:.4g} asked for"
            yield Flaw(code="load_not_reached", field=run.field_of("requests_per_s_asked"), detail=detail)
        elif achieved > (1.0 + _SUM_TOLERANCE) * asked_rate:
            detail = f"{achieved:.4g} requests/s are more than the {asked_rate:.4g} that were sent"
            yield Flaw(code="rate_contradicts_counts", field=run.field_of("requests_per_s_asked"), detail=detail)
    whole = _request_s(run)
    reached = achieved * whole if achieved and whole is not None else load.concurrency_mean
    asked = load.concurrency_asked
    if reached is None or asked is None or asked <= 0.0:
        return
    if reached > MOST_LOAD_SHARE * asked + 1.0 / asked:
        detail = f"{reached:.4g} requests were in flight on the mean, at most {asked:.4g} may have been"
        yield Flaw(code="more_in_flight_than_asked", field=run.field_of("concurrency_asked"), detail=detail)
    rounds = (load.requests or 0.0) / asked
    if not asked_rate and rounds >= LEAST_ROUNDS and reached < LEAST_LOAD_SHARE * asked:
        detail = f"{reached:.4g} requests were in flight on the mean of {asked:.4g} asked for"
        yield Flaw(code="load_not_reached", field=run.field_of("concurrency_asked"), detail=detail)


def _request_s(run: Run) -> float | None:
    """Mean time of a request: as the file says it, else first token and further tokens."""
    e2e, first, each = (run.figure(name, "mean") for name in ("e2e_s", "ttft_s", "tpot_s"))
    if e2e is not None:
        return e2e.value
    if first is None or each is None or not run.load.output_tokens:
        return None
    return first.value + max(run.load.output_tokens - 1.0, 0.0) * each.value


def _of_settings(receipt: Receipt) -> Iterator[Flaw]:
    for name in ("utilization", "gpu_memory_utilization", "mem_fraction_static", "kv_cache_percentage"):
        value = receipt.settings.get(name)
        if isinstance(value, float) and not 0.0 < value <= 1.0:
            yield Flaw(code="above_one", field=name, detail=f"{name} is a share of the memory: above 0, at most 1")
    for run in receipt.runs:
        memory = run.figure("memory_bytes", "value")
        for one in run.figures:
            if memory is not None and one.name == "kv_cache_bytes" and one.value > memory.value:
                yield Flaw(code="contradiction", field=one.field, detail="the cache is larger than the memory")
