"""The first sheet of the workbook: the decision, a line per GPU and workload, words in headings, dates as dates."""

from datetime import date
from typing import Any

from django.utils.translation import gettext as _
from xlsxwriter.workbook import Workbook

from reports.artifacts.selection import neutral
from reports.artifacts.words import split_words
from reports.decision.parts import Decision, DecisionGroup, DecisionLine

_WHOLE, _MONEY, _DAY, _TEXT = "#,##0", "#,##0.00####", "d mmm yyyy", ""


def write_decision(workbook: Workbook, found: Decision) -> None:
    """Write the sheet: the sentences of each pair of model and workload, then its lines."""
    sheet = workbook.add_worksheet(_("Decision"))
    bold = workbook.add_format({"bold": True, "text_wrap": True, "valign": "top"})
    formats = {pattern: workbook.add_format({"num_format": pattern}) for pattern in (_WHOLE, _MONEY, _DAY)}
    sheet.set_column(0, 0, 28)
    sheet.set_column(1, len(_columns()) - 1, 16)
    row = 0
    for group in found.groups:
        sheet.write_string(row, 0, neutral(f"{group.model_name}: {group.workload_name}"), bold)
        for text in filter(None, (group.sentence, group.certainty, *group.changes, _measurement(group))):
            row += 1
            sheet.write_string(row, 0, neutral(text))
        row += 1
        for place, name in enumerate(_columns()):
            sheet.write_string(row, place, name, bold)
        for line in group.lines:
            row += 1
            for place, (value, pattern) in enumerate(_cells(line)):
                _write(sheet, row, place, value, formats.get(pattern))
        row += 2


def _measurement(group: DecisionGroup) -> str | None:
    """The benchmark that would tell most, as one line."""
    found = group.next_measurement
    if found is None or found.command is None:
        return None
    command = " ".join(found.command.replace("\\\n", " ").split())
    return _("To measure next, on %(gpu)s: %(command)s") % {"gpu": found.gpu_name, "command": command}


def _columns() -> list[str]:
    return [
        _("GPU"), _("GPUs"), _("Engine"), _("Weights / cache"), _("Split"), _("Users, safe"), _("Users, likely"),
        _("Output tokens/s, all users"), _("Per million output tokens"), _("… low end of the band"),
        _("… high end of the band"), _("Per million tokens blended"), _("Per month (730 h)"),
        _("Price per GPU and hour"),
        _("Currency"), _("Seller"), _("Price seen on"), _("Cost over the winner's"),
        _("Why there is no setting or price"),
    ]  # fmt: skip


def _cells(line: DecisionLine) -> list[tuple[Any, str]]:
    """Value and number format of each cell of a line."""
    setting, load, price = line.setting, line.load_within, line.price
    cost, blended = line.cost_per_mtok_output, line.cost_per_mtok_blended
    users = load if load is not None and load.unit == "users" else None
    return [
        (line.gpu_name, _TEXT), (setting and setting.gpus, _WHOLE), (setting and setting.engine_name, _TEXT),
        (setting and setting.precision, _TEXT), (setting and split_words(setting.parallelism), _TEXT),
        (users and users.safe, _WHOLE), (users and users.likely, _WHOLE),
        (line.tokens_per_s_total and line.tokens_per_s_total.mid, _WHOLE), (cost and cost.mid, _MONEY),
        (cost and cost.low, _MONEY), (cost and cost.high, _MONEY), (blended and blended.mid, _MONEY),
        (line.cost_per_month, _MONEY), (price and price.per_gpu_hour, _MONEY), (price and price.currency, _TEXT),
        (price and price.seller, _TEXT), (price and price.date and date.fromisoformat(price.date), _DAY),
        (line.cost_over_winner, _MONEY), (line.reason or line.price_reason, _TEXT),
    ]  # fmt: skip


def _write(sheet: Any, row: int, column: int, value: Any, pattern: Any) -> None:
    if value is None:
        return
    if isinstance(value, str):
        sheet.write_string(row, column, neutral(value))
    elif isinstance(value, date):
        sheet.write_datetime(row, column, value, pattern)
    else:
        sheet.write_number(row, column, value, pattern)
