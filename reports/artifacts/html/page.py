"""The page: charts, findings, a sample of rows, sources, in one file.

Chart.js comes with django-unfold (MIT), which we pin anyway; it is written into the file.
"""

import re
from datetime import datetime
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import orjson
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from reports import document
from reports.artifacts.html import answers
from reports.artifacts.html.asked import asked
from reports.artifacts.html.chart_data import filters_of, page_data
from reports.artifacts.words import heading, number_words, split_words
from reports.models import ReportVersion
from reports.rows.findings import load_of


def write(version: ReportVersion, rows: Path, target: Path) -> None:
    """Write the report as one HTML file."""
    head = document.head(version)
    data = page_data(head, rows)
    context = {
        "head": head,
        "completed": _moment(head["completed_at"]),
        "asked": asked(head["inputs"], version.snapshot),
        "verdict": answers.verdict(head),
        "answers": answers.cheapest(head),
        "answer_columns": answers.columns(),
        "findings": [finding | {"setting": _setting(finding["row"])} for finding in head["findings"]],
        "tiles": _tiles(head),
        "filters": filters_of(data),
        "shown": [{"name": name, "label": heading(name)} for name in data["columns"]],
        "inputs": orjson.dumps(_given(head["inputs"]), option=orjson.OPT_INDENT_2).decode(),
        "data": script_json(data),
        "charts": [name for name in ("speed", "cost", "arrivals_cost", "arrivals_wait") if data[name]]
        + (["ledger"] if data["ledger"]["rows"] else []),
        "same": " · ".join(data["same"]),
        "sample_rows": len(data["rows"]),
        "sampled": len(data["rows"]) < head["summary"]["rows"],
        "css": _asset("report.css"),
        "script": _asset("report.js"),
        "chart_library": chart_library()[0],
        "chart_version": chart_library()[1],
    }
    target.write_text(render_to_string("reports/report.html", context), encoding="utf-8")


def script_json(value: Any) -> SafeString:
    """JSON for a script block: no `<` of people's text can end the block or open a comment."""
    text = (
        orjson.dumps(value).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )
    return mark_safe(text)  # noqa: S308  escaped for a script block on the line above


@lru_cache(maxsize=1)
def chart_library() -> tuple[SafeString, str]:
    """Source and version of the chart library."""
    file = resources.files("unfold").joinpath("static/unfold/js/chart/chart.js")
    source = file.read_text(encoding="utf-8")
    if "</script" in source.lower():
        raise ValueError("the chart library cannot be written into a page")
    found = re.search(r'version="([0-9.]+)"', source)
    return mark_safe(source), found.group(1) if found else "4"  # noqa: S308  a pinned package's file, checked above


def _asset(name: str) -> SafeString:
    """One of our own files beside the template, as it is."""
    text = resources.files("reports").joinpath("templates/reports", name).read_text(encoding="utf-8")
    return mark_safe(text)  # noqa: S308  our own file


def _moment(text: str | None) -> str:
    """A time as people read it, in UTC."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M} UTC" if text else "–"


def _setting(row: dict[str, Any]) -> str:
    parts = (row["model"], row["workload"], row["gpu"], row["precision"], split_words(row["parallelism"]), load_of(row))
    return " · ".join(parts)


def _given(value: Any) -> Any:
    """The inputs without what was left out."""
    if isinstance(value, dict):
        return {key: _given(part) for key, part in value.items() if part is not None and part != {}}
    return [_given(part) for part in value] if isinstance(value, list) else value


def _tiles(head: dict[str, Any]) -> list[dict[str, str]]:
    summary = head["summary"]
    cheapest = next((entry["row"] for entry in head["findings"] if entry["kind"] == "cheapest_feasible"), None)
    tiles = [
        (_("Rows"), summary.get("rows")),
        (_("With figures"), summary.get("ok_rows")),
        (_("Best tokens/s per GPU"), number_words(summary.get("max_tokens_per_s_per_gpu_mid"))),
        (_("Best tokens/s per user"), number_words(summary.get("max_tokens_per_s_per_user_mid"))),
    ]
    if head["inputs"].get("slo"):
        tiles.insert(2, (_("Meet the targets"), summary.get("meets_slo_rows")))
    if cheapest:
        amount = number_words(float(cheapest["cost_per_mtok_output_mid"]))
        label = (
            _("Cheapest within the targets, per million tokens")
            if cheapest["meets_slo"]
            else _("Cheapest per million tokens")
        )
        tiles.append((label, f"{amount} {cheapest['currency']}"))
    return [{"label": label, "value": "–" if value is None else str(value)} for label, value in tiles]
