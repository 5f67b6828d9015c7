"""What all catalog pages of the admin share: history with reasons, spreadsheets, sources, and who uses a row."""

import json
import re
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from import_export.admin import ImportExportModelAdmin
from import_export.forms import ConfirmImportForm
from simple_history.admin import SimpleHistoryAdmin
from unfold.admin import ModelAdmin
from unfold.contrib.import_export.forms import ExportForm, ImportForm
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminTextInputWidget

from catalog.admin.another import CLONED, start_from
from catalog.admin.bulk_edit import BulkEdit
from catalog.admin.figure_fields import figure_field
from catalog.admin.import_faults import FaultyImports
from catalog.admin.related import rows_that_name
from catalog.admin.two_editors import TwoEditors, TwoEditorsForm
from catalog.edits import edited_words
from catalog.models import CatalogRecord, CatalogRow
from catalog.revisions import current_revision
from catalog.services.people import check_frozen, delete_by_person, kind_of, save_by_person
from catalog.usage import usages

_URL = re.compile(r"https?://[^\s,;()]+[^\s,;().]")


class CatalogForm(TwoEditorsForm):
    """A row's form with the reason of the change, which goes to the history."""

    change_reason = forms.CharField(
        label=_("Reason for the change"),
        required=False,
        max_length=500,
        widget=UnfoldAdminTextInputWidget(),
        help_text=_("Kept in the history: what you saw, where, and when."),
    )

    def clean(self) -> dict[str, Any] | None:
        """Refuse what the service would refuse, in words, before anything is saved."""
        cleaned = super().clean()
        if not self.errors:
            candidate = type(self.instance)()
            for field in self.instance._meta.concrete_fields:
                name = field.name
                setattr(candidate, field.attname, getattr(self.instance, field.attname))
                if cleaned is not None and name in cleaned:
                    setattr(candidate, name, cleaned[name])
            try:
                self.check_rules(candidate)
            except forms.ValidationError as refused:
                self.add_error(None, refused)
        return cleaned

    def check_rules(self, candidate: Any) -> None:
        """The rules of the service for the row as it would be saved.

        Raises:
            ValidationError: By field, in words.
        """
        check_frozen(candidate)


