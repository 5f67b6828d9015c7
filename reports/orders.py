"""The body of an order, for the API and for the page that orders."""

from typing import Annotated, Any

import orjson
from pydantic import Field

from estimator.question.acting import REPEATED
from estimator.question.fields import RequestBody
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


def plain(body: RequestBody | None) -> Any:
    """The body as JSON-able values, defaults included, by the names of the API.

    A whole number over 64 bits, which a config may hold, becomes a float, as in configs that the catalog keeps.
    """
    return None if body is None else orjson.loads(body.model_dump_json(by_alias=True))
