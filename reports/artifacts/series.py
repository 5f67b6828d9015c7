"""Series for charts of the workbook, a pair of model and workload at a time: what is left out is counted."""

from dataclasses import dataclass
from typing import Any

from estimator.estimates.sweep.columns import SETTING_COLUMNS
from reports.artifacts.words import split_words
from reports.names import Names
from reports.rows import reading, tables
from reports.storage import RowFiles

# A load whose queue grows has no lasting speed and is no point of a chart.
_CHARTED = "status = 'ok' AND coalesce(utilization, 0) < 1"
_SAME = " AND ".join(f'"{name}" = ${name}' for name in SETTING_COLUMNS)
Group = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Lines of one chart, each with label and points (x, y); settings there are; whether loads are left out."""

    lines: list[tuple[str, list[tuple[Any, Any]]]]
    settings: int
    thinned: bool


def groups_of(rows: RowFiles) -> list[Group]:
    """The pairs of model and workload with a row that can be drawn, in the order of the rows."""
    with tables.connect() as connection:
        found = connection.execute(
            f"SELECT model, workload FROM {tables.source(rows)} WHERE {_CHARTED} "
            "GROUP BY model, workload ORDER BY min(row_index)"
        ).fetchall()
    return [(model, workload) for model, workload in found]


def chart_series(
    rows: RowFiles, of: Group, x_name: str, y_name: str, names: Names, *, limit_series: int, limit_points: int
) -> Series:
    """The settings of a pair with the most tokens per second and GPU, each in order of its load."""
    charted = f'{_CHARTED} AND "{x_name}" IS NOT NULL AND "{y_name}" IS NOT NULL'
    group = ", ".join(f'"{name}"' for name in SETTING_COLUMNS)
    with tables.connect() as connection:
        every = reading.fetch(
            connection,
            f"SELECT {group}, max(tokens_per_s_per_gpu_mid) AS best, count(*) AS n "
            f"FROM {tables.source(rows)} WHERE {charted} AND model = $model AND workload = $workload "
            f"GROUP BY {group} ORDER BY best DESC NULLS LAST, {group}",
            {"model": of[0], "workload": of[1]},
        )
        best = every[:limit_series]
        lines = []
        for setting in best:
            step = max(1, -(-setting["n"] // limit_points))
            points = connection.execute(
                f'SELECT CAST("{x_name}" AS DOUBLE), CAST("{y_name}" AS DOUBLE) FROM (SELECT *, row_number() OVER '
                f"(ORDER BY batch_size, offered_requests_per_s, row_index) AS place FROM {tables.source(rows)} "
                f"WHERE {charted} AND {_SAME}) WHERE (place - 1) % {step} = 0 ORDER BY place",
                {name: setting[name] for name in SETTING_COLUMNS},
            ).fetchall()
            lines.append((label(setting, best, names), points))
    return Series(lines=lines, settings=len(every), thinned=any(one["n"] > limit_points for one in best))


def label(setting: dict[str, Any], among: list[dict[str, Any]], names: Names) -> str:
    """The parts of a setting's name that tell it from the others, in words; all equal: the GPU."""
    telling = [name for name in SETTING_COLUMNS if len({other[name] for other in among}) > 1]
    words = {
        **setting,
        "gpu": names.gpu(setting["gpu"]),
        "engine": names.engine(setting["engine"]),
        "precision": setting["precision"].upper(),
        "parallelism": split_words(setting["parallelism"]),
    }
    return " · ".join(str(words[name]) for name in telling or ("gpu",))
