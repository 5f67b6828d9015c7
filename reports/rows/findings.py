"""What a sweep shows, each with the row that proves it. One query per kind for all groups: memory stays bounded.

A group is one model and one workload: only within it are figures comparable.
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import duckdb
from django.utils.translation import gettext as _

from estimator.figures import written
from reports.names import Names
from reports.rows import reading, tables
from reports.storage import RowFiles

MAX_GROUPS = 50
MAX_FRONTIER = 60
_HALF = 0.5
_TENTH = 1.10
_GROUP = '"model", "workload"'
_NAMED = ("model", "workload", "gpu", "engine", "precision", "parallelism")
_CONFIGURATION = '"model", "workload", "gpu", "engine", "precision", "parallelism"'
Finding = dict[str, Any]


def find(rows: RowFiles, inputs: dict[str, Any], names: Names) -> tuple[dict[str, Any], list[Finding]]:
    """Summary and findings of the rows of a version; each names its workload, and its model where there are several."""
    with tables.connect(threads=2) as connection:
        connection.execute(
            f"CREATE TEMP TABLE every AS SELECT row_index, {tables.as_enums(connection, rows, _NAMED)}, tp, "
            "gpus, batch_size, offered_requests_per_s AS offered, fits, effective_concurrency, "
            "tokens_per_s_total_mid AS total, tokens_per_s_per_user_mid AS per_user, "
            "tokens_per_s_per_gpu_mid AS per_gpu, tpot_s_mid AS tpot, "
            "CAST(cost_per_mtok_output_mid AS DOUBLE) AS cost, meets_slo, "
            "coalesce(weights_bytes, 0) + coalesce(kv_cache_bytes, 0) AS held_bytes, "
            "coalesce(utilization, 0) < 1 AS lasts "
            f"FROM {tables.source(rows)} WHERE status = 'ok'"
        )
        summary = _summary(connection, rows) | _cover(connection)
        with_slo = bool(inputs.get("slo"))
        found: list[Finding] = []
        for kind, query, text in _QUERIES:
            if kind == "best_within_slo" and not with_slo:
                continue
            found += _from_query(connection, kind, query(with_slo), text)
        found += _frontier(connection)
        _attach_rows(connection, rows, found)
    _name_groups(found, names)
    return summary, found


def _summary(connection: duckdb.DuckDBPyConnection, rows: RowFiles) -> dict[str, Any]:
    counts = dict(connection.execute(f"SELECT status, count(*) FROM {tables.source(rows)} GROUP BY 1").fetchall())
    best = connection.execute(
        "SELECT max(total), max(per_user) FILTER (WHERE lasts), max(per_gpu), count(*) FILTER (WHERE meets_slo), "
        "count(*) FILTER (WHERE NOT lasts) FROM every"
    ).fetchone()
    total, per_user, per_gpu, meets, grows = best or (None,) * 5
    return {
        "rows": sum(counts.values()),
        "ok_rows": counts.get("ok", 0),
        "does_not_fit_rows": counts.get("does_not_fit", 0),
        "unsupported_rows": counts.get("unsupported", 0),
        "queue_grows_rows": grows,
        "meets_slo_rows": meets,
        "max_tokens_per_s_total_mid": total,
        "max_tokens_per_s_per_user_mid": per_user,
        "max_tokens_per_s_per_gpu_mid": per_gpu,
    }


def _cover(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Puts the rows of the first MAX_GROUPS groups before the queries; how many groups there are and how many of it."""
    connection.execute(
        f"CREATE TEMP TABLE looked_at AS SELECT {_GROUP}, min(row_index) AS first_row FROM every GROUP BY ALL "
        f"ORDER BY first_row LIMIT {MAX_GROUPS}"
    )
    counted = connection.execute(f"SELECT count(*) FROM (SELECT DISTINCT {_GROUP} FROM every)").fetchone() or (0,)
    narrowed = f" SEMI JOIN looked_at USING ({_GROUP})" if counted[0] > MAX_GROUPS else ""
    # A load whose queue grows lasts for no time: it proves nothing.
    connection.execute(f"CREATE TEMP VIEW ok AS SELECT every.* FROM every{narrowed} WHERE lasts")
    return {"groups": counted[0], "groups_with_findings": min(counted[0], MAX_GROUPS)}


def _largest(_with_slo: bool) -> str:
    return _ranked("batch_size DESC, total DESC NULLS LAST, row_index", "fits AND effective_concurrency >= batch_size")


def _within_slo(_with_slo: bool) -> str:
    return _ranked("per_gpu DESC NULLS LAST, row_index", "meets_slo")


def _cheapest(with_slo: bool) -> str:
    return _ranked("cost, row_index", "cost IS NOT NULL" + (" AND meets_slo" if with_slo else ""))


def _ranked(order: str, condition: str) -> str:
    return (
        f"SELECT row_index, NULL AS other FROM (SELECT row_index, model, workload, row_number() OVER "
        f"(PARTITION BY {_GROUP} ORDER BY {order}) AS place FROM ok WHERE {condition}) WHERE place = 1 "
        f"ORDER BY row_index LIMIT {MAX_GROUPS}"
    )


