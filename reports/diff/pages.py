"""A comparison as CSV and as a page."""

import csv
import io
from typing import Any

from django.template.loader import render_to_string

from reports.artifacts.selection import neutral


def as_csv(difference: dict[str, Any]) -> bytes:
    """One line per moved row, metric and cause (RFC 4180); the total of a metric is the line of cause `total`."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    keys = list(difference["moved"][0]["setting"]) if difference["moved"] else []
    writer.writerow([*keys, "metric", "old", "new", "cause", "amount"])
    for entry in difference["moved"]:
        setting = [neutral(value) if isinstance(value, str) else value for value in entry["setting"].values()]
        for metric, values in entry["metrics"].items():
            writer.writerow([*setting, metric, values["old"], values["new"], "total", values["change"]])
            for cause in entry["causes"] or ():
                if metric in cause["amounts"]:
                    writer.writerow([*setting, metric, "", "", neutral(cause["cause"]), cause["amounts"][metric]])
    return out.getvalue().encode()


def as_html(difference: dict[str, Any]) -> bytes:
    """The comparison as a page of its own, without scripts and without outside requests."""
    return render_to_string("reports/diff.html", {"diff": difference}).encode()
