"""CSV after RFC 4180: CRLF, quotes doubled, one header line."""

from pathlib import Path

from reports.artifacts.selection import harmless_text, select
from reports.models import ReportVersion
from reports.rows import tables
from reports.storage import RowFiles


def write(version: ReportVersion, rows: RowFiles, target: Path) -> None:
    """Write all rows as CSV."""
    with tables.connect(threads=2) as connection:
        harmless = harmless_text(connection, tables.source(rows))
        connection.execute(
            f"COPY (SELECT {select(neutralised=True, harmless=harmless)} FROM {tables.source(rows)}) "
            f"TO {tables.quoted(target)} (FORMAT csv, HEADER, NEW_LINE '\\r\\n')"
        )