class _IndentedJson(json.JSONEncoder):
    """JSON one key a line, as people can edit it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"indent": 2})


class ConfirmImport(ConfirmImportForm):
    """The confirmation of an import, with the revision of the catalog that the preview was made of."""

    catalog_revision = forms.IntegerField(required=False, widget=forms.HiddenInput())


class ChangedSincePreviewError(Exception):
    """Somebody wrote to the catalog between the preview of an import and its confirmation."""


class CatalogAdmin(BulkEdit, TwoEditors, SimpleHistoryAdmin, FaultyImports, ModelAdmin, ImportExportModelAdmin):
    """Base of the catalog's pages; edits by people are marked, so that loaders leave the rows alone."""

    form = CatalogForm
    import_form_class = ImportForm
    export_form_class = ExportForm
    confirm_form_class = ConfirmImport
    list_per_page = 50
    list_fullwidth = True
    warn_unsaved_form = True
    compressed_fields = True
    history_list_display = ["history_change_reason"]
    delete_confirmation_template = "catalog/admin/delete.html"
    import_template_name = "catalog/admin/import.html"
    actions: Any = ("edit_together",)
    actions_detail: Any = ["start_another"]
    readonly_fields: tuple[str, ...] = ("kept_by", "used_by", "source_links", "created_at", "updated_at")
    provenance = (
        _("Provenance"),
        {"fields": ("notes", "kept_by", "used_by", "source_links", "created_at", "updated_at")},
    )

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """The usual addresses and the form of many rows."""
        name = f"catalog_{self.opts.model_name}_together"
        return [path("together/", self.admin_site.admin_view(self.together_view), name=name), *super().get_urls()]

    @action(description=_("Start another from this"), url_path="start-another", permissions=["start_another"])
    def start_another(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Lead to the form of a new row, filled in from this one."""
        address = reverse(f"admin:catalog_{self.opts.model_name}_add")
        return HttpResponseRedirect(f"{address}?{CLONED}={object_id}")

    def has_start_another_permission(self, request: HttpRequest, *_: Any) -> bool:
        """Who may add rows; what is filled in is for those who may see the row."""
        return bool(self.has_add_permission(request))

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """As Django's, or the values of the row that the new one starts from."""
        number = request.GET.get(CLONED, "")
        row = self.get_queryset(request).filter(pk=number).first() if number.isdecimal() and len(number) < 19 else None
        if row is None or not self.has_view_permission(request, row):
            return dict(super().get_changeform_initial_data(request))
        return start_from(row)

    def has_import_permission(self, request: HttpRequest) -> bool:
        """Importing adds and changes rows."""
        return self.has_add_permission(request) and self.has_change_permission(request)

    def has_export_permission(self, request: HttpRequest) -> bool:
        """Exporting shows rows."""
        return self.has_view_permission(request)

    def history_form_view(
        self, request: HttpRequest, object_id: str, version_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """An old version of a row; sending its form is a change, which the library takes from whoever may look.

        What the service refuses of an old state is said, and nothing is written.

        Raises:
            PermissionDenied: for those who may not change rows.
        """
        if request.method == "POST" and not self.has_change_permission(request):
            raise PermissionDenied
        try:
            with transaction.atomic():
                response: HttpResponse = super().history_form_view(request, object_id, version_id, extra_context)
                return response
        except forms.ValidationError as refused:
            self.message_user(request, " ".join(refused.messages), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    def get_confirm_form_initial(self, request: HttpRequest, import_form: Any) -> dict[str, Any]:
        """As the library's, with the state of the catalog that the preview was made of."""
        initial: dict[str, Any] = super().get_confirm_form_initial(request, import_form)
        return initial | {"catalog_revision": current_revision().number}

    def process_import(self, request: HttpRequest, **options: Any) -> HttpResponse:
        """As the library's, if the catalog is still the one that the preview showed."""
        seen = request.POST.get("catalog_revision", "")
        try:
            with transaction.atomic():
                response: HttpResponse = super().process_import(request, **options)
                if seen.isdecimal() and current_revision().number > int(seen) + 1:
                    raise ChangedSincePreviewError
                return response
        except ChangedSincePreviewError:
            text = gettext("The catalog changed since the preview: nothing was imported. Look at the preview again.")
            self.message_user(request, text, messages.ERROR)
            return HttpResponseRedirect(reverse(f"admin:catalog_{self.opts.model_name}_import"))

    def get_import_resource_kwargs(self, request: HttpRequest, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Options of the resource."""
        return dict(super().get_import_resource_kwargs(request, *args, **kwargs))

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """As Django's, with JSON laid out for reading."""
        if (figure := figure_field(db_field)) is not None:
            return figure
        field = super().formfield_for_dbfield(db_field, request, **options)
        if isinstance(field, forms.JSONField):
            field.encoder = _IndentedJson
        return field

    def save_model(self, request: HttpRequest, obj: CatalogRecord, form: "forms.ModelForm[Any]", change: bool) -> None:
        """Save through the one service for people's edits."""
        save_by_person(obj, user=request.user, reason=form.cleaned_data.get("change_reason", ""))

    def save_formset(self, request: HttpRequest, form: "forms.ModelForm[Any]", formset: Any, change: bool) -> None:
        """Save and delete inline rows through the same service."""
        reason = form.cleaned_data.get("change_reason", "")
        for row in formset.save(commit=False):
            save_by_person(row, user=request.user, reason=reason)
        for row in formset.deleted_objects:
            delete_by_person(row, user=request.user, reason=reason)
        formset.save_m2m()

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """As Django's, with what uses the row."""
        row = self.get_object(request, unquote(object_id))
        said = {"used_by": self.used_by(row)} if row is not None and self.has_view_permission(request, row) else {}
        return super().delete_view(request, object_id, {**said, **(extra_context or {})})

    def delete_model(self, request: HttpRequest, obj: CatalogRecord) -> None:
        """Delete through the one service."""
        delete_by_person(obj, user=request.user)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        """Delete row by row, so that each leaves its history."""
        for row in queryset:
            delete_by_person(row, user=request.user)

    @display(description=_("name"), header=True, ordering="name")
    def named(self, row: CatalogRow) -> list[str]:
        """Name above slug."""
        return [row.name, row.slug]

    @admin.display(description=_("kept by"))
    def kept_by(self, row: CatalogRow) -> str:
        """Who keeps the row: a person, or a data file and its version."""
        if row.pk is None:
            return gettext("not saved yet")
        if row.edited_by_person:
            lines = [(name, edited_words(edit)) for name, edit in (row.edits or {}).items()]
            return format_html(
                "{}{}",
                gettext("A person; loaders leave it alone."),
                format_html_join("", "<br>{}: {}", lines),
            )
        if not row.loaded_from:
            return gettext("Made by the service.")
        return gettext("%(file)s, version %(version)s; a person's edit takes it out of the loader's hands.") % {
            "file": row.loaded_from,
            "version": row.loaded_version,
        }

    @admin.display(description=_("what uses this row"))
    def used_by(self, row: CatalogRow) -> str:
        """Counts of the reports and others that used the row, with links."""
        if row.pk is None:
            return gettext("nothing yet")
        found = [*usages(kind_of(row), getattr(row, "slug", "")), *rows_that_name(row)]
        if not found:
            return gettext("Nothing that is registered.")
        return format_html_join(
            mark_safe("<br>"),
            "{}",
            ((_usage_html(usage.label, usage.count, usage.url),) for usage in found),
        )

    @admin.display(description=_("source links"))
    def source_links(self, row: CatalogRow) -> str:
        """Addresses named in the row's sources, to follow."""
        texts = [str(getattr(row, "source", "") or ""), str(getattr(row, "evidence", "") or "")]
        sources = getattr(row, "sources", None)
        if isinstance(sources, dict):
            texts += [str(entry.get("source", "")) for entry in sources.values() if isinstance(entry, dict)]
        urls = dict.fromkeys(url for text in texts for url in _URL.findall(text))
        if not urls:
            return gettext("No addresses named.")
        return format_html_join(
            mark_safe("<br>"),
            '<a class="text-primary-600 dark:text-primary-500" href="{}" rel="noopener noreferrer">{}</a>',
            ((url, url) for url in urls),
        )


def _usage_html(label: str, count: int, url: str | None) -> SafeString:
    text = f"{count} {label}"
    if url is None:
        return format_html("{}", text)
    return format_html('<a class="text-primary-600 dark:text-primary-500" href="{}">{}</a>', url, text)
