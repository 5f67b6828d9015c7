"""The causes that can make two versions differ: estimator, catalog rows, prices, inputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.diff.leaves import Change, changes
from reports.document import source_of
from reports.models import ReportVersion

PRICE = "price"
# Leaves that say where a figure is from or when; they move no result.
_DESCRIBING = (
    "source",
    "source_url",
    "source_date",
    "date",
    "notes",
    "evidence",
    "name",
    "aliases",
    "sources",
    "seller",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCause:
    """A catalog row (or the price of a GPU hour) whose figures differ; `None` on one side: it was not used there."""

    kind: str
    slug: str
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None

    @property
    def label(self) -> str:
        """The cause in one word: kind and slug."""
        return f"{self.kind}:{self.slug}"

    def as_dict(self) -> dict[str, Any]:
        """The cause as JSON, with each changed figure and both sources."""
        found = list(changes(dict(self.old or {}), dict(self.new or {})))
        return {
            "kind": self.kind,
            "slug": self.slug,
            "changes": [change.as_dict() for change in found if not _describes(change)],
            "old_source": source_of(self.old) if self.old else None,
            "new_source": source_of(self.new) if self.new else None,
        }


def row_causes(old: ReportVersion, new: ReportVersion) -> list[RowCause]:
    """Rows that both or one of the versions used and whose figures differ, in order of slug."""
    found = []
    before, after = _rows(old.snapshot), _rows(new.snapshot)
    for kind, slug in {*before, *after}:
        left, right = before.get((kind, slug)), after.get((kind, slug))
        if any(not _describes(change) for change in changes(dict(left or {}), dict(right or {}))):
            found.append(RowCause(kind=kind, slug=slug, old=left, new=right))
    return sorted(found, key=lambda cause: (cause.slug, cause.kind))


def input_changes(old: ReportVersion, new: ReportVersion) -> list[Change]:
    """Inputs that differ, leaf by leaf."""
    return list(changes(old.inputs, new.inputs))


def _rows(snapshot: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    rows = {(kind, slug): row for kind, by_slug in snapshot.get("facts", {}).items() for slug, row in by_slug.items()}
    return rows | {(PRICE, slug): price for slug, price in snapshot.get("prices", {}).items()}


def _describes(change: Change) -> bool:
    parts = change.path.replace("[", ".").split(".")
    return any(part in _DESCRIBING for part in parts)
