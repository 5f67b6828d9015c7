"""What is asked of a replica: workload, targets, speculative decoding, adapters, power."""

from typing import Annotated, Literal

from pydantic import Field

from estimator.engine.options import OPEN_PERCENTILE, TARGETS, BandSide
from estimator.engine.specs import WorkloadMode
from estimator.question.acting import Needs, needs
from estimator.question.fields import (
    SMALLEST,
    WHOLE,
    Count,
    Currency,
    MeanTokens,
    ModelSlug,
    Money,
    PositiveSeconds,
    RequestBody,
    Share,
)
from estimator.question.traffic import Traffic

Arrivals = Annotated[float, Field(ge=SMALLEST, le=1e6)]
# Beside the fields of a load: the modes that have no use of them.
_NO_OPEN_LOOP = Needs(
    "an open loop's requests in flight follow from its rate", lambda load: load.mode is not WorkloadMode.OPEN_LOOP
)
_NOT_OFFLINE = Needs("offline takes as many as memory holds", lambda load: load.mode is not WorkloadMode.OFFLINE)
_FIRST_TOKENS = Needs(
    "first tokens of single requests are said in closed_loop, open_loop and single_stream",
    lambda load: load.mode in (WorkloadMode.CLOSED_LOOP, WorkloadMode.OPEN_LOOP, WorkloadMode.SINGLE_STREAM),
)
_ARRIVALS = Needs("only an open loop has arrivals", lambda load: load.mode is WorkloadMode.OPEN_LOOP)


class Workload(RequestBody):
    """Lengths and load. closed_loop, static_batch and decode_step take a concurrency, open_loop a rate."""

    mode: WorkloadMode = Field(
        default=WorkloadMode.CLOSED_LOOP,
        description=(
            "closed_loop: as many requests in flight as concurrency; open_loop: requests_per_s arrive; offline: the "
            "most throughput; static_batch: one batch to its end; single_stream: one request; decode_step: one step."
        ),
    )
    input_tokens: MeanTokens | None = Field(
        default=None,
        description=(
            "Mean prompt of a request, tokens; 921.6 is a mean too. Only decode_step with context_tokens goes without."
        ),
    )
    output_tokens: MeanTokens | None = Field(default=None, description="Mean answer of a request, tokens.")
    context_tokens: MeanTokens | None = Field(
        default=None,
        description=(
            "Cache length at which decode is evaluated, tokens; when not given input + output/2 for speed and "
            "input + output for memory."
        ),
    )
    concurrency: Annotated[Count | None, _NO_OPEN_LOOP, _NOT_OFFLINE] = Field(
        default=None, description="Requests in flight, count; 1 when not given."
    )
    requests_per_s: Arrivals | None = Field(default=None, description="Arrivals of an open loop, requests/s.")
    burstiness_cv: Annotated[float, Field(ge=0, le=100), _ARRIVALS] = Field(
        default=1.0, description="Coefficient of variation of the times between arrivals; 1 is Poisson, 0 regular."
    )
    prefix_cache_hit_rate: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0, description="Share of prompt tokens found in the engine's prefix cache, 0 to below 1."
    )
    traffic: Annotated[Traffic, _FIRST_TOKENS] = Field(
        default=Traffic(), description="How requests come, and which first token is asked for; steady when not given."
    )
    batch_sizes: Annotated[list[Count], Field(max_length=1000)] | None = Field(
        default=None, description="Batch sizes to answer with one row each, at most 1,000."
    )

    def resolved(self) -> "ResolvedWorkload":
        """The workload with nothing left open: a decode step without lengths has those of its context."""
        values = {name: getattr(self, name) for name in ResolvedWorkload.model_fields}
        prompt = self.context_tokens if self.input_tokens is None else self.input_tokens
        answer = 1.0 if self.output_tokens is None else self.output_tokens
        values |= {"input_tokens": prompt or 0.0, "output_tokens": answer}
        values |= {"concurrency": self.concurrency or 1, "batch_sizes": self.batch_sizes or []}
        return ResolvedWorkload.model_construct(**values)


class ResolvedWorkload(Workload):
    """A workload that leaves no length open: what a plan holds, made by the resolver."""

    input_tokens: MeanTokens = Field(description="Mean prompt of a request, tokens.")
    output_tokens: MeanTokens = Field(description="Mean answer of a request, tokens.")
    concurrency: Count = Field(default=1, description="Requests in flight, count.")


_A_TARGET = needs(*TARGETS)


class Targets(RequestBody):
    """Targets that each request must meet; a target left out is not checked."""

    ttft_s: PositiveSeconds | None = Field(default=None, description="Most time to the first token, seconds.")
    tpot_s: PositiveSeconds | None = Field(
        default=None, description="Most mean time per output token after the first, seconds."
    )
    e2e_s: PositiveSeconds | None = Field(default=None, description="Most time to the whole answer, seconds.")
    percentile: Annotated[Annotated[Literal[50, 90, 95, 99], WHOLE] | None, _A_TARGET] = Field(
        default=None,
        description="Share of requests that meet the targets, percent; 95 in open loop, 50 in closed loop.",
    )
    band_side: Annotated[BandSide, _A_TARGET] = Field(
        default=BandSide.CONSERVATIVE,
        description="Which value of the band is held against the targets: mid, or conservative (its slow end).",
    )

    def percentile_in(self, mode: WorkloadMode) -> int:
        """Share of requests that must meet the targets, percent: the one asked for, 95 in open loop, else 50."""
        return self.percentile or (OPEN_PERCENTILE if mode is WorkloadMode.OPEN_LOOP else 50)


class Speculative(RequestBody):
    """Speculative decoding with a draft that costs a share of a step, or is a model of the catalog."""

    acceptance_rate: Share = Field(description="Chance that one drafted token is accepted, 0 to 1.")
    draft_tokens: Annotated[int, Field(ge=1, le=64), WHOLE] = Field(description="Tokens drafted a step, count.")
    draft_cost_ratio: Share | None = Field(
        default=None, description="Time of one drafted token over a decode step of the model, 0 to 1."
    )
    draft_model: ModelSlug | None = Field(default=None, description="Catalog model that drafts.")


class Lora(RequestBody):
    """Adapters held beside the model."""

    max_loras: Annotated[int, Field(ge=1, le=10_000), WHOLE] = Field(description="Adapters held at once, count.")
    max_rank: Annotated[int, Field(ge=1, le=4096), WHOLE] = Field(description="Largest rank of an adapter.")


PowerCap = Annotated[float, Field(ge=SMALLEST, le=1e6)]
POWER_CAP_HELP = (
    "Most power that each GPU may draw, W; its design power when not given. Where a GPU would draw more, every time is "
    "longer, and arrivals queue for a slower replica."
)


class Power(RequestBody):
    """Price of electricity."""

    pue: Annotated[float, Field(ge=1, le=5)] = Field(
        default=1.3, description="Power usage effectiveness of the building, power drawn over power of the machines."
    )
    price_per_kwh: Money = Field(description="Price of a kWh, exact decimal in `currency`.")
    currency: Currency
