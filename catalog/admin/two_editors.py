"""Two people at one row: a save, an action or a deletion goes through only on the row that was looked at.

Every form holds the row as it was opened. At the save it is compared with the row under its lock; what somebody else
changed in between is shown field by field, and nothing is written. The form then holds both people's changes: fields
that this editor left alone have the other's values, the others keep this editor's, and saving again saves that.
"""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from unfold.forms import ActionForm, PaginationInlineFormSet

from catalog.admin.row_versions import (
    Difference,
    Values,
    change_words,
    differences,
    locked,
    read_token,
    said,
    sign,
    text_of,
    token_of,
    unsign,
    who_changed,
)
from catalog.revisions import current_revision

SEEN = "row_seen"
_DELETIONS = "rows_seen_before_deletion"
_MOST_DELETIONS = 300

if TYPE_CHECKING:
    from unfold.admin import ModelAdmin as _Admin
    from unfold.admin import TabularInline as _Inline

    _ModelForm = forms.ModelForm[Any]
else:
    _ModelForm = forms.ModelForm
    _Admin = _Inline = object


class TwoEditorsForm(_ModelForm):
    """A form that saves only over the row it showed, and shows every error whatever field it names."""

    row_seen = forms.CharField(required=False, widget=forms.HiddenInput, label="")
    # A fault the database found after the form was valid; the page then shows the form again with it.
    late_fault: ValidationError | None = None
    # What changed in between, in words; empty when nothing did.
    conflict: tuple[str, ...] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.pk and not self.is_bound:
            stored = locked(type(self.instance), self.instance.pk)
            if stored is not None:
                self.initial[SEEN] = token_of(stored)

    def has_changed(self) -> bool:
        """As Django's: what was seen is no change."""
        return bool(self.changed_data)

    @property
    def changed_data(self) -> list[str]:
        """Names of the fields a person changed."""
        return [name for name in super().changed_data if name != SEEN]

    def add_error(self, field: str | None, error: Any) -> None:
        """As Django's; an error of a field that the form does not have is shown above it, with the field's name."""
        if not isinstance(error, ValidationError):
            error = ValidationError(error)
        if not hasattr(error, "error_dict"):
            super().add_error(*self._place(field, error))
            return
        for name, errors in error.error_dict.items():
            super().add_error(*self._place(name, ValidationError(errors)))

    def _place(self, name: str | None, error: ValidationError) -> tuple[str | None, ValidationError]:
        if name is None or name == NON_FIELD_ERRORS:
            return None, error
        if name in self.fields and not self.fields[name].widget.is_hidden:
            return name, error
        label = _label(type(self.instance), name)
        return None, ValidationError([f"{label}: {text}" for text in error.messages])

    def clean(self) -> dict[str, Any] | None:
        """As Django's, and compare the row with the one that was shown."""
        cleaned = super().clean()
        if self.late_fault is not None:
            self.add_error(None, self.late_fault)
        if self.instance.pk:
            self._compare()
        return cleaned

    def _compare(self) -> None:
        seen = read_token(self.data.get(self.add_prefix(SEEN), ""))
        stored = locked(type(self.instance), self.instance.pk)
        if stored is None:
            self.add_error(None, _("Somebody deleted this row while the form was open."))
            return
        if seen is None:
            self.add_error(None, _("The form does not say which state of the row it showed: open the page again."))
            self._show_again(stored, seen=None)
            return
        found = differences(seen, stored)
        if found:
            mine = {name for name in self.fields if self._is_mine(name, seen)}
            self.conflict = tuple(self._words(found, stored, mine))
            self.add_error(None, ValidationError(list(self.conflict)))
            self._show_again(stored, seen=seen)

    def _is_mine(self, name: str, seen: Values) -> bool:
        """Whether this editor changed a field; a value that is no value counts as changed."""
        if name not in seen:
            return False
        if name not in self.cleaned_data:
            return True
        field = self.instance._meta.get_field(name)
        given = text_of(field, self.cleaned_data[name])
        return (given or "") != (seen[name] or "")

    def _words(self, found: list[Difference], stored: Model, mine: set[str]) -> list[str]:
        lines = [
            _(
                "%(who)s changed this row while the form was open; nothing was saved. The form now holds their changes "
                "and yours: look at it, and save again."
            )
            % {"who": who_changed(stored)}
        ]
        for each in found:
            words = {"field": each.label, "old": said(each.field, each.old), "theirs": said(each.field, each.now)}
            if each.field.name in mine:
                words["yours"] = said(each.field, text_of(each.field, self.cleaned_data.get(each.field.name)))
                text = _("%(field)s: was %(old)s, theirs %(theirs)s, yours %(yours)s (kept in the form).")
            else:
                text = _("%(field)s: was %(old)s, theirs %(theirs)s; you did not change it.")
            lines.append(text % words)
        return lines

    def _show_again(self, stored: Model, *, seen: Values | None) -> None:
        """Put the stored values into the fields that this editor did not change, and the stored row as the one seen."""
        data: Any = self.data
        self.data = data = data.copy()
        data[self.add_prefix(SEEN)] = token_of(stored)
        if seen is None:
            return
        for name in self.fields:
            if name in seen and not self._is_mine(name, seen):
                field: Any = stored._meta.get_field(name)
                _put(self, name, field.value_from_object(stored))


