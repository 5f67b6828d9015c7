"""Bodies of the receipts endpoints."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, JsonValue

from catalog.api.query import PageQuery
from estimator.question.fields import WHOLE, Name, RequestBody

EstimateName = Literal["throughput", "verdict", "memory-fit", "cost", "sizing", "break-even"]


class ReportRowRef(RequestBody):
    """A row of a complete report."""

    report: UUID = Field(description="Id of the report.")
    version: Annotated[int, Field(ge=1, le=10**9), WHOLE] = Field(description="Number of the version.")
    row_index: Annotated[int, Field(ge=0, le=10**9), WHOLE] = Field(description="row_index of the row.")


class PredictionRequest(RequestBody):
    """An estimate or a report's row, to be kept before anybody measures."""

    name: Name | None = Field(default=None, description="What it is called.")
    estimate: EstimateName | None = Field(default=None, description="The estimate whose answer is kept.")
    body: dict[str, JsonValue] | None = Field(
        default=None, description="Body of the estimate, as its endpoint takes it."
    )
    report_row: ReportRowRef | None = Field(default=None, description="The row, in place of estimate and body.")
    public: bool = Field(default=False, description="true: everybody may read it.")


class CalibrationRequest(RequestBody):
    """Measurements of one setting, and those that its gain is shown on."""

    name: Name = Field(description="What it is called; answers that use it name it.")
    measurements: Annotated[list[UUID], Field(min_length=1, max_length=50)] = Field(
        description="Ids of measurements whose runs it is made of."
    )
    left_out: Annotated[list[UUID], Field(max_length=50)] = Field(
        default=[],
        description="Ids of measurements that decide whether it helps; each run by the others when left out.",
    )


class CalibrationChange(RequestBody):
    """What of a calibration may change."""

    name: Name | None = Field(default=None, description="What it is called.")
    enabled: bool | None = Field(default=None, description="The one switch: false, and no answer uses it.")


class SharingRequest(RequestBody):
    """Whether a calibration is everybody's."""

    shared: bool = Field(description="true: every answer of its setting may use it; false: its owner's alone.")


class KeptQuery(PageQuery):
    """Parameters of lists of kept things."""

    mine: bool = Field(default=False, description="true: only the caller's own.")


def plain(body: RequestBody) -> dict[str, Any]:
    """What was given of a change."""
    return {name: value for name, value in body.model_dump(exclude_unset=True).items() if value is not None}
