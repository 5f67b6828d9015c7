"""Many rows changed together: choose fields, see each row's old and new value, then save all or none."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from catalog.admin.row_versions import (
    change_words,
    differences,
    locked,
    shown,
    sign,
    text_of,
    unsign,
    values_of,
    who_changed,
)
from catalog.admin.units import figure_words
from catalog.canonical import sha256_of
from catalog.revisions import catalog_write
from catalog.services.people import save_by_person

# More rows than this are no list that a person has looked at.
MOST_ROWS = 500
_CHANGE = "change_"
# Names of rows, and what has a form of its own.
_NEVER = frozenset({"slug", "name", "aliases", "effective_to", "voided_at", "void_reason"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row in the preview: each field from what to what, and what its checks refuse."""

    row: str
    changes: tuple[tuple[str, str, str], ...]
    faults: tuple[str, ...]


def editable_fields(model: Any) -> list[Any]:
    """Fields that make sense for several rows: no names, no JSON, nothing that never changes."""
    frozen = {name.removesuffix("_id") for name in getattr(model, "FROZEN", ())}
    return [
        field
        for field in model._meta.concrete_fields
        if field.editable and not field.unique and field.name not in _NEVER | frozen
        and not isinstance(field, models.JSONField | models.AutoField)
    ]  # fmt: skip


class BulkForm(forms.Form):
    """Each field with a box that says whether it is to change; the values are those of the boxes ticked."""

    change_reason = forms.CharField(
        label=_("Reason for the change"), max_length=500, widget=UnfoldAdminTextInputWidget(),
        help_text=_("Kept in the history of every row."),
    )  # fmt: skip

    def __init__(self, *args: Any, page: Any, request: HttpRequest, **options: Any) -> None:
        super().__init__(*args, **options)
        self.columns = {}
        for column in editable_fields(page.model):
            field = page.formfield_for_dbfield(column, request)
            if field is None:
                continue
            field.required = field.required and f"{_CHANGE}{column.name}" in self.data
            self.columns[column.name] = column
            self.fields[f"{_CHANGE}{column.name}"] = forms.BooleanField(
                label=_("Change %(field)s") % {"field": column.verbose_name}, required=False,
                widget=UnfoldBooleanWidget(),
            )  # fmt: skip
            self.fields[column.name] = field

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """The box and the value of each field."""
        return [(self[f"{_CHANGE}{name}"], self[name]) for name in self.columns]

    @property
    def values(self) -> dict[str, Any]:
        """The new values of the fields that are to change."""
        chosen = {name: self.cleaned_data.get(name) for name in self.columns if self.cleaned_data[f"{_CHANGE}{name}"]}
        return {name: "" if value is None and not self.columns[name].null else value for name, value in chosen.items()}

    def clean(self) -> dict[str, Any]:
        """Something is to change."""
        cleaned = super().clean() or {}
        if not any(cleaned.get(f"{_CHANGE}{name}") for name in self.columns):
            raise ValidationError(gettext("Tick at least one field that is to change."))
        for name in [name for name in self.errors if name in self.columns and not cleaned.get(f"{_CHANGE}{name}")]:
            del self.errors[name]
        return cleaned