def _put(form: forms.BaseForm, name: str, value: Any) -> None:
    """Put a value into a bound form's data as its widget would send it."""
    data: Any = form.data
    field, key = form.fields[name], form.add_prefix(name)
    widget: Any = field.widget
    prepared = field.prepare_value(value)
    parts: Any = widget if isinstance(widget, forms.MultiWidget) else None
    if parts is not None:
        for suffix, part, inner in zip(parts.widgets_names, parts.decompress(prepared), parts.widgets, strict=True):
            data[key + suffix] = "" if part is None else inner.format_value(part)
    elif isinstance(widget, forms.CheckboxInput):
        data[key] = "on" if value else ""
        if not value:
            del data[key]
    else:
        sent = widget.format_value(prepared)
        if isinstance(sent, list | tuple):
            data.setlist(key, list(sent))
        else:
            data[key] = "" if sent is None else sent


def _label(model: type[Model], name: str) -> str:
    """What people call a field of a model, by its name or its column's."""
    for field in model._meta.concrete_fields:
        if name in (field.name, field.attname):
            return str(field.verbose_name)
    return name


class TwoEditorsFormSet(PaginationInlineFormSet):
    """Inline rows: one that somebody deleted meanwhile is named so, and none is deleted that somebody changed."""

    def clean(self) -> None:
        """As Django's, which does not look at the errors of lines to be deleted."""
        super().clean()
        lines = [line for form in self.initial_forms if self._should_delete_form(form) for line in form.conflict]
        if lines:
            raise ValidationError(lines)

    def add_fields(self, form: Any, index: int | None) -> None:
        """As Django's, with words for a row that is gone."""
        super().add_fields(form, index)
        key = form.fields.get(self.model._meta.pk.name)
        if key is not None:
            key.error_messages = key.error_messages | {
                "invalid_choice": _("Somebody deleted this line while the form was open.")
            }


class _HoldsRowSeen:
    """Pages and inlines whose forms hold the row that was shown."""

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """As Django's, with the hidden field."""
        sets: Any = super().get_fieldsets(request, obj)  # type: ignore[misc]
        if not self.has_change_permission(request, obj):  # type: ignore[attr-defined]
            return sets
        sets = [(name, dict(options)) for name, options in sets]
        if sets and not any(SEEN in _flat(options["fields"]) for _name, options in sets):
            sets[0][1]["fields"] = (*sets[0][1]["fields"], SEEN)
        return sets


def _flat(names: Any) -> set[str]:
    return {part for name in names for part in ([name] if isinstance(name, str) else name)}


class TwoEditorsInline(_HoldsRowSeen, _Inline):
    """Mixin of inlines that people edit."""

    form = TwoEditorsForm
    formset = TwoEditorsFormSet


class SeenActionForm(ActionForm):
    """The choice of an action, with the rows as the list showed them."""

    rows_seen = forms.CharField(required=False, widget=forms.HiddenInput, label="")


