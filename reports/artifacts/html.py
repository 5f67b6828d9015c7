"""The report as one HTML file that asks nothing of the network: charts, findings, a sample of rows, sources.

Chart.js comes with django-unfold (MIT), which we pin anyway; it is written into the file.
"""

import re
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import orjson
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from reports import document, row_reading, tables
from reports.artifacts.series import chart_series
from reports.models import ReportVersion

MAX_SAMPLE = 5_000
_SHOWN = (
    "model",
    "gpu",
    "engine",
    "precision",
    "parallelism",
    "workload",
    "batch_size",
    "offered_requests_per_s",
    "status",
    "ttft_s_mid",
    "tpot_s_mid",
    "tokens_per_s_per_user_mid",
    "tokens_per_s_total_mid",
    "tokens_per_s_per_gpu_mid",
    "cost_per_mtok_output_mid",
    "binding_term",
    "meets_slo",
    "row_index",
)
_FILTERS = ("model", "gpu", "precision", "parallelism", "workload", "status")
_GIB = 2**30


def write(version: ReportVersion, rows: Path, target: Path) -> None:
    """Write the report as one HTML file."""
    head = document.head(version)
    data = _data(head, rows)
    context = {
        "head": head,
        "tiles": _tiles(head),
        "filters": _FILTERS,
        "shown": _SHOWN,
        "inputs": orjson.dumps(_given(head["inputs"]), option=orjson.OPT_INDENT_2).decode(),
        "data": script_json(data),
        "has_speed": bool(data["speed"]),
        "has_cost": bool(data["cost"]),
        "has_ledger": bool(data["ledger"]["rows"]),
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
    path = Path(__file__).resolve().parents[1] / "templates" / "reports" / name
    return mark_safe(path.read_text(encoding="utf-8"))  # noqa: S308  our own file


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
        (_("Do not fit"), summary.get("does_not_fit_rows")),
        (_("Best tokens/s per GPU"), _short(summary.get("max_tokens_per_s_per_gpu_mid"))),
        (_("Best tokens/s per user"), _short(summary.get("max_tokens_per_s_per_user_mid"))),
    ]
    if cheapest:
        amount = _short(float(cheapest["cost_per_mtok_output_mid"]))
        tiles.append((_("Cheapest per million tokens"), f"{amount} {cheapest['currency']}"))
    return [{"label": label, "value": "–" if value is None else str(value)} for label, value in tiles]


def _short(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def _data(head: dict[str, Any], rows: Path) -> dict[str, Any]:
    names = (*_SHOWN,)
    return {
        "columns": names,
        "shown": _SHOWN,
        "rows": _sample(head, rows, names),
        "speed": _series(rows, "tokens_per_s_per_user_mid", "tokens_per_s_per_gpu_mid"),
        "cost": _series(rows, "batch_size", "cost_per_mtok_output_mid"),
        "frontier": _frontier(head, rows),
        "ledger": _ledger(head),
        "texts": {
            "frontier": _("Frontier"),
            "perUser": _("tokens/s per user"),
            "perGpu": _("tokens/s per GPU"),
            "batch": _("batch size"),
            "cost": _("per million output tokens"),
            "gib": _("GiB"),
        },
    }


def _series(rows: Path, x_name: str, y_name: str) -> list[dict[str, Any]]:
    found = chart_series(rows, x_name, y_name, limit_series=8, limit_points=120)
    return [{"label": label, "points": points} for label, points in found]


def _sample(head: dict[str, Any], rows: Path, names: tuple[str, ...]) -> list[list[Any]]:
    named: list[int] = []
    for entry in head["findings"]:
        named += [entry["row_index"], *entry.get("row_indices", ())]
    named = sorted(set(named))[: MAX_SAMPLE // 2]
    total = int(head["summary"]["rows"])
    step = max(1, -(-total // (MAX_SAMPLE - len(named))))
    select = ", ".join(f'"{name}"' for name in names)
    with tables.connect() as connection:
        found = row_reading.fetch(
            connection,
            f"SELECT {select} FROM {tables.source(rows)} WHERE row_index % {step} = 0 "
            "OR list_contains($named, row_index) ORDER BY row_index",
            {"named": named},
        )
    return [[row[name] for name in names] for row in found[:MAX_SAMPLE]]


def _frontier(head: dict[str, Any], rows: Path) -> list[list[float]]:
    """The frontier of the first group, drawn only when the report holds one group: figures compare within it."""
    entries = [entry for entry in head["findings"] if entry["kind"] == "pareto_frontier"]
    if len(entries) != 1:
        return []
    names = ("row_index", "tokens_per_s_per_user_mid", "tokens_per_s_per_gpu_mid")
    with tables.connect() as connection:
        found = row_reading.by_index(connection, rows, entries[0]["row_indices"], names)
    return [[found[index][names[1]], found[index][names[2]]] for index in entries[0]["row_indices"]]


def _ledger(head: dict[str, Any]) -> dict[str, Any]:
    terms = (
        ("weights_bytes", _("weights")),
        ("kv_cache_bytes", _("KV cache")),
        ("activation_bytes", _("activations")),
        ("cuda_graph_bytes", _("graphs")),
        ("runtime_overhead_bytes", _("runtime")),
        ("unmanaged_bytes", _("unmanaged")),
        ("slack_bytes", _("slack")),
    )
    seen: dict[tuple[str, ...], list[float]] = {}
    for entry in head["findings"]:
        row = entry["row"]
        if row["memory_bytes"] is None or len(seen) >= 8:
            continue
        lines = (row["gpu"], row["precision"], f"{row['parallelism']} · {row['batch_size']}")
        seen.setdefault(lines, [max(0.0, (row[name] or 0) / _GIB) for name, _label in terms])
    return {
        "terms": [{"name": name, "label": label} for name, label in terms],
        # In lines, because one line is cut off on a telephone.
        "rows": [{"lines": lines, "gib": values} for lines, values in seen.items()],
    }
