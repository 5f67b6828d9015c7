"""What a sizing asks for beside a plan: the demand that its replicas have to serve, and what to choose from."""

from typing import Annotated, get_args

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from estimator.engine.errors import InvalidInputError
from estimator.engine.sizing import Capacity
from estimator.estimates.throughput.capacity import Load
from estimator.question.fields import SMALLEST, GpuSlug, RequestBody
from estimator.question.formats import CacheFormatName, WeightFormatName
from estimator.question.plan import Degree

WEIGHT_FORMATS = get_args(WeightFormatName)


def _weight_format(value: str) -> str:
    if value not in WEIGHT_FORMATS:
        expected = ", ".join(f"'{name}'" for name in WEIGHT_FORMATS)
        raise PydanticCustomError("literal_error", "one of {expected}", {"expected": expected})
    return value


# Checked by hand: a second field of the same choices would make the schema name them twice.
WeightFormat = Annotated[str, Field(max_length=20, examples=["fp8"]), AfterValidator(_weight_format)]


class Demand(RequestBody):
    """What has to be served: exactly one of a concurrency, users with a think time, or a peak rate."""

    concurrency: Annotated[float, Field(ge=SMALLEST, le=1e9)] | None = Field(
        default=None, description="Requests in flight at the peak, count."
    )
    users: Annotated[float, Field(ge=SMALLEST, le=1e9)] | None = Field(
        default=None, description="Users at the peak, count."
    )
    think_time_s: Annotated[float, Field(ge=0, le=1e7)] = Field(
        default=0.0, description="A user's pause between an answer and the next request, seconds."
    )
    requests_per_s_peak: Annotated[float, Field(ge=SMALLEST, le=1e9)] | None = Field(
        default=None, description="Arrivals at the peak, requests/s."
    )
    requests_per_s_mean: Annotated[float, Field(ge=SMALLEST, le=1e9)] | None = Field(
        default=None, description="Mean arrivals, requests/s; answers the replicas a mean hour needs."
    )
    burstiness_cv: Annotated[float, Field(ge=0, le=100)] = Field(
        default=1.0, description="Coefficient of variation of the times between arrivals; 1 is Poisson."
    )
    headroom: Annotated[float, Field(ge=0, le=10)] = Field(
        default=0.0, description="Share added to the demand: 0.2 sizes for 20 % more."
    )

    @property
    def wanted(self) -> float:
        """The demand in its own unit, without headroom."""
        found = next((v for v in (self.concurrency, self.users, self.requests_per_s_peak) if v is not None), None)
        if found is None:
            raise InvalidInputError("a demand is a concurrency, users or a peak rate", field="demand")
        return found

    @property
    def load(self) -> Load:
        """How it loads a replica."""
        return Load(
            think_time_s=None if self.users is None else self.think_time_s,
            arrivals_cv=None if self.requests_per_s_peak is None else self.burstiness_cv,
        )

    def scaled(self, value: float) -> float:
        """A demand with its headroom."""
        return value * (1 + self.headroom)

    def carried_by(self, capacity: Capacity) -> float:
        """What one replica carries in the unit of the demand."""
        if self.concurrency is not None:
            return float(capacity.concurrency)
        if self.users is not None:
            return capacity.users or float(capacity.concurrency)
        return capacity.requests_per_s


class CandidatesPart(RequestBody):
    """What to choose from; every combination is sized."""

    gpus: Annotated[list[GpuSlug], Field(min_length=1, max_length=50)] | None = Field(
        default=None, description="GPUs of the catalog; when left out those that somebody offers on demand in USD."
    )
    precisions: Annotated[list[WeightFormat], Field(min_length=1, max_length=10)] | None = Field(
        default=None,
        description=(
            f"Formats of the weights: {', '.join(WEIGHT_FORMATS)}; when left out that of the model's own files, else "
            "bf16."
        ),
    )
    tp: Annotated[list[Degree], Field(min_length=1, max_length=10)] = Field(
        default=[1, 2, 4, 8], description="Tensor parallel degrees; those that do not divide the heads are left out."
    )
    kv_cache: CacheFormatName = Field(default="bf16", description="Format of the KV cache.")
