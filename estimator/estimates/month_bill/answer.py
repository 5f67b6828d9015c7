"""What is asked of an upload of usage, and the bill that ends its answer."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from estimator.engine.version import ESTIMATOR_VERSION
from estimator.estimates.answers import Amount, ResponsePart, part_of, shown
from estimator.estimates.month_bill.batch import Told
from estimator.estimates.month_bill.blocks import BadRow
from estimator.estimates.month_bill.compute import Line, MonthBill, OtherWay

BillLine: Any = part_of(
    Line,
    "BillLine",
    "Requests and amount of one model, day or channel.",
    key="The model as the upload names it, the day (UTC) or the channel.",
    requests="Requests, count.",
    amount="Their bill; null where a used meter has no price.",
)
BillOtherWay: Any = part_of(
    OtherWay,
    "BillOtherWay",
    "What the same usage would have cost another way.",
    way="without_cache (all that was read from a cache or written to it as plain input), batch, the slug of other "
    "prices, or own_gpus.",
    amount="The bill; null with a reason.",
    reason="Why there is no amount, or what was billed as it was.",
)
InvalidRow: Any = part_of(
    BadRow,
    "InvalidRow",
    "A row that could not be read.",
    row="Its number among the rows of data, from 1.",
    reason="What is wrong and what is allowed.",
)
UsageBill: Any = part_of(
    MonthBill,
    "UsageBill",
    "The bill of an upload, by model, day and channel, and what other ways would have cost.",
    currency="ISO 4217 code of every amount; null where no row has a price.",
    rows="Rows in it, count.",
    requests="Requests that its rows stand for, count.",
    total="The bill; null where a used meter has no price.",
    priced_total="Sum of what has a price.",
    by_model=shown("By model.", kind=list[BillLine]),
    by_day=shown("By day, UTC.", kind=list[BillLine]),
    by_channel=shown("By channel.", kind=list[BillLine]),
    other_ways=shown("What caching, batch, other prices and own GPUs make of it.", kind=list[BillOtherWay]),
    unpriced=shown("Models and meters without a price.", kind=list[str]),
    free=shown("What sellers gave away, by meter, base units.", kind=dict[str, Amount]),
    warnings=shown("Lives of models and disputed amounts.", kind=list[str]),
    ignored=shown("Counts of usage objects that no meter counts, each with its rows.", kind=dict[str, int]),
)
RowsTold: Any = part_of(
    Told,
    "RowsTold",
    "What became of the rows; billed + unpriced + invalid = rows.",
    rows="Rows of the upload, count.",
    billed="Rows with an amount, count.",
    unpriced="Rows of a model or meter without a price, count.",
    invalid="Rows that could not be read, count.",
)


class UsageSummary(ResponsePart):
    """The end of the answer to an upload."""

    rows: RowsTold = Field(description="What became of the rows.")
    bills: list[UsageBill] = Field(description="One bill for each currency; nothing is converted.")
    invalid: list[InvalidRow] = Field(description="The first 100 rows that could not be read.")
    catalog_revision: int = Field(description="Revision of the catalog that all rows were billed by.")
    estimator_version: str = Field(description="Version of our formulas.")


class _Sparse(ResponsePart):
    """A part that leaves out what it has nothing to say of: there may be a million of it."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)


class RowBill(_Sparse):
    """What one row costs; a line of the answer."""

    line: int = Field(description="Line of the upload in which the row begins; of JSON its place in rows, from 1.")
    total: Amount | None = Field(description="Its cost; null with a code and a reason.")
    currency: str = Field(default="", description="ISO 4217 code.")
    price: str = Field(default="", description="Slug of the prices that bill it.")
    code: Literal["invalid_row", "unpriced"] | None = Field(default=None, description="Why it has no cost.")
    reason: str | None = Field(default=None, description="The same in words.")


class UsageAnswer(_Sparse):
    """The answer to usage sent as JSON, or without its rows."""

    rows: list[RowBill] | None = Field(default=None, description="One for each row, in order.")
    summary: UsageSummary = Field(description="The bill of all rows.")


def summary_of(bills: list[MonthBill], told: Told, revision: int) -> UsageSummary:
    """The end of the answer."""
    return UsageSummary.model_validate(
        {
            "rows": told,
            "bills": bills,
            "invalid": bills[0].bad,
            "catalog_revision": revision,
            "estimator_version": ESTIMATOR_VERSION,
        }
    )
