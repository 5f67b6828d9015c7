"""Excel: the decision, a summary, the assumptions with sources, typed rows under a frozen header, and charts."""

from pathlib import Path
from typing import Any

import xlsxwriter
from django.utils.translation import gettext as _
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from estimator.estimates.sweep.columns import COLUMNS, ColumnKind
from estimator.question.sweep import Sweep
from reports import document
from reports.artifacts.chart_sheet import write_charts
from reports.artifacts.decision_sheet import write_decision
from reports.artifacts.headings import heading
from reports.artifacts.selection import neutral
from reports.artifacts.sheets import FORMATS
from reports.artifacts.summary_sheet import write_assumptions, write_summary
from reports.decision.stored import decision_of
from reports.errors import PermanentReportError
from reports.models import ReportVersion
from reports.names import Names
from reports.rows import tables
from reports.storage import RowFiles

# A sheet less its two headings.
MAX_ROWS = 1_048_576 - 2
_BLOCK = 5_000


def write(version: ReportVersion, rows: RowFiles, target: Path) -> None:
    """Write the workbook; a version with more rows than a sheet holds is refused in words."""
    if version.total_rows > MAX_ROWS:
        raise PermanentReportError("too_many_rows", too_many_rows(version.total_rows))
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "nan_inf_to_errors": False,
        "tmpdir": str(target.parent),
    }
    workbook = xlsxwriter.Workbook(str(target), options)
    try:
        head = document.head(version)
        decision, _why = decision_of(version)
        if decision is not None:
            write_decision(workbook, decision)
        names = Names(version.snapshot, Sweep.stored(version.inputs["sweep"]))
        write_summary(workbook, version, head, names)
        write_assumptions(workbook, head)
        _rows_sheet(workbook, rows)
        write_charts(workbook, rows, names)
    finally:
        workbook.close()


def too_many_rows(rows: int) -> str:
    """What to say about a version that no sheet holds."""
    text = _("%(rows)d rows are more than an Excel sheet holds (1,048,576); take CSV, JSON or Parquet.")
    return text % {"rows": rows}


def _rows_sheet(workbook: Workbook, rows: RowFiles) -> None:
    """The rows under two headings: what people call a column, and below it what the API and other files do."""
    sheet = workbook.add_worksheet(_("Rows"))
    bold = workbook.add_format({"bold": True, "text_wrap": True, "valign": "top"})
    plain = workbook.add_format({"font_size": 8, "font_color": "#5B6777", "bottom": 1})
    formats = {kind: workbook.add_format({"num_format": pattern}) for kind, pattern in FORMATS.items()}
    sheet.freeze_panes(2, 2)
    for number, column in enumerate(COLUMNS):
        sheet.set_column(number, number, max(11, len(column.name) * 0.8))
        sheet.write_string(0, number, heading(column.name), bold)
    for number, column in enumerate(COLUMNS):
        sheet.write_string(1, number, column.name, plain)
    writers = [_writer(sheet, number, column.kind, formats) for number, column in enumerate(COLUMNS)]
    line = 1
    with tables.connect() as connection:
        result = connection.execute(f"SELECT * FROM {tables.source(rows)}")
        while block := result.fetchmany(_BLOCK):
            for values in block:
                line += 1
                for write_cell, value in zip(writers, values, strict=True):
                    if value is not None:
                        write_cell(line, value)
    sheet.autofilter(1, 0, max(line, 2), len(COLUMNS) - 1)


def _writer(sheet: Worksheet, number: int, kind: ColumnKind, formats: dict[ColumnKind, Any]) -> Any:
    if kind is ColumnKind.TEXT:
        return lambda line, value: sheet.write_string(line, number, neutral(value))
    if kind is ColumnKind.BOOLEAN:
        return lambda line, value: sheet.write_boolean(line, number, value)
    return lambda line, value: sheet.write_number(line, number, value, formats[kind])
