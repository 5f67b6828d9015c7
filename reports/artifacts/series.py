"""Series for charts: one per setting, the best few, thinned to what a chart can show."""

from typing import Any

from estimator.estimates.sweep.columns import SETTING_COLUMNS
from reports.artifacts.words import split_words
from reports.rows import reading, tables
from reports.storage import RowFiles

# A load whose queue grows has no lasting speed and is no point of a chart.
_CHARTED = "status = 'ok' AND coalesce(utilization, 0) < 1"


def chart_series(
    rows: RowFiles, x_name: str, y_name: str, *, limit_series: int, limit_points: int
) -> list[tuple[str, list[tuple[Any, Any]]]]:
    """Label and points (x, y) of the settings with the most tokens per second and GPU, each in order of its load."""
    charted = f'{_CHARTED} AND "{x_name}" IS NOT NULL AND "{y_name}" IS NOT NULL'
    group = ", ".join(f'"{name}"' for name in SETTING_COLUMNS)
    with tables.connect() as connection:
        best = reading.fetch(
            connection,
            f"SELECT {group}, max(tokens_per_s_per_gpu_mid) AS best, count(*) AS n "
            f"FROM {tables.source(rows)} WHERE {charted} GROUP BY {group} "
            f"ORDER BY best DESC NULLS LAST, {group} LIMIT {int(limit_series)}",
        )
        series = []
        for setting in best:
            step = max(1, -(-setting["n"] // limit_points))
            same = " AND ".join(f'"{name}" = ${name}' for name in SETTING_COLUMNS)
            points = connection.execute(
                f'SELECT CAST("{x_name}" AS DOUBLE), CAST("{y_name}" AS DOUBLE) FROM (SELECT *, row_number() OVER '
                f"(ORDER BY batch_size, offered_requests_per_s, row_index) AS place FROM {tables.source(rows)} "
                f"WHERE {charted} AND {same}) WHERE (place - 1) % {step} = 0 ORDER BY place",
                {name: setting[name] for name in SETTING_COLUMNS},
            ).fetchall()
            if points:
                series.append((label(setting, best), points))
    return series


def label(setting: dict[str, Any], among: list[dict[str, Any]]) -> str:
    """The parts of a setting's name that tell it from the others; all equal: the GPU."""
    telling = [name for name in SETTING_COLUMNS if len({other[name] for other in among}) > 1]
    words = setting | {"parallelism": split_words(setting["parallelism"])}
    return " · ".join(str(words[name]) for name in telling or ("gpu",))
