"""`engine-profiles/{slug}/calibrate/`: a profile fitted to one's own runs of `vllm bench serve --save-result`."""

from typing import Annotated, Any

from pydantic import Field, JsonValue

from estimator.engine.calibration.constants import FitError
from estimator.estimates.answers import Answer, part_of
from estimator.question.fields import Name, RequestBody, Tokens
from estimator.question.gpu import GpuRef
from estimator.question.model import ModelRef
from estimator.question.plan import Memory, Parallelism, PlanRequest, Precision
from estimator.resolvers import Facts, Plan, resolve_plan


class BenchRunPart(RequestBody):
    """One result file, and the lengths that were asked for."""

    result: dict[str, JsonValue] = Field(
        description="What vllm bench serve --save-result wrote. Counts, lengths and times are read; texts never."
    )
    input_tokens: Tokens | None = Field(default=None, description="Prompt length that was asked for, to check against.")
    output_tokens: Tokens | None = Field(
        default=None, description="Output length that was asked for, to check against."
    )


class CalibrateRequest(RequestBody):
    """Runs of one model, GPU and setting, and the name of the new profile."""

    new_slug: Annotated[str, Field(max_length=100, pattern=r"^[a-z0-9][a-z0-9._-]*$")] = Field(
        description="Slug of the new profile."
    )
    name: Name | None = Field(default=None, description="Name of the new profile; its slug when left out.")
    model: ModelRef
    gpu: GpuRef
    parallelism: Parallelism = Field(default=Parallelism(), description="How the replica was split over GPUs.")
    precision: Precision = Field(default=Precision(), description="Formats of weights, cache and activations.")
    memory: Memory = Field(default=Memory(), description="Memory settings of the server.")
    runs: Annotated[list[BenchRunPart], Field(min_length=1, max_length=100)] = Field(
        description="Result files, one for each load."
    )

    def plan(self, engine: str, facts: Facts) -> Plan:
        """The setting of the runs, resolved."""
        parts = {name: getattr(self, name) for name in ("model", "gpu", "parallelism", "precision", "memory")}
        return resolve_plan(PlanRequest(engine=engine, **parts), facts)


FitErrorPart: Any = part_of(
    FitError,
    "FitErrorPart",
    "Errors of one metric, absolute and relative, as fractions.",
    metric="tpot_s or ttft_s.",
    runs="Runs that taught it, count.",
    before_median="Median error with the constants it started from, a fraction.",
    median="Median error with the fitted constants, a fraction.",
    largest="Largest error with the fitted constants, a fraction.",
    left_out_median="Median error of each run by the fit on the others, a fraction; null with fewer than three runs.",
)


class CalibrateAnswer(Answer):
    """The new profile and how well it fits."""

    slug: str = Field(description="Slug of the new profile.")
    parent: str = Field(description="Slug of the profile it was fitted from.")
    constants: dict[str, float] = Field(description="Fitted constants by name; seconds and factors.")
    fit_error: list[FitErrorPart] = Field(description="Errors by metric.")
    evidence: str = Field(description="What the profile rests on, as stored.")