def _knee(_with_slo: bool) -> str:
    """In the configuration with the best speed per GPU: the last batch whose growth still paid by more than half.

    Only for workloads with batch sizes: under open load the rate sets the speed, whatever the batch.
    """
    return (
        f"WITH best AS (SELECT {_CONFIGURATION} FROM (SELECT *, row_number() OVER (PARTITION BY {_GROUP} "
        f"ORDER BY per_gpu DESC NULLS LAST, row_index) AS place FROM ok) WHERE place = 1), "
        f"steps AS (SELECT ok.*, lead(total) OVER w AS next_total, lead(batch_size) OVER w AS next_batch, "
        f"lead(row_index) OVER w AS next_row "
        f"FROM ok JOIN best USING ({_CONFIGURATION}) "
        f"WINDOW w AS (PARTITION BY {_CONFIGURATION} ORDER BY batch_size, row_index)), "
        "knees AS (SELECT *, row_number() OVER (PARTITION BY model, workload ORDER BY batch_size, row_index) AS place "
        "FROM steps WHERE next_batch > batch_size AND total > 0 AND next_total > 0 "
        f"AND ln(next_total / total) / ln(next_batch::DOUBLE / batch_size) < {_HALF}) "
        f"SELECT row_index, next_row AS other FROM knees WHERE place = 1 ORDER BY row_index LIMIT {MAX_GROUPS}"
    )


def _quantisation(_with_slo: bool) -> str:
    """Settings equal but for precision: from which batch on one that holds fewer bytes is no faster than the widest.

    "From which on" is over the batches of the report: no larger one of that setting is faster again.
    """
    same = '"model", "workload", "gpu", "engine", "parallelism"'
    return (
        f"WITH based AS (SELECT *, first_value(row_index) OVER w AS widest, first_value(total) OVER w AS widest_total, "
        f"first_value(held_bytes) OVER w AS widest_bytes FROM ok WHERE batch_size IS NOT NULL "
        f"WINDOW w AS (PARTITION BY {same}, batch_size ORDER BY held_bytes DESC, row_index)), "
        "pairs AS (SELECT *, max(CASE WHEN total > widest_total THEN batch_size END) OVER "
        f"(PARTITION BY {same}, precision) AS last_faster FROM based WHERE held_bytes < widest_bytes), "
        "ends AS (SELECT row_index, widest AS other, row_number() OVER "
        "(PARTITION BY model, workload ORDER BY batch_size, row_index) AS place FROM pairs "
        "WHERE total <= widest_total AND (last_faster IS NULL OR batch_size > last_faster)) "
        f"SELECT row_index, other FROM ends WHERE place = 1 ORDER BY row_index LIMIT {MAX_GROUPS}"
    )


def _tensor_parallel(_with_slo: bool) -> str:
    """Per configuration but for parallelism: the first step of TP that speeds one user up by less than a tenth."""
    rest = "regexp_replace(parallelism::VARCHAR, '^tp[0-9]+', '')"
    same = f'"model", "workload", "gpu", "engine", "precision", "batch_size", "offered", {rest}'
    return (
        f"WITH steps AS (SELECT *, lag(per_user) OVER w AS before, lag(row_index) OVER w AS other, "
        f"lag(tp) OVER w AS fewer FROM ok WHERE batch_size IS NOT NULL OR offered IS NOT NULL "
        f"WINDOW w AS (PARTITION BY {same} ORDER BY tp, row_index)), "
        "stops AS (SELECT *, row_number() OVER (PARTITION BY model, workload ORDER BY tp, row_index) AS place "
        f"FROM steps WHERE tp > fewer AND per_user < {_TENTH} * before) "
        f"SELECT row_index, other FROM stops WHERE place = 1 ORDER BY row_index LIMIT {MAX_GROUPS}"
    )


def load_of(row: dict[str, Any]) -> str:
    """The load of a row in words."""
    if row["offered_requests_per_s"] is not None:
        return _("%(rate)s requests/s") % {"rate": f"{row['offered_requests_per_s']:g}"}
    if row["batch_size"] is None:
        return _("full load")
    return _("batch %(batch)s") % {"batch": row["batch_size"]}


def _text_largest(row: dict[str, Any], _other: dict[str, Any] | None) -> str:
    # Of those asked for: the row's full_length_sequences says what the cache holds beyond them.
    return _("The largest batch of the sweep that fits is %(batch)s on %(gpu)s.") % {
        "batch": row["batch_size"],
        "gpu": row["gpu"],
    }


def _text_knee(row: dict[str, Any], other: dict[str, Any] | None) -> str:
    return _(
        "On %(gpu)s the step from batch %(batch)s to %(next)s gains less than half of its growth in throughput."
    ) % {
        "gpu": row["gpu"],
        "batch": row["batch_size"],
        "next": other["batch_size"] if other else "",
    }


def _text_slo(row: dict[str, Any], _other: dict[str, Any] | None) -> str:
    return _("Within the targets, %(gpu)s at %(load)s gives the most tokens per second and GPU.") % {
        "gpu": row["gpu"],
        "load": load_of(row),
    }


