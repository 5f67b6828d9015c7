"""Bodies that the reports endpoints read: strict, bounded, every fault named."""

from typing import Annotated, Literal

from pydantic import Field

from estimator.estimates.verdict.answer import VerdictRequest
from estimator.question.acting import REPEATED
from estimator.question.fields import WHOLE, RequestBody
from estimator.question.gpu import GpuRef
from estimator.question.sweep import MAX_LIST, BatchSizes, Pricing, Sweep
from estimator.question.workload import Targets
from reports.orders import CreateReportRequest, Name, TagName, plain

__all__ = ["CreateReportRequest", "plain"]


class ReportFromEstimateRequest(RequestBody):
    """A report of the plan of an estimate."""

    name: Annotated[Name, REPEATED] = Field(description="What people will call it.", examples=["Which GPU for chat?"])
    tags: Annotated[list[TagName], Field(max_length=20), REPEATED] = Field(
        default=[], description="Words to find it by."
    )
    estimate: VerdictRequest = Field(description="The body of estimates/verdict/: plan, workload, targets, price.")
    gpus: Annotated[list[GpuRef], Field(max_length=MAX_LIST)] = Field(
        default=[], description="GPUs to compare, beside the estimate's own; not given: its own alone."
    )
    batch_sizes: BatchSizes = Field(
        default=None,
        description="Loads of a workload that takes batch sizes; not given: powers of two from 1 to 256, and its own.",
    )


class RebuildRequest(RequestBody):
    """Another version with today's catalog; parts given replace those of the newest version."""

    sweep: Sweep | None = Field(default=None, description="Another sweep; not given: the same.")
    slo: Targets | None = Field(default=None, description="Other targets; not given: the same.")
    pricing: Pricing | None = Field(default=None, description="Other prices; not given: the same way of pricing.")


class RecostRequest(RequestBody):
    """The same rows at other prices, as a new version."""

    pricing: Pricing | None = Field(default=None, description="Other prices; not given: today's of the catalog.")


class ChangeReportRequest(RequestBody):
    """What may change after a report is made."""

    name: Name | None = Field(default=None, description="Another name.")
    tags: Annotated[list[TagName], Field(max_length=20)] | None = Field(default=None, description="Other tags.")
    visibility: Literal["private", "all"] | None = Field(default=None, description="Shares only, or everybody.")
    archived: bool | None = Field(default=None, description="false brings an archived report back.")


class CreateLinkRequest(RequestBody):
    """A link for people without a login."""

    format: Literal["csv", "json", "xlsx", "parquet", "html"] = Field(description="The one format it opens.")
    expires_in_days: Annotated[int, Field(ge=1, le=30), WHOLE] = Field(default=7, description="Days until it ends.")


class ShareRequest(RequestBody):
    """Read access for one person or one group."""

    user: Annotated[str, Field(min_length=1, max_length=150)] | None = Field(default=None, description="User name.")
    group: Annotated[str, Field(min_length=1, max_length=150)] | None = Field(default=None, description="Group name.")


class ScheduleRequest(RequestBody):
    """Regular rebuilds."""

    period: Literal["daily", "weekly", "monthly"] = Field(description="How often.")
    enabled: bool = Field(default=True, description="false keeps the schedule without running it.")
