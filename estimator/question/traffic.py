"""How requests come to a server, and which first token is asked for."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from estimator.question.fields import Count, RequestBody, Share


class TrafficKind(StrEnum):
    """Where the requests of a load are from."""

    STEADY = "steady"
    BENCHMARK = "benchmark"


class TakenFrom(StrEnum):
    """Where the clock of a first token starts."""

    CLIENT = "client"
    ADMISSION = "admission"
    FORWARD = "forward"


# Requests of a run for each one in flight, of the benchmark clients of SGLang, vLLM and InferenceX.
REQUESTS_PER_CONCURRENCY = 10.0
Statistic = Literal["mean", "p50", "p90", "p95", "p99"]


class Traffic(RequestBody):
    """How requests come, and the statistic of the time to the first token.

    A service's requests come evenly; a benchmark sends as many as its concurrency at once and one for each that ends,
    so that its first tokens wait longer.
    """

    kind: TrafficKind = Field(
        default=TrafficKind.STEADY,
        description="steady: a service whose requests come evenly; benchmark: a client that sends all at once first.",
    )
    requests_per_concurrency: Annotated[float, Field(ge=1, le=1e6)] | None = Field(
        default=None, description="Requests of a benchmark's run for each one in flight; 10 when not given."
    )
    requests: Count | None = Field(
        default=None, description="Requests of a benchmark's whole run, count, in place of requests_per_concurrency."
    )
    random_range_ratio: Share | None = Field(
        default=None,
        description=(
            "Lengths of a benchmark are uniform from this share of the longest to the longest, 0 to 1; input_tokens "
            "and output_tokens are their means. 1, equal lengths, when not given."
        ),
    )
    ramp_s: Annotated[float, Field(ge=0, le=1e6)] | None = Field(
        default=None, description="Seconds over which a benchmark sends its first requests; 0 when not given."
    )
    client_s: Annotated[float, Field(ge=0, le=60)] = Field(
        default=0.0,
        description=(
            "Time of the client itself in each first token, seconds: about 0.015 in benchmark_serving.py. It is no "
            "property of a server."
        ),
    )
    statistic: Statistic = Field(
        default="mean", description="Statistic of ttft_s over requests: the mean or a percentile."
    )
    ttft_at: TakenFrom = Field(
        default=TakenFrom.CLIENT,
        description=(
            "Where ttft_s is taken: client, from sending; admission, from when the scheduler has the request; "
            "forward, from its first pass, which has a mean alone."
        ),
    )

    def waves(self, concurrency: float) -> float:
        """Requests of a run for each one in flight, 0 for a service."""
        if self.kind is TrafficKind.STEADY:
            return 0.0
        if self.requests is not None:
            return max(self.requests / max(concurrency, 1.0), 1.0)
        return self.requests_per_concurrency or REQUESTS_PER_CONCURRENCY

    @property
    def share(self) -> float:
        """The statistic as a share of requests, 0 for the mean."""
        return 0.0 if self.statistic == "mean" else int(self.statistic[1:]) / 100

    @property
    def length_ratio(self) -> float:
        """Shortest over longest length."""
        return 1.0 if self.random_range_ratio is None else self.random_range_ratio

    @property
    def place(self) -> int:
        """Place of `ttft_at` in the engine's codes."""
        return list(TakenFrom).index(self.ttft_at)
