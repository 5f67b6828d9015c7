"""What writes each form of file from the rows of a complete version, and how it is called on the wire."""

from collections.abc import Callable
from pathlib import Path

from reports.artifacts import csv, html, json, xlsx
from reports.choices import FileFormat
from reports.models import ReportVersion
from reports.rows import tables
from reports.storage import RowFiles

Writer = Callable[[ReportVersion, RowFiles, Path], None]
WRITERS: dict[str, Writer] = {
    FileFormat.CSV: csv.write,
    FileFormat.JSON: json.write,
    FileFormat.XLSX: xlsx.write,
    FileFormat.HTML: html.write,
}


def writer_of(file_format: str) -> Writer:
    """What writes a file of this form; a Parquet file is made only where the rows lie in several."""
    return _merged if file_format == FileFormat.PARQUET else WRITERS[file_format]


def _merged(_version: ReportVersion, rows: RowFiles, target: Path) -> None:
    tables.merge(rows, target)


MEDIA_TYPES: dict[str, str] = {
    FileFormat.CSV: "text/csv; charset=utf-8; header=present",
    FileFormat.JSON: "application/json",
    FileFormat.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    FileFormat.PARQUET: "application/vnd.apache.parquet",
    FileFormat.HTML: "text/html; charset=utf-8",
}