def _text_cheapest(row: dict[str, Any], _other: dict[str, Any] | None) -> str:
    # With targets it is the cheapest of those that meet them: others may cost less.
    if row["meets_slo"]:
        text = _(
            "The cheapest within the targets: %(gpu)s, %(precision)s, %(load)s "
            "at %(cost)s %(currency)s per million output tokens."
        )
    else:
        text = _("The cheapest: %(gpu)s, %(precision)s, %(load)s at %(cost)s %(currency)s per million output tokens.")
    return text % {
        "gpu": row["gpu"],
        "precision": row["precision"],
        "load": load_of(row),
        "cost": written.money(Decimal(row["cost_per_mtok_output_mid"])),
        "currency": row["currency"] or "",
    }


def _text_quantisation(row: dict[str, Any], other: dict[str, Any] | None) -> str:
    return _("On %(gpu)s, %(precision)s is no faster than %(base)s from batch %(batch)s on.") % {
        "gpu": row["gpu"],
        "precision": row["precision"],
        "base": other["precision"] if other else "",
        "batch": row["batch_size"],
    }


def _text_tensor_parallel(row: dict[str, Any], other: dict[str, Any] | None) -> str:
    text = _("On %(gpu)s at %(load)s, TP %(more)s instead of %(fewer)s speeds a user up by less than a tenth.")
    return text % {
        "gpu": row["gpu"],
        "load": load_of(row),
        "fewer": other["tp"] if other else "",
        "more": row["tp"],
    }


_Text = Callable[[dict[str, Any], dict[str, Any] | None], str]
_QUERIES: tuple[tuple[str, Callable[[bool], str], _Text], ...] = (
    ("largest_batch_that_fits", _largest, _text_largest),
    ("knee", _knee, _text_knee),
    ("best_within_slo", _within_slo, _text_slo),
    ("cheapest_feasible", _cheapest, _text_cheapest),
    ("quantisation_stops_helping", _quantisation, _text_quantisation),
    ("tp_stops_helping", _tensor_parallel, _text_tensor_parallel),
)
_TEXTS: dict[str, _Text] = {kind: text for kind, _query, text in _QUERIES}


def _from_query(connection: duckdb.DuckDBPyConnection, kind: str, query: str, _text: _Text) -> Iterable[Finding]:
    return [
        {"kind": kind, "row_index": index, "other_row_index": other}
        for index, other in connection.execute(query).fetchall()
    ]


def _frontier(connection: duckdb.DuckDBPyConnection) -> list[Finding]:
    """Rows that no other row of their group beats in speed per user and per GPU at once."""
    query = (
        "SELECT model, workload, list(row_index ORDER BY per_user DESC) FROM (SELECT *, max(per_gpu) OVER "
        f"(PARTITION BY {_GROUP} ORDER BY per_user DESC, per_gpu DESC, row_index "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best FROM ok "
        "WHERE per_user IS NOT NULL AND per_gpu IS NOT NULL) "
        f"WHERE best IS NULL OR per_gpu > best GROUP BY model, workload ORDER BY min(row_index) LIMIT {MAX_GROUPS}"
    )
    found = []
    for model, workload, indices in connection.execute(query).fetchall():
        found.append(
            {
                "kind": "pareto_frontier",
                "model": model,
                "workload": workload,
                "row_index": indices[0],
                "other_row_index": None,
                "row_indices": _thinned(indices),
                "count": len(indices),
            }
        )
    return found


def _thinned(indices: list[int]) -> list[int]:
    """At most MAX_FRONTIER of them, ends included, evenly picked."""
    if len(indices) <= MAX_FRONTIER:
        return indices
    step = (len(indices) - 1) / (MAX_FRONTIER - 1)
    return [indices[round(place * step)] for place in range(MAX_FRONTIER)]


def _attach_rows(connection: duckdb.DuckDBPyConnection, path: RowFiles, found: list[Finding]) -> None:
    wanted = {entry["row_index"] for entry in found} | {
        entry["other_row_index"] for entry in found if entry["other_row_index"] is not None
    }
    rows = reading.by_index(connection, path, sorted(wanted)) if wanted else {}
    for entry in found:
        row, other = rows[entry["row_index"]], rows.get(entry["other_row_index"])
        entry["model"], entry["workload"] = row["model"], row["workload"]
        entry["row"] = row
        if other is not None:
            entry["other_row"] = other
        entry["text"] = _TEXTS[entry["kind"]](row, other) if entry["kind"] in _TEXTS else _frontier_text(entry)


def _name_groups(found: list[Finding], names: Names) -> None:
    """Put the workload before each text, and the model where the version holds several."""
    several = len({entry["model"] for entry in found}) > 1
    for entry in found:
        of = names.workload(entry["workload"])
        if several:
            of = _("%(model)s, %(workload)s") % {"model": names.model(entry["model"]), "workload": of}
        entry["text"] = _("%(of)s: %(text)s") % {"of": of, "text": entry["text"]}


def _frontier_text(entry: Finding) -> str:
    return _("%(count)s settings are on the frontier of speed per user against speed per GPU.") % {
        "count": entry["count"]
    }
