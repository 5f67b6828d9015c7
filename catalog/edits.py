"""What people edited of a row, field by field, so that no figure cites a source that does not hold it any more."""

import datetime
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from catalog.models.row import CatalogRecord

WHOLE_ROW = "*"
# Kept by the service itself.
OURS = frozenset({"edits", "edited_by_person", "loaded_from", "loaded_version", "loaded_sha256"})
_DESCRIBING = frozenset({"slug", "name", "notes", "description"})
_SOURCES = frozenset(
    {
        "source",
        "source_url",
        "source_date",
        "date_seen",
        "evidence",
        "sources",
        "basis",
        "dispute",
        "disputes",
        "confidence",
    }
)
# Ends and voids are a person's own word and no figure of the source.
_LIFE = frozenset({"effective_to", "voided_at", "void_reason"})

Edit = Mapping[str, str]


def record_edits(row: "CatalogRecord", *, by: str, reason: str, today: datetime.date | None = None) -> None:
    """Note on `row`, before it is saved, which fields differ from the stored row, by whom, when and why.

    A source that is given together with a figure, or after it, is noted beside it.
    """
    entry = {"by": by, "date": (today or timezone.now().date()).isoformat(), "reason": reason}
    before = type(row)._default_manager.filter(pk=row.pk).first() if row.pk else None
    if before is None:
        row.edits = {WHOLE_ROW: entry}
        return
    changed = changed_fields(before, row)
    edits = {**row.edits, **{name: dict(entry) for name in changed}}
    for name, source in _sources_given(before, row, edits):
        edits[name] = {**edits[name], "source": source}
    row.edits = edits


def changed_fields(before: Any, after: Any) -> list[str]:
    """Names of the stored fields in which two states of a row differ; without those the service keeps."""
    names = [(field.name, field.attname) for field in before._meta.concrete_fields]
    return [
        name
        for name, column in names
        if name not in OURS
        and name not in ("id", "created_at", "updated_at")
        and getattr(before, column) != getattr(after, column)
    ]


def _sources_given(before: Any, row: Any, edits: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    figures = [name for name in edits if _is_figure(name)]
    for column in ("source", "evidence"):
        if hasattr(row, column) and getattr(row, column) and getattr(before, column) != getattr(row, column):
            yield from ((name, str(getattr(row, column))) for name in figures)
    sources, old = getattr(row, "sources", None), getattr(before, "sources", None)
    if isinstance(sources, dict) and isinstance(old, dict):
        for name in figures:
            for key in (figure_key(name), figure_key(name).split(".")[0], WHOLE_ROW):
                if isinstance(sources.get(key), dict) and sources[key] != old.get(key):
                    yield name, str(sources[key].get("source", ""))
                    break


def _is_figure(name: str) -> bool:
    return name != WHOLE_ROW and name not in _DESCRIBING | _SOURCES | _LIFE


def figure_key(field: str) -> str:
    """The name under which a figure's source is listed: peaks are one figure for each format."""
    if field.startswith("peak_") and field.endswith("_flops_per_s"):
        return f"peak_flops_per_s.{field.removeprefix('peak_').removesuffix('_flops_per_s')}"
    return field


def edited_words(edit: Edit, *, fields: str = "") -> str:
    """An edit as a source: "edited by ada, 2026-11-30: reason", and what the person named as its source."""
    text = _("edited by %(who)s, %(date)s") % {"who": edit.get("by") or _("a person"), "date": edit["date"]}
    if fields:
        text += f" ({fields})"
    if edit.get("reason"):
        text += f": {edit['reason']}"
    return text + (_("; source: %(source)s") % {"source": edit["source"]} if edit.get("source") else "")


def edited_figures(row: "CatalogRecord") -> dict[str, Edit]:
    """The figures of a row that people edited."""
    return {name: edit for name, edit in (row.edits or {}).items() if _is_figure(name)}


def source_facts(row: "CatalogRecord", column: str, dates: str | None) -> dict[str, Any]:
    """Source and date of a row with one source for all its figures, as facts.

    Where people edited figures, that is the source; what the row still states for the rest is `source_of_the_rest`.

    Args:
        row: the row.
        column: the field that holds its source.
        dates: the field that holds the source's date; None where there is none.
    """
    stated = str(getattr(row, column))
    date = getattr(row, dates) if dates else None
    facts: dict[str, Any] = {column: stated}
    if dates:
        facts[dates] = date.isoformat() if date else None
    figures = edited_figures(row)
    whole: Edit | None = (row.edits or {}).get(WHOLE_ROW)
    if figures:
        last = max(figures.values(), key=lambda edit: edit["date"])
        facts[column] = edited_words(last, fields=", ".join(sorted(figures)))
        if dates:
            facts[dates] = last["date"]
        if stated and not last.get("source"):
            facts["source_of_the_rest"] = stated
    elif whole is not None and not stated:
        facts[column] = edited_words(whole)
        if dates:
            facts[dates] = facts[dates] or whole["date"]
    return facts


def sources_by_figure(row: Any) -> dict[str, Any]:
    """The sources of a row that names one for each figure, with people's edits in place of what they replaced."""
    sources = dict(row.sources or {})
    for name, edit in edited_figures(row).items():
        sources[figure_key(name)] = {"source": edited_words(edit), "date": edit["date"], "confidence": "medium"}
    return sources
