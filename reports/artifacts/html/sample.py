"""The table of settings: all rows of a version, or a sample with those that findings and decision name."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from reports.artifacts.headings import heading
from reports.artifacts.words import split_words
from reports.decision.parts import Decision
from reports.names import Names
from reports.rows import reading, tables
from reports.storage import RowFiles

MAX_SAMPLE = 5_000
SHOWN = (
    "model",
    "gpu",
    "engine",
    "precision",
    "parallelism",
    "workload",
    "batch_size",
    "offered_requests_per_s",
    "ttft_s_mid",
    "ttft_s_p95",
    "tpot_s_mid",
    "tokens_per_s_per_user_mid",
    "tokens_per_s_total_mid",
    "tokens_per_s_per_gpu_mid",
    "cost_per_mtok_output_mid",
    "binding_term",
    "meets_slo",
    "status",
    "row_index",
)
FILTERS = ("workload", "model", "gpu", "engine", "precision", "parallelism", "meets_slo", "status")


def table_of(
    head: Mapping[str, Any], found: Decision | None, rows: RowFiles, names: Names, most: int
) -> dict[str, Any]:
    """Columns and rows of the table; `same` are the words that are equal in all rows and no column of it."""
    sample = _sample(head, found, rows, most)
    whole = [[_shown(name, row[name], names) for name in SHOWN] for row in sample]
    values = {name: {row[place] for row in whole} for place, name in enumerate(SHOWN)}
    same = [name for name in FILTERS if len(values[name]) == 1 and len(whole) > 1 and name != "meets_slo"]
    left = {*same, *(() if values["offered_requests_per_s"] - {None} else ("ttft_s_p95",))}
    shown = [name for name in SHOWN if name not in left and values[name] - {None}]
    places = [SHOWN.index(name) for name in shown]
    return {
        "columns": [{"name": name, "label": heading(name), "text": name in _TEXT} for name in shown],
        "same": " · ".join(f"{heading(name)}: {whole[0][SHOWN.index(name)]}" for name in same if name != "status"),
        "rows": [[row[place] for place in places] for row in whole],
        "filters": [name for name in FILTERS if name in shown],
        "all": len(whole) >= int(head["summary"].get("rows") or 0),
    }


_TEXT = {"model", "gpu", "engine", "precision", "parallelism", "workload", "binding_term", "status", "meets_slo"}


def _sample(head: Mapping[str, Any], found: Decision | None, rows: RowFiles, most: int) -> list[dict[str, Any]]:
    named: list[int] = []
    for entry in head["findings"]:
        named += [entry["row_index"], *entry.get("row_indices", ())]
    groups = [] if found is None else found.groups
    named += [line.setting.row_index for group in groups for line in group.lines if line.setting is not None]
    named = sorted(set(named))[: most // 2]
    total = int(head["summary"].get("rows") or 0)
    step = max(1, -(-total // (most - len(named))))
    select = ", ".join(f'"{name}"' for name in (*SHOWN, "gpus"))
    with tables.connect() as connection:
        kept = reading.fetch(
            connection,
            f"SELECT {select} FROM {tables.source(rows)} WHERE row_index % {step} = 0 "
            "OR list_contains($named, row_index) ORDER BY row_index",
            {"named": named},
        )
    return [row | {"gpu": (row["gpus"], row["gpu"])} for row in kept[:most]]


def _shown(name: str, value: Any, names: Names) -> Any:
    if name == "gpu":
        return f"{value[0]} × {names.gpu(value[1])}"
    if name == "meets_slo":
        return {True: _("met"), False: _("missed"), None: None}[value]
    if value is None:
        return None
    if name in ("model", "engine", "workload"):
        return {"model": names.model, "engine": names.engine, "workload": names.workload}[name](value)
    if name == "parallelism":
        return split_words(value)
    if name == "precision":
        return value.upper()
    if name in ("status", "binding_term"):
        return value.replace("_", " ")
    # Money is exact text; the table rounds what it shows, as every other figure.
    return float(value) if name == "cost_per_mtok_output_mid" else value


def filters_of(table: Mapping[str, Any]) -> Sequence[dict[str, str]]:
    """Columns to filter by, with their words."""
    return [{"name": name, "label": heading(name)} for name in table["filters"]]
