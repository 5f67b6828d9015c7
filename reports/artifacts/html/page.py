"""The report as one file: the page's template in a shell with styles, script and chart library written into it.

Chart.js comes with django-unfold (MIT), which we pin anyway.
"""

import re
from functools import lru_cache
from importlib import resources
from pathlib import Path

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from reports.artifacts.html.view import shown
from reports.models import ReportVersion
from reports.storage import RowFiles


def write(version: ReportVersion, rows: RowFiles, target: Path) -> None:
    """Write the report as one HTML file."""
    context = shown(version, rows) | {
        "in_file": True,
        "shell": _asset("templates/reports/file.css"),
        "css": _asset("static/reports/report.css"),
        "script": _asset("static/reports/report.js"),
        "chart_library": chart_library()[0],
        "chart_version": chart_library()[1],
    }
    target.write_text(render_to_string("reports/file.html", context), encoding="utf-8")


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
    """One of our own files, as it is."""
    text = resources.files("reports").joinpath(name).read_text(encoding="utf-8")
    return mark_safe(text)  # noqa: S308  our own file
