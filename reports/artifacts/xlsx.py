"""Excel: a summary, the assumptions with sources, typed rows under a frozen header, and charts."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import xlsxwriter
from django.utils.translation import gettext as _
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from estimator.estimates.sweep.columns import COLUMNS, KEY_COLUMNS, ColumnKind
from reports import document
from reports.artifacts.decision_sheet import write_decision
from reports.artifacts.selection import neutral
from reports.artifacts.series import chart_series
from reports.decision.stored import decision_of
from reports.errors import PermanentReportError
from reports.models import ReportVersion
from reports.rows import tables
from reports.storage import RowFiles

MAX_ROWS = 1_048_576 - 1
_BLOCK = 5_000
_FORMATS = {ColumnKind.NUMBER: "0.000000", ColumnKind.INTEGER: "#,##0", ColumnKind.MONEY: "0.00####"}


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
        _summary_sheet(workbook, version, head)
        _assumptions_sheet(workbook, head)
        _rows_sheet(workbook, rows)
        _charts_sheet(workbook, rows)
    finally:
        workbook.close()


def too_many_rows(rows: int) -> str:
    """What to say about a version that no sheet holds."""
    text = _("%(rows)d rows are more than an Excel sheet holds (1,048,576); take CSV, JSON or Parquet.")
    return text % {"rows": rows}


def _pairs(sheet: Worksheet, start: int, pairs: list[tuple[str, Any]], bold: Any) -> int:
    for number, (label, value) in enumerate(pairs, start=start):
        sheet.write_string(number, 0, label, bold)
        _cell(sheet, number, 1, value)
    return start + len(pairs)


def _cell(sheet: Worksheet, row: int, column: int, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, (int, float, Decimal)):
        sheet.write_number(row, column, value)
    else:
        sheet.write_string(row, column, neutral(str(value))[:32_000])


def _summary_sheet(workbook: Workbook, version: ReportVersion, head: dict[str, Any]) -> None:
    sheet = workbook.add_worksheet(_("Summary"))
    bold = workbook.add_format({"bold": True})
    title = workbook.add_format({"bold": True, "font_size": 14})
    sheet.set_column(0, 0, 34)
    sheet.set_column(1, 12, 22)
    sheet.write_string(0, 0, neutral(version.report.name), title)
    pairs = [
        (_("Version"), version.number),
        (_("Completed at"), head["completed_at"]),
        (_("Estimator version"), head["estimator_version"]),
        (_("Catalog revision"), head["catalog_revision"]),
        (_("Content sha256"), head["content_sha256"]),
        *((key, value) for key, value in head["summary"].items()),
    ]
    row = _pairs(sheet, 2, pairs, bold) + 1
    names = (_("Finding"), "row_index", *KEY_COLUMNS, "tokens_per_s_per_gpu_mid", "cost_per_mtok_output_mid")
    for column, name in enumerate(names):
        sheet.write_string(row, column, name, bold)
    for finding in head["findings"]:
        row += 1
        proof = finding["row"]
        values = [finding["text"], finding["row_index"], *(proof[key] for key in KEY_COLUMNS)]
        values += [proof["tokens_per_s_per_gpu_mid"], _number(proof["cost_per_mtok_output_mid"])]
        for column, value in enumerate(values):
            _cell(sheet, row, column, value)


def _number(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _assumptions_sheet(workbook: Workbook, head: dict[str, Any]) -> None:
    sheet = workbook.add_worksheet(_("Assumptions"))
    bold = workbook.add_format({"bold": True})
    sheet.set_column(0, 1, 26)
    sheet.set_column(2, 3, 60)
    row = 0
    for label, entries in ((_("Assumption"), head["assumptions"]), (_("Warning"), head["warnings"])):
        for entry in entries:
            sheet.write_string(row, 0, label, bold)
            _cell(sheet, row, 2, entry)
            row += 1
    for column, name in enumerate((_("Catalog row"), _("Slug"), _("Name"), _("Source"))):
        sheet.write_string(row, column, name, bold)
    for source in head["sources"]:
        row += 1
        for column, key in enumerate(("kind", "slug", "name", "source")):
            _cell(sheet, row, column, source[key])
    row += 2
    for column, name in enumerate((_("Column"), _("Unit"), _("Meaning"))):
        sheet.write_string(row, column, name, bold)
    for described in document.columns():
        row += 1
        for column, key in enumerate(("name", "unit", "help")):
            _cell(sheet, row, column, described[key])


def _rows_sheet(workbook: Workbook, rows: RowFiles) -> None:
    sheet = workbook.add_worksheet(_("Rows"))
    bold = workbook.add_format({"bold": True, "bottom": 1})
    formats = {kind: workbook.add_format({"num_format": pattern}) for kind, pattern in _FORMATS.items()}
    sheet.freeze_panes(1, 2)
    for number, column in enumerate(COLUMNS):
        sheet.set_column(number, number, max(10, len(column.name) + 2))
        sheet.write_string(0, number, column.name, bold)
    writers = [_writer(sheet, number, column.kind, formats) for number, column in enumerate(COLUMNS)]
    line = 0
    with tables.connect() as connection:
        result = connection.execute(f"SELECT * FROM {tables.source(rows)}")
        while block := result.fetchmany(_BLOCK):
            for values in block:
                line += 1
                for write_cell, value in zip(writers, values, strict=True):
                    if value is not None:
                        write_cell(line, value)
    sheet.autofilter(0, 0, max(line, 1), len(COLUMNS) - 1)


def _writer(sheet: Worksheet, number: int, kind: ColumnKind, formats: dict[ColumnKind, Any]) -> Any:
    if kind is ColumnKind.TEXT:
        return lambda line, value: sheet.write_string(line, number, neutral(value))
    if kind is ColumnKind.BOOLEAN:
        return lambda line, value: sheet.write_boolean(line, number, value)
    return lambda line, value: sheet.write_number(line, number, value, formats[kind])


def _charts_sheet(workbook: Workbook, rows: RowFiles) -> None:
    """Scatter charts over a small table of their own: speed per user against speed per GPU, and cost against batch."""
    data = workbook.add_worksheet(_("Chart data"))
    sheet = workbook.add_worksheet(_("Charts"))
    wanted = (
        ("tokens_per_s_per_user_mid", "tokens_per_s_per_gpu_mid", _("Throughput against interactivity")),
        ("batch_size", "cost_per_mtok_output_mid", _("Cost per million output tokens against batch")),
        ("batch_size", "tpot_s_mid", _("Time per output token against batch")),
        ("offered_requests_per_s", "cost_per_mtok_output_mid", _("Cost per million output tokens against arrivals")),
        ("offered_requests_per_s", "ttft_s_p95", _("95th percentile of the time to first token against arrivals")),
    )
    placed: list[tuple[str, str, str, list[tuple[str, int, int, int]]]] = []
    blocks: list[tuple[int, list[tuple[Any, Any]]]] = []
    column = 0
    for x_name, y_name, title in wanted:
        lines = []
        for label, points in chart_series(rows, x_name, y_name, limit_series=8, limit_points=200):
            blocks.append((column, [(neutral(label), y_name), *points]))
            lines.append((neutral(label), column, 1, len(points)))
            column += 2
        placed.append((x_name, y_name, title, lines))
    _write_blocks(data, blocks)
    for place, (x_name, y_name, title, lines) in enumerate(placed):
        if lines:
            sheet.insert_chart(1 + place * 24, 1, _chart(workbook, data.get_name(), x_name, y_name, title, lines))


def _write_blocks(data: Worksheet, blocks: list[tuple[int, list[tuple[Any, Any]]]]) -> None:
    """Row by row, as constant memory asks for."""
    for line in range(max((len(points) for _column, points in blocks), default=0)):
        for column, points in blocks:
            if line < len(points):
                _cell(data, line, column, points[line][0])
                _cell(data, line, column + 1, points[line][1])


def _chart(
    workbook: Workbook, data: str, x_name: str, y_name: str, title: str, lines: list[tuple[str, int, int, int]]
) -> Any:
    chart = workbook.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
    for label, column, first, last in lines:
        chart.add_series(
            {
                "name": label,
                "categories": [data, first, column, last, column],
                "values": [data, first, column + 1, last, column + 1],
            }
        )
    chart.set_title({"name": title})
    chart.set_x_axis({"name": x_name})
    chart.set_y_axis({"name": y_name})
    chart.set_size({"width": 900, "height": 440})
    return chart
