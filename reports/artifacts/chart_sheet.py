"""Charts of the workbook over a small table of their own: unlike workloads share no axis, what is not drawn is said."""

from typing import Any

from django.utils.translation import gettext as _
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from reports.artifacts.headings import heading
from reports.artifacts.selection import neutral
from reports.artifacts.series import Group, Series, chart_series, groups_of
from reports.artifacts.sheets import write_cell
from reports.names import Names
from reports.storage import RowFiles

MOST_GROUPS, MOST_SERIES, MOST_POINTS = 6, 12, 200
_ROWS_OF_A_CHART = 24
_DRAWN = (
    ("tokens_per_s_per_user_mid", "tokens_per_s_per_gpu_mid"),
    ("batch_size", "cost_per_mtok_output_mid"),
    ("batch_size", "tpot_s_mid"),
    ("offered_requests_per_s", "cost_per_mtok_output_mid"),
    ("offered_requests_per_s", "ttft_s_p95"),
)
_Line = tuple[str, int, int]


def write_charts(workbook: Workbook, rows: RowFiles, names: Names) -> None:
    """Write the charts of each pair of model and workload, and the table that they are drawn from."""
    data = workbook.add_worksheet(_("Chart data"))
    sheet = workbook.add_worksheet(_("Charts"))
    groups = groups_of(rows)
    blocks: list[tuple[int, list[tuple[Any, Any]]]] = []
    place, column = 0, 0
    if len(groups) > MOST_GROUPS:
        text = _("Charts are of the first %(shown)s of %(all)s pairs of model and workload; the rows hold all.")
        sheet.write_string(0, 1, text % {"shown": MOST_GROUPS, "all": len(groups)})
    for of in groups[:MOST_GROUPS]:
        for x_name, y_name in _DRAWN:
            found = chart_series(
                rows, of, x_name, y_name, names, limit_series=MOST_SERIES, limit_points=MOST_POINTS
            )  # fmt: skip
            lines: list[_Line] = []
            for label, points in found.lines:
                blocks.append((column, [(neutral(label), heading(y_name)), *points]))
                lines.append((_words(label), column, len(points)))
                column += 2
            if lines:
                drawn = _chart(workbook, data.get_name(), (x_name, y_name), _title(of, y_name, found, names), lines)
                sheet.insert_chart(2 + place * _ROWS_OF_A_CHART, 1, drawn)
                place += 1
    _write_blocks(data, blocks)


def _title(of: Group, y_name: str, found: Series, names: Names) -> str:
    """What is drawn, of what, and what is not."""
    told = [f"{heading(y_name)} · {names.model(of[0])}, {names.workload(of[1])}"]
    if found.settings > len(found.lines):
        text = _("the %(shown)s of %(all)s settings with the most tokens/s per GPU")
        told.append(text % {"shown": len(found.lines), "all": found.settings})
    if found.thinned:
        told.append(_("of a setting at most %(n)s loads") % {"n": MOST_POINTS})
    return _words(" · ".join(told))


def _words(text: str) -> str:
    """A name of a chart: with an exclamation mark the library takes it for the address of a cell."""
    return neutral(text).replace("!", " ")


def _write_blocks(data: Worksheet, blocks: list[tuple[int, list[tuple[Any, Any]]]]) -> None:
    """Row by row, as constant memory asks for."""
    for line in range(max((len(points) for _column, points in blocks), default=0)):
        for column, points in blocks:
            if line < len(points):
                write_cell(data, line, column, points[line][0])
                write_cell(data, line, column + 1, points[line][1])


def _chart(workbook: Workbook, data: str, axes: tuple[str, str], title: str, lines: list[_Line]) -> Any:
    chart = workbook.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
    for label, column, last in lines:
        chart.add_series(
            {
                "name": label,
                "categories": [data, 1, column, last, column],
                "values": [data, 1, column + 1, last, column + 1],
            }
        )
    chart.set_title({"name": title, "name_font": {"size": 12}})
    chart.set_x_axis({"name": heading(axes[0])})
    chart.set_y_axis({"name": heading(axes[1])})
    chart.set_size({"width": 1000, "height": 440})
    return chart
