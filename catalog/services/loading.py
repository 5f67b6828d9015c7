"""Loads the catalog's data files: a plan first (what would be added, changed, left and why), then the writes.

Idempotent: a row whose values were loaded before and did not change is left alone. A row that a person edited, or made
under the same slug, is never touched, and one that a person deleted or renamed does not come back.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from simple_history.utils import bulk_create_with_history, bulk_update_with_history

from catalog import data_files
from catalog.data_files import DataFile, DataFileError, Record
from catalog.models import CatalogRow, EngineProfile, Gpu, LanguageModel, Preset
from catalog.revisions import catalog_write
from catalog.services.left_alone import note_rows
from catalog.services.withdrawals import row_key, withdrawn_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One value of a row that differs from the file's."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """A row to update, and what would change."""

    row: CatalogRow
    record: Record
    changes: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """What loading one file would do, or did."""

    model: type[CatalogRow]
    file: DataFile
    add: tuple[Record, ...]
    change: tuple[RowChange, ...]
    left: tuple[tuple[str, str], ...]
    unchanged: int

    @property
    def writes(self) -> bool:
        """Whether anything would be written."""
        return bool(self.add or self.change)


def plan_all() -> list[LoadPlan]:
    """The plans of all data files, in the order they have to be loaded.

    Raises:
        DataFileError: a file is malformed, or a record would not pass the checks of its model.
    """
    return [
        plan(Gpu, data_files.gpus()),
        plan(EngineProfile, data_files.engines()),
        plan(Preset, data_files.presets()),
        plan(LanguageModel, data_files.language_models()),
    ]


def plan(model: type[CatalogRow], file: DataFile) -> LoadPlan:
    """What loading `file` into `model` would do; writes nothing."""
    rows = {row.slug: row for row in model._default_manager.all()}
    withdrawn = withdrawn_rows(model)
    add, change, left, unchanged = [], [], [], 0
    records, aliases = _with_free_aliases(file.records, rows) if model is EngineProfile else (file.records, None)
    for record in records:
        row = rows.pop(record.slug, None)
        if row is None and record.slug in withdrawn:
            left.append((record.slug, withdrawn[record.slug].words))
        elif record.held:
            left.append((record.slug, record.held))
        elif row is None:
            _check(model, record, file.name, aliases=aliases)
            add.append(record)
        elif row.edited_by_person:
            left.append((record.slug, _("edited by a person")))
        elif row.loaded_sha256 == record.sha256:
            unchanged += 1
        else:
            _check(model, record, file.name, instance=row, aliases=aliases)
            change.append(RowChange(row=row, record=record, changes=tuple(_differences(row, record))))
    for slug, row in rows.items():
        if row.loaded_from == file.name:
            left.append((slug, _("no longer in the file")))
    return LoadPlan(model=model, file=file, add=tuple(add), change=tuple(change), left=tuple(left), unchanged=unchanged)


def _with_free_aliases(
    records: Sequence[Record], rows: Mapping[str, Any]
) -> tuple[Sequence[Record], dict[str, list[str]]]:
    """Records without the aliases of profiles that stay as they are, and the aliases of all profiles after the load.

    A release may give an alias to a newer profile: the older one of the same file gives it up in the same load.
    """
    stays = set(rows) - {record.slug for record in records} | {slug for slug in rows if rows[slug].edited_by_person}
    kept = {slug: list(rows[slug].aliases) for slug in stays}
    held = {name for slug, aliases in kept.items() for name in (slug, *aliases)}
    freed = []
    for record in records:
        aliases = record.values.get("aliases", [])
        free = [alias for alias in aliases if alias not in held]
        freed.append(record if free == aliases else replace(record, values={**record.values, "aliases": free}))
    stated = {record.slug: list(record.values.get("aliases", [])) for record in freed}
    return freed, {slug: list(row.aliases) for slug, row in rows.items()} | stated | kept


def load(plans: Iterable[LoadPlan]) -> None:
    """Carry out plans in one transaction; the catalog revision rises once, or not at all when nothing changes."""
    with catalog_write(only_if_touched=True):
        for each in plans:
            note_rows(each.file.name, str(each.model._meta.model_name), each.left)
            if each.writes:
                _write(each)


def _write(plan: LoadPlan) -> None:
    reason = _("Loaded from %(file)s, version %(version)s") % {"file": plan.file.name, "version": plan.file.version}
    now = timezone.now()
    new = [plan.model(**_values(plan, record, now)) for record in plan.add]
    # Rows come back with their keys on every supported database, so children can name them.
    created = bulk_create_with_history(new, plan.model, default_change_reason=reason) if new else []
    changed = []
    for change in plan.change:
        for name, value in _values(plan, change.record, now).items():
            setattr(change.row, name, value)
        changed.append(change.row)
    if changed:
        fields = sorted({name for change in plan.change for name in _values(plan, change.record, now)} - {"slug"})
        bulk_update_with_history(changed, plan.model, fields, default_change_reason=reason)
    owners = {row.slug: row for row in [*created, *changed]}
    for record in [*plan.add, *(change.record for change in plan.change)]:
        for relation, children in record.children.items():
            _replace_children(owners[record.slug], relation, children, plan.file, reason)


def _replace_children(
    owner: CatalogRow, relation: str, children: Sequence[Mapping[str, Any]], file: DataFile, reason: str
) -> None:
    """Make the loaded children of `owner` those of the record; what people made or took out stays so."""
    manager = getattr(owner, relation)
    manager.filter(edited_by_person=False).delete()
    child_model = manager.model
    name = manager.field.name
    rows = [
        child_model(**{name: owner}, **child, loaded_from=file.name, loaded_version=file.version) for child in children
    ]
    held = {row_key(row) for row in manager.all()} | set(withdrawn_rows(child_model))
    rows = [row for row in rows if row_key(row) not in held]
    if rows:
        bulk_create_with_history(rows, child_model, default_change_reason=reason)


def _values(plan: LoadPlan, record: Record, now: datetime.datetime) -> dict[str, Any]:
    return dict(record.values) | {
        "loaded_from": plan.file.name,
        "loaded_version": plan.file.version,
        "loaded_sha256": record.sha256,
        "updated_at": now,
    }


def _differences(row: CatalogRow, record: Record) -> Iterable[FieldChange]:
    for name, after in record.values.items():
        before = getattr(row, name)
        if before != after:
            yield FieldChange(field=name, before=before, after=after)


def _check(
    model: type[CatalogRow],
    record: Record,
    file: str,
    *,
    instance: CatalogRow | None = None,
    aliases: Mapping[str, list[str]] | None = None,
) -> None:
    """Run the checks of the model on a record before anything is written."""
    known = {field.name for field in model._meta.concrete_fields}
    unknown = set(record.values) - known
    if unknown:
        raise DataFileError(f"{file}: {record.slug}: no such field: {sorted(unknown)[0]}")
    row = model(**record.values)
    if isinstance(row, EngineProfile):
        row.aliases_to_be = aliases
    if instance is not None:
        row.pk = instance.pk
        row._state.adding = False
    # Uniqueness is the file's own business (read_file) and the database's; checking it here is a query per row.
    try:
        row.clean_fields()
        row.clean()
    except ValidationError as refused:
        faults = "; ".join(f"{field}: {' '.join(map(str, texts))}" for field, texts in refused.message_dict.items())
        raise DataFileError(f"{file}: {record.slug}: {faults}") from refused
