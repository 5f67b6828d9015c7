"""Rows of a re-costed version: the parent's figures as they are, cost columns from the new prices."""

from pathlib import Path

import numpy as np

from estimator.estimates.sweep.columns import COLUMN_BY_NAME, COST_COLUMNS, TextValues
from estimator.estimates.sweep.costs import cost_columns
from reports.errors import PermanentReportError
from reports.models import ReportChunk, ReportVersion
from reports.rows import tables
from reports.rows.reading import ALL_COLUMNS
from reports.storage import rows_path

_SIDES = ("low", "mid", "high")


def write_recosted(version: ReportVersion, chunk: ReportChunk, target: Path) -> None:
    """Write the chunk's rows of the parent with new cost columns."""
    parent = version.parent
    if parent is None:
        raise PermanentReportError("file_error", "The version to price anew is not there.")
    source = tables.source(rows_path(parent, range(chunk.first_row, chunk.first_row + chunk.rows)))
    window = f"row_index >= {int(chunk.first_row)} AND row_index < {int(chunk.first_row + chunk.rows)}"
    with tables.connect() as connection:
        base = f"(SELECT * FROM {source} WHERE {window} ORDER BY row_index)"
        labels = [row[0] for row in connection.execute(f"SELECT DISTINCT gpu FROM {base} ORDER BY 1").fetchall()]
        numbers = ", ".join(f"CAST(tokens_per_s_total_{side} AS DOUBLE) AS {side}" for side in _SIDES)
        fetched = connection.execute(
            f"SELECT list_position($labels, gpu)::INTEGER - 1 AS code, CAST(gpus AS DOUBLE) AS gpus, {numbers} "
            f"FROM {base} ORDER BY row_index",
            {"labels": labels},
        ).fetchnumpy()
        values = {name: np.ma.filled(array, -1 if name == "code" else np.nan) for name, array in fetched.items()}
        new = cost_columns(
            gpu=TextValues(codes=values["code"].astype(np.int32), labels=tuple(labels)),
            gpus=values["gpus"],
            per_second={side: values[side] for side in _SIDES},
            prices=version.snapshot.get("prices", {}),
        )
        arrays, bound = tables.arrays_of(new, COST_COLUMNS)
        arrays["at"] = np.arange(chunk.first_row, chunk.first_row + chunk.rows, dtype=np.int64)
        connection.register("new_costs", arrays)
        select = ", ".join(
            tables.select_of(COLUMN_BY_NAME[name], "n.") if name in COST_COLUMNS else f'p."{name}"'
            for name in ALL_COLUMNS
        )
        connection.execute(
            f"COPY (SELECT {select} FROM {base} p JOIN new_costs n ON n.at = p.row_index ORDER BY p.row_index) "
            f"TO {tables.quoted(target)} (FORMAT parquet, COMPRESSION zstd)",
            bound,
        )
