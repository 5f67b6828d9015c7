"""What the sheets of the workbook share: cells of any value, and formats."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from xlsxwriter.worksheet import Worksheet

from estimator.estimates.sweep.columns import ColumnKind
from reports.artifacts.selection import neutral

FORMATS = {ColumnKind.NUMBER: "0.000000", ColumnKind.INTEGER: "#,##0", ColumnKind.MONEY: "0.00####"}
MOMENT = "d mmm yyyy hh:mm"


def write_cell(sheet: Worksheet, row: int, column: int, value: Any, pattern: Any = None) -> None:
    """Write a value as what it is; nothing where there is none."""
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, (int, float, Decimal)):
        sheet.write_number(row, column, value, pattern)
    elif isinstance(value, datetime):
        sheet.write_datetime(row, column, value.replace(tzinfo=None), pattern)
    else:
        sheet.write_string(row, column, neutral(str(value))[:32_000])
