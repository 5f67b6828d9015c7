"""From the rows of a version: for each model, workload and GPU the best row, or the row nearest to the targets.

The best row has the lowest cost per token, which for one GPU is the highest speed per GPU: both stand still when its
price changes. One pass over the rows counts and chooses; the chosen rows are read by their index.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from estimator.engine.options import TARGETS
from estimator.estimates.sweep.columns import CHANCE
from estimator.estimates.throughput.odds import LIKELY, SAFE
from estimator.question.workload import Targets
from reports.rows import reading, tables
from reports.rows.findings import MAX_GROUPS
from reports.storage import RowFiles

_GROUP = "model, workload"
_LASTS = "status = 'ok' AND coalesce(utilization, 0) < 1"
_CONFIGURATION = ("model", "workload", "gpu", "engine", "precision", "parallelism")
# Beyond what any figure reaches: a row without one comes last.
_LAST = "1e300"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRows:
    """What the rows of one GPU under one model and workload say.

    `best` is the row that its line shows, `nearest` the one that misses the targets by least, `example` any of them;
    `loads` are those of the setting of the best row, else of the nearest.
    """

    model: str
    workload: str
    gpu: str
    counts: Mapping[str, int]
    best: dict[str, Any] | None
    nearest: dict[str, Any] | None
    example: dict[str, Any]
    loads: Mapping[str, float | None]


def gpus_of(rows: RowFiles, slo: Targets | None) -> tuple[list[GpuRows], int]:
    """The GPUs of the first MAX_GROUPS groups in the order of the rows, and how many groups there are in all."""
    with tables.connect(threads=2) as connection:
        found = reading.fetch(connection, _chosen(tables.source(rows), slo))
        groups = list(dict.fromkeys((one["model"], one["workload"]) for one in found))
        kept = set(groups[:MAX_GROUPS])
        found = [one for one in found if (one["model"], one["workload"]) in kept]
        wanted = {one[name] for one in found for name in ("best", "nearest", "example") if one[name] is not None}
        whole = reading.by_index(connection, rows, sorted(wanted)) if wanted else {}
        shown = [index for one in found if (index := _shown(one)) is not None]
        loads = _loads(connection, tables.source(rows), shown, slo)
    return [_gpu(one, whole, loads) for one in found], len(groups)


def _gpu(one: Mapping[str, Any], whole: Mapping[int, dict[str, Any]], loads: Mapping[int | None, Any]) -> GpuRows:
    best = one["best"]
    return GpuRows(
        model=one["model"],
        workload=one["workload"],
        gpu=one["gpu"],
        counts={name: one[name] for name in ("ok", "lasting", "missed", "does_not_fit", "every")},
        best=None if best is None else whole[best],
        nearest=None if one["nearest"] is None else whole[one["nearest"]],
        example=whole[one["example"]],
        loads=loads.get(_shown(one), {}),
    )


def _shown(one: Mapping[str, Any]) -> int | None:
    """The row whose setting a line speaks of: the best, else the one nearest to the targets."""
    index: int | None = one["nearest"] if one["best"] is None else one["best"]
    return index


def _chosen(source: str, slo: Targets | None) -> str:
    """One line per model, workload and GPU: counts and the index of the rows that matter."""
    asked = targets_of(slo)
    # Without targets a load that waits for memory is in question as little as one that does not fit.
    candidate = f"{_LASTS} AND {'meets_slo' if asked else 'coalesce(fits, true)'}"
    cost = f"coalesce(CAST(cost_per_mtok_output_mid AS DOUBLE), {_LAST})"
    speed = "-coalesce(tokens_per_s_per_gpu_mid, 0)"
    missed = f"{_LASTS} AND meets_slo = false"
    miss = _miss(asked, "mid" if slo is not None and slo.band_side == "mid" else "high")
    return (
        f"SELECT {_GROUP}, gpu, min(row_index) AS first_row, count(*) AS every, "
        f"count(*) FILTER (WHERE status = 'ok') AS ok, count(*) FILTER (WHERE {_LASTS}) AS lasting, "
        f"count(*) FILTER (WHERE {missed}) AS missed, "
        "count(*) FILTER (WHERE status = 'does_not_fit') AS does_not_fit, "
        f"arg_min(row_index, {{'c': {cost}, 's': {speed}, 'r': row_index}}) FILTER (WHERE {candidate}) AS best, "
        f"arg_min(row_index, {{'m': {miss}, 'r': row_index}}) FILTER (WHERE {missed}) AS nearest, "
        "arg_min(row_index, {'n': reason IS NULL, 'f': status <> 'does_not_fit', 'r': row_index}) AS example, "
        f"min(min(row_index)) OVER (PARTITION BY {_GROUP}) AS group_row "
        f"FROM {source} GROUP BY {_GROUP}, gpu ORDER BY group_row, first_row"
    )


def targets_of(slo: Targets | None) -> dict[str, float]:
    """The targets that were asked for, seconds."""
    return {} if slo is None else {name: float(t) for name in TARGETS if (t := getattr(slo, name)) is not None}


def _miss(asked: Mapping[str, float], side: str) -> str:
    """By what factor a row misses its worst target."""
    parts = [f"coalesce({name}_{side} / {target!r}, 0)" for name, target in asked.items()]
    return f"greatest({', '.join(parts)}, 0)" if parts else "0"


def _loads(
    connection: duckdb.DuckDBPyConnection, source: str, shown: list[int], slo: Targets | None
) -> dict[int | None, dict[str, float | None]]:
    """By the index of a row: the largest loads of its setting within the targets, and the next that misses them.

    `safe` and `likely` follow the rows' chance; rows without one, as all of older releases, the sides of the band.
    """
    if not shown:
        return {}
    asked = targets_of(slo)
    kept = f"{_LASTS} AND coalesce(meets_slo, false)" if asked else f"{_LASTS} AND coalesce(fits, true)"
    same = " AND ".join(f"r.{name} = b.{name}" for name in _CONFIGURATION)
    load = "coalesce(r.offered_requests_per_s, r.batch_size)"
    found = reading.fetch(
        connection,
        f"WITH b AS (SELECT row_index AS best, {', '.join(_CONFIGURATION)}, "
        "coalesce(offered_requests_per_s, batch_size) AS own, offered_requests_per_s IS NOT NULL AS opened "
        f"FROM {source} WHERE list_contains($shown, row_index)), "
        f"r AS (SELECT * FROM {source} WHERE status = 'ok' AND coalesce(utilization, 0) < 1) "
        f"SELECT b.best, any_value(b.opened) AS opened, any_value(b.own) AS own, "
        f"bool_or(r.{CHANCE} IS NOT NULL) AS chances, max({load}) FILTER (WHERE {kept}) AS meets, "
        f"max({load}) FILTER (WHERE {_within(asked, SAFE, 'high')}) AS safe, "
        f"max({load}) FILTER (WHERE {_within(asked, LIKELY, 'mid')}) AS likely, "
        f"min({load}) FILTER (WHERE {load} > b.own AND NOT ({kept})) AS next_load "
        f"FROM b JOIN r ON {same} GROUP BY b.best",
        {"shown": shown},
    )
    return {one["best"]: one for one in found}


def _within(asked: Mapping[str, float], chance: float, side: str) -> str:
    """Whether a row holds every target with a chance; where it tells none, whether its times do at a side of the band.

    Under open loop the times are those at a percentile: the row's own verdict stands for the side that was asked for.
    """
    return (
        f"CASE WHEN r.{CHANCE} IS NOT NULL THEN r.{CHANCE} >= {chance!r} "
        f"WHEN r.offered_requests_per_s IS NULL THEN {_holds(asked, side)} ELSE coalesce(r.meets_slo, {not asked}) END"
    )


def _holds(asked: Mapping[str, float], side: str) -> str:
    """Whether a row of a closed loop holds every target at a side of the band; without targets, whether it fits.

    A time per token that is null where there is no second token binds nothing: the row's own verdict says so.
    """
    if not asked:
        return "coalesce(r.fits, true)"
    parts = [
        f"coalesce(r.{name}_{side} <= {target!r}, {name == 'tpot_s'!r} AND coalesce(r.meets_slo, false))"
        for name, target in asked.items()
    ]
    return f"({' AND '.join(parts)})"
