"""The sheets of the workbook that say what the version is and what it rests on, in words."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from xlsxwriter.workbook import Workbook

from estimator.estimates.sweep.columns import COLUMN_BY_NAME, KEY_COLUMNS
from reports import document
from reports.artifacts.headings import heading
from reports.artifacts.selection import neutral
from reports.artifacts.sheets import FORMATS, MOMENT, write_cell
from reports.artifacts.words import split_words
from reports.models import ReportVersion
from reports.names import Names

_PROOF = (*KEY_COLUMNS, "tokens_per_s_per_gpu_mid", "cost_per_mtok_output_mid", "currency")


def write_summary(workbook: Workbook, version: ReportVersion, head: dict[str, Any], names: Names) -> None:
    """Counts and best figures of the version, then its findings with the row that proves each."""
    sheet = workbook.add_worksheet(_("Summary"))
    bold = workbook.add_format({"bold": True, "text_wrap": True, "valign": "top"})
    whole, moment = workbook.add_format({"num_format": "#,##0"}), workbook.add_format({"num_format": MOMENT})
    sheet.set_column(0, 0, 46)
    sheet.set_column(1, 12, 22)
    sheet.write_string(0, 0, neutral(version.report.name), workbook.add_format({"bold": True, "font_size": 14}))
    completed = head["completed_at"]
    pairs = [
        (_("Version"), version.number),
        (_("Complete since (UTC)"), datetime.fromisoformat(completed) if completed else None),
        (_("Estimator version"), head["estimator_version"]),
        (_("Catalog revision"), head["catalog_revision"]),
        (_("Content sha256"), head["content_sha256"]),
        *((_counted().get(key, key), value) for key, value in head["summary"].items()),
    ]
    for row, (label, value) in enumerate(pairs, start=2):
        sheet.write_string(row, 0, label, bold)
        write_cell(sheet, row, 1, value, moment if isinstance(value, datetime) else whole)
    _findings(workbook, sheet, len(pairs) + 3, head, names)


def _counted() -> dict[str, str]:
    """What people call the counts and best figures of a version."""
    return {
        "rows": _("Settings"),
        "ok_rows": _("Settings with figures"),
        "does_not_fit_rows": _("Settings that do not fit"),
        "unsupported_rows": _("Settings that cannot be computed"),
        "queue_grows_rows": _("Settings whose queue grows"),
        "meets_slo_rows": _("Settings within the targets"),
        "max_tokens_per_s_total_mid": _("Most tokens/s in all"),
        "max_tokens_per_s_per_user_mid": _("Most tokens/s per user"),
        "max_tokens_per_s_per_gpu_mid": _("Most tokens/s per GPU"),
        "groups": _("Pairs of model and workload"),
        "groups_with_findings": _("Pairs of model and workload with findings"),
    }


def _findings(workbook: Workbook, sheet: Any, row: int, head: dict[str, Any], names: Names) -> None:
    bold = workbook.add_format({"bold": True, "text_wrap": True, "valign": "top"})
    formats = {kind: workbook.add_format({"num_format": pattern}) for kind, pattern in FORMATS.items()}
    for column, name in enumerate((_("Finding"), heading("row_index"), *map(heading, _PROOF))):
        sheet.write_string(row, column, name, bold)
    for finding in head["findings"]:
        row += 1
        proof = _in_words(finding["row"], names)
        write_cell(sheet, row, 0, finding["text"])
        write_cell(sheet, row, 1, finding["row_index"])
        for column, name in enumerate(_PROOF, start=2):
            write_cell(sheet, row, column, proof[name], formats.get(COLUMN_BY_NAME[name].kind))


def _in_words(row: dict[str, Any], names: Names) -> dict[str, Any]:
    cost = row["cost_per_mtok_output_mid"]
    return row | {
        "model": names.model(row["model"]), "gpu": names.gpu(row["gpu"]), "engine": names.engine(row["engine"]),
        "precision": row["precision"].upper(), "parallelism": split_words(row["parallelism"]),
        "workload": names.workload(row["workload"]),
        "cost_per_mtok_output_mid": None if cost is None else Decimal(cost),
    }  # fmt: skip


def write_assumptions(workbook: Workbook, head: dict[str, Any]) -> None:
    """Assumptions, warnings, sources of catalog rows, and what each column of the rows means."""
    sheet = workbook.add_worksheet(_("Assumptions"))
    bold = workbook.add_format({"bold": True})
    sheet.set_column(0, 1, 32)
    sheet.set_column(2, 3, 60)
    row = 0
    for label, entries in ((_("Assumption"), head["assumptions"]), (_("Warning"), head["warnings"])):
        for entry in entries:
            sheet.write_string(row, 0, label, bold)
            write_cell(sheet, row, 2, entry)
            row += 1
    row = _table(sheet, row, (_("Catalog row"), _("Slug"), _("Name"), _("Source")), bold, [
        [source[key] for key in ("kind", "slug", "name", "source")] for source in head["sources"]
    ])  # fmt: skip
    _table(sheet, row + 1, (_("Column of the rows"), _("Its name in other files"), _("Meaning"), _("Unit")), bold, [
        [heading(column["name"]), column["name"], column["help"], column["unit"]] for column in document.columns()
    ])  # fmt: skip


def _table(sheet: Any, row: int, head: tuple[str, ...], bold: Any, lines: list[list[Any]]) -> int:
    """Write a heading and lines; the row behind them."""
    for column, name in enumerate(head):
        sheet.write_string(row, column, name, bold)
    for number, line in enumerate(lines, start=row + 1):
        for column, value in enumerate(line):
            write_cell(sheet, number, column, value)
    return row + 1 + len(lines)