class TwoEditors(_HoldsRowSeen, _Admin):
    """Mixin of pages that people edit: forms, actions and deletions go through only on what was looked at."""

    form = TwoEditorsForm
    action_form = SeenActionForm

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """As Django's, with a fault that the database found in the first try of this request."""
        form = super().get_form(request, obj, change=change, **options)
        form.late_fault = getattr(request, "late_fault", None)
        return form

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """As Django's; what the service or the database refuses at the save is shown on the form, nothing is lost."""
        try:
            with transaction.atomic():
                return super().changeform_view(request, object_id, form_url, extra_context)
        except ValidationError as refused:
            fault = refused
        except IntegrityError:
            fault = ValidationError(
                _("Somebody else wrote a row just now that this one cannot stand beside (same name, or same days).")
            )
        request.late_fault = fault  # type: ignore[attr-defined]
        return super().changeform_view(request, object_id, form_url, extra_context)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """As Django's; the form of the actions holds the rows shown."""
        response = super().changelist_view(request, extra_context)
        context: Any = getattr(response, "context_data", None) or {}
        if context.get("action_form") is not None and "cl" in context:
            rows = {str(row.pk): token_of(row) for row in _stored(self.model, context["cl"].result_list)}
            sent = {"revision": current_revision().number, "rows": rows}
            context["action_form"].fields["rows_seen"].initial = sign(sent)
        return response

    def response_action(self, request: HttpRequest, queryset: Any) -> Any:
        """As Django's, on rows that are as the list showed them."""
        keys = request.POST.getlist(ACTION_CHECKBOX_NAME)
        across = request.POST.get("select_across") == "1"
        seen = unsign(request.POST.get("rows_seen", "")) or self._before_deletion(request)
        with transaction.atomic():
            changed = self._changed_since(seen, keys, across=across)
            if changed:
                for line in changed:
                    self.message_user(request, line, messages.ERROR)
                return HttpResponseRedirect(request.get_full_path())
            if request.POST.get("action") == "delete_selected" and "post" not in request.POST:
                self._remember(request, _stored(self.model, queryset[:_MOST_DELETIONS]))
            return super().response_action(request, queryset)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """As Django's, of the row that the question was about."""
        with transaction.atomic():
            stored = locked(self.model, object_id)
            if stored is not None and request.method == "POST":
                changed = self._changed_since(self._before_deletion(request), [str(stored.pk)], across=False)
                if changed:
                    for line in changed:
                        self.message_user(request, line, messages.ERROR)
                    return HttpResponseRedirect(request.get_full_path())
            elif stored is not None:
                self._remember(request, [stored])
            return super().delete_view(request, object_id, extra_context)

    def _changed_since(self, seen: Any, keys: list[str], *, across: bool) -> list[str]:
        """Lines about chosen rows that are no longer as they were shown; none for a caller that was shown nothing."""
        if not seen:
            return []
        if across and seen.get("revision") not in (None, current_revision().number):
            return [_("The catalog changed since this list was shown: look at it again, then run the action.")]
        lines = []
        for key in keys:
            before = read_token(seen["rows"].get(key, ""))
            stored = locked(self.model, key) if before is not None else None
            if before is not None and stored is not None and (found := differences(before, stored)):
                changes = change_words(found)
                lines.append(
                    _("%(row)s was changed by %(who)s since it was shown (%(changes)s): nothing was done.")
                    % {"row": stored, "who": who_changed(stored), "changes": changes}
                )
        return lines

    def _remember(self, request: HttpRequest, rows: Any) -> None:
        """Keep in the session what the rows looked like when the question was asked whether to delete them."""
        kept = dict(request.session.get(_DELETIONS, {}))
        kept |= {f"{self.model._meta.label} {row.pk}": token_of(row) for row in rows}
        request.session[_DELETIONS] = dict(list(kept.items())[-_MOST_DELETIONS:])

    def _before_deletion(self, request: HttpRequest) -> Any:
        if "post" not in request.POST:
            return None
        start = f"{self.model._meta.label} "
        kept = request.session.get(_DELETIONS, {})
        return {"rows": {key.removeprefix(start): each for key, each in kept.items() if key.startswith(start)}}


def _stored(model: type[Model], rows: Any) -> list[Model]:
    """The rows without what a list's query adds to or leaves out of them."""
    return list(model._base_manager.filter(pk__in=[row.pk for row in rows]))
