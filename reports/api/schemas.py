"""Bodies that the reports endpoints read: strict, bounded, every fault named."""

from typing import Annotated, Any, Literal

import orjson
from pydantic import Field

from estimator.question.acting import REPEATED
from estimator.question.fields import WHOLE, RequestBody
from estimator.question.sweep import Pricing, Sweep
from estimator.question.workload import Targets

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
TagName = Annotated[str, Field(min_length=1, max_length=50, pattern=r"\S")]


class CreateReportRequest(RequestBody):
    """A report to compute."""

    name: Annotated[Name, REPEATED] = Field(
        description="What people will call it.", examples=["Llama 3.1 8B on one H100"]
    )
    tags: Annotated[list[TagName], Field(max_length=20), REPEATED] = Field(
        default=[], description="Words to find it by."
    )
    sweep: Sweep = Field(description="The settings to cross.")
    slo: Targets | None = Field(default=None, description="Targets for meets_slo and the best batch within them.")
    pricing: Pricing | None = Field(
        default=None,
        description="GPU prices; not given: the middle of each GPU's sellers, as in estimates.",
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


def plain(body: RequestBody | None) -> Any:
    """The body as JSON-able values, defaults included, by the names of the API.

    A whole number over 64 bits, which a config may hold, becomes a float, as in configs that the catalog keeps.
    """
    return None if body is None else orjson.loads(body.model_dump_json(by_alias=True))
