"""The page that reads a pasted config.json, shows what was understood, and saves it when told to."""

import json
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.generic import FormView
from unfold.views import UnfoldModelAdminViewMixin
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from catalog.admin import units
from catalog.admin.another import CLONED
from catalog.models import LanguageModel
from catalog.models.row import validate_slug
from catalog.services.model_import import ConfigTextError, ModelPreview, import_model, parse_config, preview_model
from estimator.engine.errors import EngineError, UnknownArchitectureError


class ConfigImportForm(forms.Form):
    """Name, slug and the pasted text; `preview` holds what was read once the form is valid."""

    name = forms.CharField(
        label=_("Name"),
        max_length=200,
        widget=UnfoldAdminTextInputWidget(),
        help_text=_("As published, for example meta-llama/Llama-3.1-8B-Instruct."),
    )
    slug = forms.CharField(
        label=_("Slug"),
        required=False,
        max_length=100,
        validators=[validate_slug],
        widget=UnfoldAdminTextInputWidget(),
        help_text=_("The name used in requests; empty: made from the name."),
    )
    source = forms.CharField(
        label=_("Source"),
        required=False,
        max_length=500,
        widget=UnfoldAdminTextInputWidget(),
        help_text=_("Where the config was found: address and revision."),
    )
    config = forms.CharField(
        label="config.json",
        strip=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 16, "spellcheck": "false"}),
        help_text=_("The whole file, at most 1 MB. Nothing in it is executed."),
    )
    generic = forms.BooleanField(
        label=_("Read an unknown model_type by its common keys"),
        required=False,
        widget=UnfoldBooleanWidget(),
        help_text=_("Only if the reader refused it; the result is labelled as generic and may be wrong."),
    )
    replace = forms.BooleanField(
        label=_("Replace the model that has this slug"), required=False, widget=UnfoldBooleanWidget()
    )

    parsed: dict[str, Any]
    preview: ModelPreview | None = None

    def clean(self) -> dict[str, Any] | None:
        """Read the config; each refusal becomes words beside the field it is about."""
        cleaned = super().clean() or {}
        if "config" not in cleaned or self.errors:
            return cleaned
        try:
            self.parsed = parse_config(cleaned["config"])
            self.preview = preview_model(
                self.parsed, name=cleaned["name"], slug=cleaned["slug"], generic=cleaned["generic"]
            )
        except ConfigTextError as refused:
            self.add_error("config", str(refused))
        except UnknownArchitectureError as refused:
            near = ", ".join(refused.near)
            text = gettext("The reader has no rules for the model_type %(type)s.") % {"type": refused.model_type}
            self.add_error(
                "config", text + (" " + gettext("Nearest known: %(near)s.") % {"near": near} if near else "")
            )
        except EngineError as refused:
            where = f"{refused.field}: " if refused.field else ""
            self.add_error("config", f"{where}{refused}")
        else:
            self._check_slug(self.preview, replace=cleaned["replace"])
        return cleaned

    def _check_slug(self, preview: ModelPreview, *, replace: bool) -> None:
        try:
            validate_slug(preview.slug)
        except ValidationError as refused:
            self.add_error("slug", refused)
        if preview.existing is not None and not replace:
            self.add_error(
                "slug",
                gettext("There is a model %(slug)s already; tick replace or choose another.") % {"slug": preview.slug},
            )


if TYPE_CHECKING:
    _FormView = FormView[ConfigImportForm]
else:
    _FormView = FormView


class ConfigImportView(UnfoldModelAdminViewMixin, _FormView):
    """First submit shows the preview, the second, from the preview, saves."""

    title = _("Import a model from its config.json")
    permission_required = ("catalog.add_languagemodel", "catalog.change_languagemodel")
    template_name = "catalog/admin/import_config.html"
    form_class = ConfigImportForm

    def get_initial(self) -> dict[str, Any]:
        """The config of the model from which another starts, where the address names one."""
        number = self.request.GET.get(CLONED, "")
        row = LanguageModel.objects.filter(pk=number).first() if number.isdecimal() and len(number) < 19 else None
        if row is None:
            return super().get_initial()
        text = json.dumps(row.config, indent=2, ensure_ascii=False)
        return {"name": gettext("%(name)s (copy)") % {"name": row.name}, "source": row.source, "config": text}

    def form_valid(self, form: ConfigImportForm) -> HttpResponse:
        """Show the preview, or save when asked from there."""
        if "save" not in self.request.POST:
            return self.render_to_response(self.get_context_data(form=form))
        cleaned = form.cleaned_data
        try:
            row = import_model(
                form.parsed,
                name=cleaned["name"],
                slug=cleaned["slug"],
                source=cleaned["source"],
                generic=cleaned["generic"],
                replace=cleaned["replace"],
                user=self.request.user,
                reason=gettext("Config pasted in the admin"),
            )
        except ValidationError as refused:
            for field, texts in refused.message_dict.items():
                form.add_error(field if field in form.fields else None, texts)
            return self.form_invalid(form)
        messages.success(self.request, gettext("%(name)s is saved.") % {"name": row.name})
        return HttpResponseRedirect(reverse("admin:catalog_languagemodel_change", args=[row.pk]))

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The form and, when it was read, the preview as rows of label and value."""
        context = super().get_context_data(**context)
        form = context["form"]
        preview = form.preview if form.is_bound and not form.errors else None
        context["preview_rows"] = preview_rows(preview) if preview else None
        context["preview_warnings"] = preview.read.warnings if preview else ()
        return context


def preview_rows(preview: ModelPreview) -> list[tuple[str, str]]:
    """What was understood, as lines of label and value."""
    from catalog.admin.language_model import layer_group_words  # the page of the model imports this one

    read = preview.read
    rows = [
        (gettext("Slug"), preview.slug),
        (gettext("Family"), read.family),
        (gettext("Parameters"), f"{units.count(read.total_parameters)} ({units.whole(read.total_parameters)})"),
        (
            gettext("Active parameters"),
            f"{units.count(read.active_parameters)} ({units.whole(read.active_parameters)})",
        ),
        (gettext("Context window"), units.whole(read.context_window_tokens)),
    ]
    rows += [(gettext("Layers"), phrase) for phrase in layer_group_words(read.architecture)]
    rows.append((gettext("sha256 of the config"), read.config_sha256))
    if preview.existing is not None:
        rows.append((gettext("Replaces"), str(preview.existing)))
    if preview.same_config:
        rows.append((gettext("Same config as"), ", ".join(preview.same_config)))
    return rows