class BulkEdit:
    """Mixin of the catalog's pages: the action that leads to the form, and the form."""

    @admin.action(description=_("Edit together"), permissions=["change"])
    def edit_together(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        """Lead to the form with the rows chosen."""
        keys = list(queryset.values_list("pk", flat=True)[: MOST_ROWS + 1])
        if len(keys) > MOST_ROWS:
            text = gettext("Choose at most %(n)d rows: more are no list to look at.") % {"n": MOST_ROWS}
            messages.error(request, text)
            return None
        address = reverse(f"admin:catalog_{self.model._meta.model_name}_together")  # type: ignore[attr-defined]
        return HttpResponseRedirect(f"{address}?rows={','.join(map(str, keys))}")

    def together_view(self, request: HttpRequest) -> HttpResponse:
        """First submit shows every row's old and new value, the second saves what was shown.

        Raises:
            PermissionDenied: for those who may not change rows.
        """
        page: Any = self
        if not page.has_change_permission(request):
            raise PermissionDenied
        with transaction.atomic():
            rows = _rows(page, request)
            if not rows:
                messages.error(request, gettext("Choose rows in the list first."))
                return HttpResponseRedirect(reverse(f"admin:catalog_{page.model._meta.model_name}_changelist"))
            form = BulkForm(request.POST or None, page=page, request=request)
            if request.method != "POST":
                return _show(page, request, rows, form)
            conflict = _changed_since(unsign(request.POST.get("rows_seen", "")), rows)
            if conflict or not form.is_valid():
                return _show(page, request, rows, form, conflict=conflict)
            lines = [_line(row, form.values) for row in rows]
            seal = sha256_of([[row.pk for row in rows], {name: str(value) for name, value in form.values.items()}])
            faulty = any(line.faults for line in lines)
            if faulty or "save" not in request.POST or unsign(request.POST.get("shown", "")) != seal:
                return _show(page, request, rows, form, lines=lines, seal="" if faulty else sign(seal))
            return _save(page, request, rows, form)


def _rows(page: Any, request: HttpRequest) -> list[Any]:
    asked = (request.POST if request.method == "POST" else request.GET).get("rows", "")
    keys = [int(part) for part in asked.split(",") if part.isdecimal() and len(part) < 19][:MOST_ROWS]
    return list(page.get_queryset(request).filter(pk__in=keys).order_by("pk"))


def _changed_since(seen: Any, rows: Iterable[Any]) -> list[str]:
    if not isinstance(seen, dict):
        return [gettext("The page does not say which rows it showed: nothing was saved. Look again.")]
    lines = []
    for row in rows:
        stored = locked(type(row), row.pk)
        found = differences(seen.get(str(row.pk), {}), stored) if stored is not None else []
        if found:
            changes = change_words(found)
            words = {"who": who_changed(row), "row": row, "changes": changes}
            lines.append(gettext("%(who)s changed %(row)s (%(changes)s): nothing was saved.") % words)
    return lines


def _line(row: Any, values: Mapping[str, Any]) -> Line:
    """What the row's checks say of the new values; the row itself is not saved."""
    stored = type(row)._default_manager.get(pk=row.pk)
    changes = []
    for name, value in values.items():
        field = row._meta.get_field(name)
        old, new = _words(field, getattr(stored, name)), _words(field, value)
        setattr(row, name, value)
        if old != new:
            changes.append((str(field.verbose_name), shown(old), shown(new)))
    try:
        row.full_clean()
        faults: list[str] = []
    except ValidationError as refused:
        faults = list(refused.messages)
    return Line(row=str(stored), changes=tuple(changes), faults=tuple(faults))


def _words(field: Any, value: Any) -> str | None:
    if value is not None and (words := figure_words(field.name, value)):
        return words
    return str(value) if isinstance(value, models.Model) else text_of(field, value)


def _save(page: Any, request: HttpRequest, rows: list[Any], form: BulkForm) -> HttpResponse:
    count = 0
    with catalog_write(only_if_touched=True):
        for row in rows:
            if _line(row, form.values).changes:
                save_by_person(row, user=request.user, reason=form.cleaned_data["change_reason"])
                count += 1
    messages.success(request, ngettext("%(n)d row is changed.", "%(n)d rows are changed.", count) % {"n": count})
    return HttpResponseRedirect(reverse(f"admin:catalog_{page.model._meta.model_name}_changelist"))


def _show(page: Any, request: HttpRequest, rows: list[Any], form: BulkForm, **more: Any) -> HttpResponse:
    stored = list(page.model._base_manager.filter(pk__in=[row.pk for row in rows]))
    context = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "title": gettext("Edit together: %(what)s") % {"what": page.opts.verbose_name_plural},
        "form": form,
        "names": [str(row) for row in stored],
        "rows": ",".join(str(row.pk) for row in rows),
        "rows_seen": sign({str(row.pk): values_of(row) for row in stored}),
        **more,
    }
    return TemplateResponse(request, "catalog/admin/together.html", context)
