"""Data of the charts and of the sampled rows, as the page's script takes them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from reports.artifacts.series import chart_series
from reports.artifacts.words import heading, split_words
from reports.rows import reading, tables

MAX_SAMPLE = 5_000
MAX_LEDGERS = 8
_GIB = 2**30
SHOWN = (
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
    "ttft_s_p95",
    "tpot_s_mid",
    "tokens_per_s_per_user_mid",
    "tokens_per_s_total_mid",
    "tokens_per_s_per_gpu_mid",
    "cost_per_mtok_output_mid",
    "binding_term",
    "meets_slo",
    "row_index",
)
FILTERS = ("model", "gpu", "engine", "precision", "parallelism", "workload", "status")


def page_data(head: Mapping[str, Any], rows: Path) -> dict[str, Any]:
    """Everything that the script draws; `same` are the words that are equal in all rows and no column of the table."""
    sample = _sample(head, rows)
    values = {name: {row[place] for row in sample} for place, name in enumerate(SHOWN)}
    same = [name for name in FILTERS if len(values[name]) == 1 and len(sample) > 1]
    shown = [name for name in SHOWN if name not in same and values[name] - {None}]
    places = [SHOWN.index(name) for name in shown]
    return {
        "columns": shown,
        "same": [f"{heading(name)}: {sample[0][SHOWN.index(name)]}" for name in same],
        "rows": [[row[place] for place in places] for row in sample],
        "speed": _series(rows, "tokens_per_s_per_user_mid", "tokens_per_s_per_gpu_mid"),
        "cost": _series(rows, "batch_size", "cost_per_mtok_output_mid"),
        "arrivals_cost": _series(rows, "offered_requests_per_s", "cost_per_mtok_output_mid"),
        "arrivals_wait": _series(rows, "offered_requests_per_s", "ttft_s_p95"),
        "frontier": _frontier(head, rows),
        "ledger": _ledger(head),
        "texts": {
            "frontier": _("Frontier"),
            "perUser": _("tokens/s per user"),
            "perGpu": _("tokens/s per GPU"),
            "batch": _("batch size"),
            "arrivals": _("requests/s"),
            "wait": _("seconds"),
            "cost": _("per million output tokens"),
            "gib": _("GiB"),
            "yes": _("yes"),
            "no": _("no"),
        },
    }


def filters_of(data: Mapping[str, Any]) -> list[dict[str, str]]:
    """Columns to filter by."""
    return [{"name": name, "label": heading(name)} for name in FILTERS if name in data["columns"]]


def _series(rows: Path, x_name: str, y_name: str) -> list[dict[str, Any]]:
    found = chart_series(rows, x_name, y_name, limit_series=8, limit_points=120)
    return [{"label": label, "points": points} for label, points in found]


def _sample(head: Mapping[str, Any], rows: Path) -> list[list[Any]]:
    named: list[int] = []
    for entry in head["findings"]:
        named += [entry["row_index"], *entry.get("row_indices", ())]
    named = sorted(set(named))[: MAX_SAMPLE // 2]
    total = int(head["summary"]["rows"])
    step = max(1, -(-total // (MAX_SAMPLE - len(named))))
    select = ", ".join(f'"{name}"' for name in SHOWN)
    with tables.connect() as connection:
        found = reading.fetch(
            connection,
            f"SELECT {select} FROM {tables.source(rows)} WHERE row_index % {step} = 0 "
            "OR list_contains($named, row_index) ORDER BY row_index",
            {"named": named},
        )
    return [[_shown(name, row[name]) for name in SHOWN] for row in found[:MAX_SAMPLE]]


def _shown(name: str, value: Any) -> Any:
    if name == "parallelism":
        return split_words(value)
    if name in ("status", "binding_term") and value is not None:
        return value.replace("_", " ")
    # Money is exact text; the page rounds what it shows to four digits, as every other figure.
    return float(value) if name == "cost_per_mtok_output_mid" and value is not None else value


def _frontier(head: Mapping[str, Any], rows: Path) -> list[list[float]]:
    """The frontier of the first group, drawn only when the report holds one group: figures compare within it."""
    entries = [entry for entry in head["findings"] if entry["kind"] == "pareto_frontier"]
    if len(entries) != 1:
        return []
    names = ("row_index", "tokens_per_s_per_user_mid", "tokens_per_s_per_gpu_mid")
    with tables.connect() as connection:
        found = reading.by_index(connection, rows, entries[0]["row_indices"], names)
    return [[found[index][names[1]], found[index][names[2]]] for index in entries[0]["row_indices"]]


def _ledger(head: Mapping[str, Any]) -> dict[str, Any]:
    terms = (
        ("weights_bytes", _("weights")),
        ("kv_cache_bytes", _("KV cache")),
        ("activation_bytes", _("activations")),
        ("cuda_graph_bytes", _("graphs")),
        ("runtime_overhead_bytes", _("runtime")),
        ("unmanaged_bytes", _("unmanaged")),
        ("slack_bytes", _("free")),
    )
    findings: Sequence[Mapping[str, Any]] = head["findings"]
    several = len({entry["row"]["model"] for entry in findings}) > 1
    seen: dict[tuple[str, ...], list[float]] = {}
    for entry in findings:
        row = entry["row"]
        if row["memory_bytes"] is None or len(seen) >= MAX_LEDGERS:
            continue
        load = row["batch_size"] if row["offered_requests_per_s"] is None else f"{row['offered_requests_per_s']:g}/s"
        setting = f"{row['precision']} · {split_words(row['parallelism'])}"
        card = f"{row['model']} · {row['gpu']}" if several else row["gpu"]
        lines = (card, setting if load is None else f"{setting} · {load}")
        seen.setdefault(lines, [max(0.0, (row[name] or 0) / _GIB) for name, _label in terms])
    return {
        "terms": [{"name": name, "label": label} for name, label in terms],
        # In lines, because one line is cut off on a telephone.
        "rows": [{"lines": lines, "gib": values} for lines, values in seen.items()],
    }
