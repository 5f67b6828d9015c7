"""What the reports endpoints can be asked for in a query string."""

from typing import Literal

from pydantic import ConfigDict, Field

from catalog.api.query import ListQuery, PageQuery, Query

FormatName = Literal["csv", "json", "xlsx", "parquet", "html"]


class ReportsQuery(ListQuery):
    """Parameters of the list of reports."""

    ordering: Literal["created_at", "-created_at", "name", "-name"] = Field(
        default="-created_at", description="Field to sort by; a leading - turns the order round."
    )
    tag: str | None = Field(default=None, max_length=50, description="A tag of the report.")
    mine: bool = Field(default=False, description="true: only the caller's own.")
    archived: bool = Field(default=False, description="true: only archived ones.")


class RowsQuery(PageQuery):
    """Parameters of the rows beside the filters, which are their columns."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    page_size: int = Field(default=100, ge=1, le=1000, description="Rows on a page.")
    ordering: str = Field(
        default="", max_length=400, description="Up to four columns, with - for descending; null comes last."
    )


class DownloadQuery(Query):
    """Parameters of a download."""

    format: FormatName = Field(description="Form of the file.")


class DiffQuery(Query):
    """Parameters of a comparison."""

    from_: int = Field(alias="from", ge=1, le=10**9, description="The older version.")
    to: int = Field(ge=1, le=10**9, description="The newer version.")
    format: Literal["json", "csv", "html"] = Field(default="json", description="Form of the answer.")
