"""Results of `vllm bench serve --save-result` as a measured run, refused where they would teach something wrong.

Only counts, lengths and times are read; prompts, generated texts and error texts are never looked at or kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from estimator.engine.errors import InvalidInputError
from estimator.engine.serving.load import answer_time_s

MOST_FAILED_SHARE = 0.01
LENGTH_TOLERANCE = 0.10
LEAST_CONCURRENCY_SHARE = 0.8
MOST_CONCURRENCY_SHARE = 1.15
LEAST_ROUNDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRun:
    """One run: achieved mean lengths in tokens, achieved mean concurrency, times in seconds.

    `ttft_s` and `tpot_s` are medians where the file has them (means carry the start-up burst), else means.
    """

    input_tokens: float
    output_tokens: float
    concurrency: float
    ttft_s: float
    tpot_s: float
    output_tokens_per_s: float
    completed: int
    failed: int


def read_bench_run(
    result: Mapping[str, Any],
    *,
    expected_input_tokens: float | None = None,
    expected_output_tokens: float | None = None,
    field: str = "result",
) -> BenchRun:
    """Reads one result file and checks that it measured what it says.

    Args:
        result: the JSON object.
        expected_input_tokens: prompt length that was asked for, if the caller states it.
        expected_output_tokens: output length that was asked for, likewise.
        field: dotted path of the object in the caller's input, named in errors.

    Raises:
        InvalidInputError: a figure is missing or not positive; more than 1 % of the requests failed; achieved lengths
            are over 10 % from those asked for; the run never reached its concurrency, was too short for it, or its
            times and rate contradict that concurrency.
    """
    reader = _Reader(result, field)
    completed = int(reader.positive("completed"))
    failed = reader.failed(completed)
    if failed > MOST_FAILED_SHARE * (completed + failed):
        raise reader.error("failed", f"{failed} of {completed + failed} requests failed; at most 1 % may")
    inputs = reader.positive("total_input_tokens") / completed
    outputs = reader.positive("total_output_tokens") / completed
    reader.check_length("total_input_tokens", inputs, expected_input_tokens)
    reader.check_length("total_output_tokens", outputs, expected_output_tokens)
    if outputs < 2:
        raise reader.error("total_output_tokens", "a time per output token needs at least two tokens an answer")
    ttft = reader.milliseconds("ttft")
    tpot = reader.milliseconds("tpot")
    return BenchRun(
        input_tokens=inputs,
        output_tokens=outputs,
        concurrency=reader.concurrency(completed, outputs),
        ttft_s=ttft,
        tpot_s=tpot,
        output_tokens_per_s=reader.positive("output_throughput"),
        completed=completed,
        failed=failed,
    )


class _Reader:
    """Looks figures up by name and words what is wrong with them."""

    def __init__(self, result: Mapping[str, Any], field: str) -> None:
        self.result, self.field = result, field

    def error(self, name: str, message: str) -> InvalidInputError:
        return InvalidInputError(message, field=f"{self.field}.{name}")

    def number(self, name: str) -> float | None:
        value = self.result.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise self.error(name, f"{name} must be a number")
        return float(value)

    def positive(self, name: str) -> float:
        value = self.number(name)
        if value is None:
            raise self.error(name, f"{name} is missing; save the result with `vllm bench serve --save-result`")
        if value <= 0:
            raise self.error(name, f"{name} must be above 0")
        return value

    def failed(self, completed: int) -> int:
        failed = self.number("failed")
        if failed is not None:
            return int(failed)
        asked = self.number("num_prompts")
        return max(int(asked) - completed, 0) if asked is not None else 0

    def check_length(self, name: str, achieved: float, expected: float | None) -> None:
        if expected is not None and abs(achieved / expected - 1.0) > LENGTH_TOLERANCE:
            raise self.error(
                name,
                f"{achieved:.0f} tokens a request were achieved, {expected:.0f} asked for: answers stopped early or "
                "prompts were cut (use --ignore-eos)",
            )

    def milliseconds(self, name: str) -> float:
        for statistic in ("median", "mean"):
            key = f"{statistic}_{name}_ms"
            if self.number(key) is not None:
                return self.positive(key) / 1e3
        raise self.error(f"median_{name}_ms", f"median_{name}_ms is missing")

    def concurrency(self, completed: int, output_tokens: float) -> float:
        """Requests in flight on average, by Little's law, checked against the limit the load was given."""
        rate = self.positive("request_throughput")
        mean_ttft = (self.number("mean_ttft_ms") or self.positive("median_ttft_ms")) / 1e3
        mean_tpot = (self.number("mean_tpot_ms") or self.positive("median_tpot_ms")) / 1e3
        end_to_end = self.number("mean_e2el_ms")
        stay = end_to_end / 1e3 if end_to_end else answer_time_s(mean_ttft, mean_tpot, output_tokens)
        achieved = rate * stay
        limit = self.number("max_concurrency")
        if limit is None:
            raise self.error("max_concurrency", "run with --max-concurrency: an open or unlimited load is not fitted")
        if achieved < LEAST_CONCURRENCY_SHARE * limit:
            raise self.error(
                "max_concurrency",
                f"{achieved:.1f} requests were in flight on average, {limit:.0f} asked for: the load generator or the "
                "number of prompts held the run back",
            )
        if achieved > MOST_CONCURRENCY_SHARE * limit:
            raise self.error(
                "request_throughput",
                f"{achieved:.1f} requests would be in flight at these times and this rate, {limit:.0f} were: the "
                "figures are of different runs or definitions (a wait before the request was sent, another rate)",
            )
        if completed < LEAST_ROUNDS * limit:
            raise self.error(
                "completed", f"{completed} requests are too few for concurrency {limit:.0f}; at least three times that"
            )
        return limit
