"""What every form of a report says about itself beside its rows."""

from collections.abc import Mapping
from typing import Any

from django.utils.text import slugify

from estimator.estimates.sweep.columns import COLUMN_BY_NAME, COLUMNS
from reports.models import ReportVersion

SCHEMA_ID = "urn:aforo:report:1"


def head(version: ReportVersion) -> dict[str, Any]:
    """Title, inputs, targets, sources, findings and hashes of a version, JSON-able."""
    return {
        "schema": SCHEMA_ID,
        "report": {"id": str(version.report_id), "name": version.report.name},
        "version": version.number,
        "kind": version.kind,
        "created_at": version.created_at.isoformat(),
        "completed_at": version.finished_at.isoformat() if version.finished_at else None,
        "estimator_version": version.estimator_version,
        "catalog_revision": version.snapshot.get("catalog_revision"),
        "content_sha256": version.content_sha256,
        "snapshot_sha256": version.snapshot_sha256,
        "inputs": version.inputs,
        "summary": version.summary,
        "findings": findings(version),
        "assumptions": version.snapshot.get("assumptions", []),
        "warnings": version.snapshot.get("warnings", []),
        "sources": sources(version.snapshot),
    }


def findings(version: ReportVersion) -> list[dict[str, Any]]:
    """The findings with whole rows: columns that an older release did not have are null, as in the rows themselves."""
    blank = dict.fromkeys(COLUMN_BY_NAME)
    whole = []
    for finding in version.findings:
        rows = {name: blank | finding[name] for name in ("row", "other_row") if finding.get(name)}
        whole.append(finding | rows)
    return whole


def columns() -> list[dict[str, str]]:
    """Name, kind, unit and meaning of each column, in order."""
    return [
        {"name": column.name, "kind": column.kind.value, "unit": column.unit, "help": str(column.help)}
        for column in COLUMNS
    ]


def sources(snapshot: dict[str, Any]) -> list[dict[str, Any]]:
    """Every catalog row that was used, with its source."""
    listed = []
    for kind, rows in sorted(snapshot.get("facts", {}).items()):
        for slug, row in sorted(rows.items()):
            listed.append({"kind": kind, "slug": slug, "name": row.get("name", slug), "source": source_of(row)})
    return listed


def source_of(row: Mapping[str, Any]) -> str:
    """Where a row is from, as one line."""
    given = row.get("source") or row.get("sources") or row.get("evidence") or ""
    if isinstance(given, Mapping):
        return "; ".join(f"{key}: {_one(value)}" for key, value in sorted(given.items()))
    return str(given)


def _one(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(str(part) for part in (value.get("source"), value.get("date")) if part)
    return str(value)


def file_name(version: ReportVersion, extension: str) -> str:
    """A download's name that says what and when: name, version, date."""
    stem = slugify(version.report.name)[:60] or "report"
    when = (version.finished_at or version.created_at).strftime("%Y-%m-%d")
    return f"aforo-{stem}-v{version.number}-{when}.{extension}"
