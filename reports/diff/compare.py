"""The whole comparison of two versions as one JSON-able document."""

from typing import Any

from estimator.engine.errors import EngineError
from estimator.engine.faults import ResolutionError
from estimator.engine.version import ESTIMATOR_VERSION
from estimator.estimates.sweep.columns import KEY_COLUMNS, LOAD_COLUMNS, SETTING_COLUMNS
from reports.diff import attribution
from reports.diff.causes import RowCause, input_changes, row_causes
from reports.models import ReportVersion
from reports.rows import hashing, reading, tables
from reports.storage import rows_path

MOST_ROWS = 20
_RANKED = ("tokens_per_s_total_mid", "cost_per_mtok_output_mid")


def compare(old: ReportVersion, new: ReportVersion) -> dict[str, Any]:
    """Causes, counts of rows, and the rows that moved most with the amount of each cause."""
    causes = row_causes(old, new)
    counts, pairs = _moved(old, new)
    attributed, reason = _attributed(old, new, pairs, causes)
    return {
        "report": str(new.report_id),
        "name": new.report.name,
        "from": old.number,
        "to": new.number,
        "same_content": _same_content(old, new),
        "estimator": {
            "old": old.estimator_version,
            "new": new.estimator_version,
            "changed": old.estimator_version != new.estimator_version,
        },
        "inputs": [change.as_dict() for change in input_changes(old, new)],
        "catalog": [cause.as_dict() for cause in causes],
        "rows": counts,
        "moved": [_entry(pair, amounts) for pair, amounts in zip(pairs, attributed, strict=True)],
        "amounts": {"given": reason is None, "reason": reason, "metrics": list(attribution.METRICS)},
    }


def _same_content(old: ReportVersion, new: ReportVersion) -> bool:
    """Whether inputs, catalog and rows are the same; rows are compared where two releases hashed them in two ways."""
    if old.content_sha256 == new.content_sha256:
        return True
    if (old.inputs_sha256, old.snapshot_sha256) != (new.inputs_sha256, new.snapshot_sha256):
        return False
    return hashing.same_rows(rows_path(old), rows_path(new))


def _attributed(
    old: ReportVersion,
    new: ReportVersion,
    pairs: list[tuple[dict[str, Any], dict[str, Any]]],
    causes: list[RowCause],
) -> tuple[list[Any], str | None]:
    if not attribution.possible(new):
        return [None] * len(pairs), f"newer_version_made_by_estimator_{new.estimator_version}_not_{ESTIMATOR_VERSION}"
    if not pairs:
        return [], None
    try:
        return list(attribution.attribute(old, pairs, causes)), None
    except (ResolutionError, EngineError, LookupError, TypeError, ValueError):  # inputs of another release
        return [None] * len(pairs), "old_inputs_cannot_be_resolved_by_this_estimator"


def _moved(
    old: ReportVersion, new: ReportVersion
) -> tuple[dict[str, int], list[tuple[dict[str, Any], dict[str, Any]]]]:
    left, right = rows_path(old), rows_path(new)
    # Equality where nothing is null, so that DuckDB joins by hash on it; a load is a batch size or a rate, or neither.
    same = " AND ".join(
        [f'o."{name}" = n."{name}"' for name in SETTING_COLUMNS]
        + [f'o."{name}" IS NOT DISTINCT FROM n."{name}"' for name in LOAD_COLUMNS]
    )
    differs = " OR ".join(f'o."{name}" IS DISTINCT FROM n."{name}"' for name in (*attribution.METRICS, "fits"))
    # The same number of other money is another cost.
    differs += " OR (o.cost_per_mtok_output_mid IS NOT NULL AND o.currency IS DISTINCT FROM n.currency)"
    score = "greatest({})".format(
        ", ".join(
            f'coalesce(abs(CAST(n."{name}" AS DOUBLE) / nullif(CAST(o."{name}" AS DOUBLE), 0) - 1), 0)'
            for name in _RANKED
        )
    )
    with tables.connect() as connection:
        joined = f"{tables.source(left)} o JOIN {tables.source(right)} n ON {same}"
        connection.execute(
            f"CREATE TEMP TABLE pairs AS SELECT o.row_index AS old_index, n.row_index AS new_index, "
            f"({differs}) AS moved, {score} + CASE WHEN o.fits IS DISTINCT FROM n.fits THEN 1e9 ELSE 0 END AS score "
            f"FROM {joined}"
        )
        counted = connection.execute("SELECT count(*), count(*) FILTER (WHERE moved) FROM pairs").fetchone() or (0, 0)
        top = connection.execute(
            f"SELECT old_index, new_index FROM pairs WHERE moved ORDER BY score DESC, new_index LIMIT {MOST_ROWS}"
        ).fetchall()
        before = reading.by_index(connection, left, [pair[0] for pair in top])
        after = reading.by_index(connection, right, [pair[1] for pair in top])
    counts = {
        "matched": counted[0],
        "moved": counted[1],
        "only_in_old": old.total_rows - counted[0],
        "only_in_new": new.total_rows - counted[0],
    }
    return counts, [(before[old_index], after[new_index]) for old_index, new_index in top]


def _entry(pair: tuple[dict[str, Any], dict[str, Any]], causes: Any) -> dict[str, Any]:
    old, new = pair
    before, after = attribution.figures_of(old), attribution.figures_of(new)
    metrics = {
        metric: {
            "old": _text(before[metric]),
            "new": _text(after[metric]),
            "change": attribution.change_of(before[metric], after[metric]),
        }
        for metric in attribution.METRICS
        if before[metric] != after[metric]
    }
    return {
        "setting": {name: new[name] for name in KEY_COLUMNS},
        "old_row_index": old["row_index"],
        "new_row_index": new["row_index"],
        "fits": {"old": old["fits"], "new": new["fits"]},
        "currency": {"old": old["currency"], "new": new["currency"]},
        "metrics": metrics,
        "causes": causes,
    }


def _text(figure: attribution.Figure | None) -> str | None:
    return None if figure is None else format(figure.amount, "f")
