"""Data of the charts, a workload at a time: unlike workloads share no axis. What is not drawn is counted."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from estimator.estimates.sweep.columns import SETTING_COLUMNS
from estimator.figures import written
from reports.artifacts.html.decided import COLOURS, group_title
from reports.artifacts.words import split_words
from reports.decision.parts import Decision
from reports.names import Names
from reports.rows import reading, tables
from reports.storage import RowFiles

MAX_SERIES = 60
MAX_SERIES_IN_ALL = 600
MAX_POINTS = 120
_GIB = 2**30
_CHARTED = "status = 'ok' AND coalesce(utilization, 0) < 1 AND coalesce(fits, true)"
_POINT = (
    "coalesce(offered_requests_per_s, batch_size)",
    *(f"tokens_per_s_per_user_{side}" for side in ("low", "mid", "high")),
    *(f"tokens_per_s_per_gpu_{side}" for side in ("low", "mid", "high")),
    *(f"CAST(cost_per_mtok_output_{side} AS DOUBLE)" for side in ("low", "mid", "high")),
    "ttft_s_p95",
    "meets_slo",
)
_VARIANT = ("engine", "precision", "parallelism")


def chart_groups(
    found: Decision, findings: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any], rows: RowFiles, names: Names
) -> list[dict[str, Any]]:
    """One entry per pair of model and workload: its series by GPU (colour) and variant (dash), frontier and memory."""
    slo = inputs.get("slo") or {}
    several = len({group.model for group in found.groups}) > 1
    each = max(1, min(MAX_SERIES, MAX_SERIES_IN_ALL // max(len(found.groups), 1)))
    with tables.connect(threads=2) as connection:
        source = tables.source(rows)
        series = _series(connection, source, _chosen(source, each))
        counts = reading.fetch(connection, _counted(source))
        frontiers = _frontiers(findings, rows, connection)
    left = {(one["model"], one["workload"]): one for one in counts}
    shown = []
    for group in found.groups:
        key = (group.model, group.workload)
        drawn = series.get(key, [])
        shown.append(
            {
                "title": group_title(group, several),
                "arrivals": any(line.setting and line.setting.offered_requests_per_s for line in group.lines)
                or group.mode == "open_loop",
                "currency": group.currency,
                "target": _user_target(slo),
                "targetWords": _target_words(slo),
                "apis": [
                    {"name": one.provider.replace("_", " "), "cost": float(one.cost_per_mtok_output)}
                    for one in group.apis[:2]
                    if one.cost_per_mtok_output is not None and one.currency == group.currency
                ],
                **_legend(drawn, names, list(colours_of(found))),
                "frontier": frontiers.get(key, []),
                "left": _left(left.get(key, {}), len(drawn)),
            }
        )
    return shown


def colours_of(found: Decision) -> dict[str, int]:
    """The number of the colour of each GPU, one for all workloads: its place in the first group that it is in."""
    gpus = dict.fromkeys(line.gpu for group in found.groups for line in group.lines)
    return {gpu: place for place, gpu in enumerate(gpus)}


def _user_target(slo: Mapping[str, Any]) -> float | None:
    """The target of the time per token as a user's tokens per second."""
    return 1.0 / float(slo["tpot_s"]) if slo.get("tpot_s") else None


def _target_words(slo: Mapping[str, Any]) -> str:
    return _("target %(time)s") % {"time": written.seconds(float(slo["tpot_s"]))} if slo.get("tpot_s") else ""


def _chosen(source: str, each: int) -> str:
    """The settings to draw of each group: the best of every GPU first, then the next best of each."""
    group = ", ".join(SETTING_COLUMNS)
    return (
        f"WITH best AS (SELECT {group}, max(tokens_per_s_per_gpu_mid) AS best, count(*) AS n FROM {source} "
        f"WHERE {_CHARTED} AND tokens_per_s_per_gpu_mid IS NOT NULL GROUP BY {group}), "
        "ranked AS (SELECT *, row_number() OVER "
        f"(PARTITION BY model, workload, gpu ORDER BY best DESC, {group}) AS of_gpu FROM best), "
        f"placed AS (SELECT *, row_number() OVER (PARTITION BY model, workload "
        f"ORDER BY of_gpu, best DESC, {group}) AS place FROM ranked) "
        f"SELECT {group}, n FROM placed WHERE place <= {int(each)} ORDER BY model, workload, place"
    )


