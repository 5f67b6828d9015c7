"""What a sizing asks for beside a plan: the demand that its replicas have to serve."""

from typing import Annotated

from pydantic import Field

from estimator.engine.errors import InvalidInputError
from estimator.engine.sizing import Capacity
from estimator.estimates.throughput.capacity import Load
from estimator.question.fields import SMALLEST, RequestBody


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