def _series(connection: Any, source: str, wanted: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The points of the wanted settings by group, each in order of its load and thinned to MAX_POINTS."""
    chosen = reading.fetch(connection, wanted)
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    if not chosen:
        return found
    keys = [tuple(one[name] for name in SETTING_COLUMNS) for one in chosen]
    place = {key: number for number, key in enumerate(keys)}
    named = ", ".join(SETTING_COLUMNS)
    sql = (
        f"SELECT {named}, {', '.join(_POINT)} FROM (SELECT *, row_number() OVER w AS nth, count(*) OVER "
        f"(PARTITION BY {named}) AS n FROM {source} SEMI JOIN ({wanted}) USING ({named}) WHERE {_CHARTED} "
        f"WINDOW w AS (PARTITION BY {named} ORDER BY batch_size, offered_requests_per_s, row_index)) "
        f"WHERE (nth - 1) % greatest(1, CAST(ceil(n / {MAX_POINTS}.0) AS BIGINT)) = 0 OR nth = n ORDER BY nth"
    )
    points: dict[int, list[list[Any]]] = defaultdict(list)
    for row in connection.execute(sql).fetchall():
        number = place.get(tuple(row[: len(SETTING_COLUMNS)]))
        if number is not None:
            points[number].append(list(row[len(SETTING_COLUMNS) :]))
    for number, one in enumerate(chosen):
        entry = {name: one[name] for name in ("gpu", *_VARIANT)} | {"points": points[number]}
        found[one["model"], one["workload"]].append(entry)
    return found


def _legend(drawn: Sequence[Mapping[str, Any]], names: Names, order: Sequence[str]) -> dict[str, Any]:
    """GPUs with their colours, variants (what differs of engine, precision and split), and series by their places."""
    gpus = [gpu for gpu in order if any(one["gpu"] == gpu for one in drawn)]
    differ = [name for name in _VARIANT if len({one[name] for one in drawn}) > 1]
    words = [_variant(one, differ, names) for one in drawn]
    variants = list(dict.fromkeys(words))
    return {
        "gpus": [{"name": names.gpu(gpu), "colour": order.index(gpu) % COLOURS} for gpu in gpus],
        "variants": variants,
        "series": [
            {"gpu": gpus.index(one["gpu"]), "variant": variants.index(word), "points": one["points"]}
            for one, word in zip(drawn, words, strict=True)
        ],
    }


def _variant(one: Mapping[str, Any], differ: Sequence[str], names: Names) -> str:
    said = {
        "engine": names.engine(one["engine"]), "precision": one["precision"].upper(),
        "parallelism": split_words(one["parallelism"]),
    }  # fmt: skip
    return " · ".join(said[name] for name in differ) or said["engine"]


def _counted(source: str) -> str:
    settings = ", ".join(SETTING_COLUMNS)
    return (
        f"SELECT model, workload, count(DISTINCT ({settings})) FILTER (WHERE {_CHARTED}) AS settings, "
        "count(*) FILTER (WHERE status = 'does_not_fit') AS does_not_fit, "
        "count(*) FILTER (WHERE status = 'unsupported') AS unsupported, "
        "count(*) FILTER (WHERE status = 'ok' AND coalesce(utilization, 0) >= 1) AS grows, "
        "count(*) FILTER (WHERE status = 'ok' AND coalesce(utilization, 0) < 1 AND NOT coalesce(fits, true)) AS waits "
        f"FROM {source} GROUP BY model, workload"
    )


def _left(counts: Mapping[str, Any], drawn: int) -> str:
    """What the charts of a group leave out, in a sentence; empty where they leave out nothing."""
    if not counts:
        return ""
    told = []
    if (more := counts["settings"] - drawn) > 0:
        told.append(ngettext("%(n)s further setting", "%(n)s further settings", more) % {"n": more})
    told += [_left_words(name, counts[name]) for name in _NOT_CHARTED if counts[name]]
    return _("Not drawn: %(what)s; the table has them.") % {"what": ", ".join(told)} if told else ""


_NOT_CHARTED = ("waits", "grows", "does_not_fit", "unsupported")


def _left_words(name: str, n: int) -> str:
    """Rows that are no points of a chart, and why."""
    return {
        "waits": ngettext(
            "%(n)s row whose users would wait for a place in memory",
            "%(n)s rows whose users would wait for a place in memory", n,
        ),
        "grows": ngettext("%(n)s row whose queue grows", "%(n)s rows whose queue grows", n),
        "does_not_fit": ngettext("%(n)s row that does not fit", "%(n)s rows that do not fit", n),
        "unsupported": ngettext("%(n)s row that cannot be computed", "%(n)s rows that cannot be computed", n),
    }[name] % {"n": n}  # fmt: skip


def _frontiers(
    findings: Sequence[Mapping[str, Any]], rows: RowFiles, connection: Any
) -> dict[tuple[str, str], list[list[float]]]:
    """Speed per user and per GPU of the rows on the frontier of each group."""
    entries = [entry for entry in findings if entry["kind"] == "pareto_frontier"]
    wanted = sorted({index for entry in entries for index in entry["row_indices"]})
    columns = ("row_index", "tokens_per_s_per_user_mid", "tokens_per_s_per_gpu_mid")
    found = reading.by_index(connection, rows, wanted, columns) if wanted else {}
    return {
        (entry["model"], entry["workload"]): [
            [found[index][columns[1]], found[index][columns[2]]] for index in entry["row_indices"] if index in found
        ]
        for entry in entries
    }


def ledgers(found: Decision, rows: RowFiles, names: Names) -> list[list[dict[str, Any]]]:
    """For each group the memory of one GPU at the setting of each line, in GiB by part."""
    wanted = [line.setting.row_index for group in found.groups for line in group.lines if line.setting is not None]
    terms = memory_terms()
    columns = ["row_index", "memory_bytes", *(name for name, _words in terms)]
    with tables.connect() as connection:
        held = reading.by_index(connection, rows, sorted(set(wanted)), columns) if wanted else {}
    return [
        [
            {"name": names.gpu(line.gpu), "gib": [max(0.0, (row[name] or 0) / _GIB) for name, _words in terms]}
            for line in group.lines
            if line.setting is not None and (row := held[line.setting.row_index])["memory_bytes"] is not None
        ]
        for group in found.groups
    ]


def memory_terms() -> list[tuple[str, str]]:
    """The parts of the memory of a GPU, the largest first, by column with words."""
    return [
        ("weights_bytes", _("weights")),
        ("kv_cache_bytes", _("KV cache")),
        ("activation_bytes", _("activations")),
        ("cuda_graph_bytes", _("graphs")),
        ("runtime_overhead_bytes", _("runtime")),
        ("unmanaged_bytes", _("unmanaged")),
        ("slack_bytes", _("free")),
    ]
