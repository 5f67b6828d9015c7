"""Language models in the admin: made by pasting a config.json, edited in what surrounds it."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.decorators import action

from catalog.admin import units
from catalog.admin.another import CLONED
from catalog.admin.base import CatalogAdmin
from catalog.admin.config_import import ConfigImportView
from catalog.admin.resources import LanguageModelResource
from catalog.admin.two_editors import TwoEditorsInline
from catalog.models import Checkpoint, LanguageModel


class CheckpointInline(TwoEditorsInline, TabularInline):
    """Stored weight files of the model."""

    model = Checkpoint
    extra = 0
    fields = ("precision", "stored_weight_bytes", "size", "source", "source_date")
    readonly_fields = ("size",)

    @admin.display(description=_("size"))
    def size(self, checkpoint: Checkpoint) -> str:
        """The size as people say it."""
        return units.decimal_bytes(checkpoint.stored_weight_bytes) if checkpoint.pk else units.UNKNOWN


class KnownCheckpoint(admin.SimpleListFilter):
    """Models with and without stored sizes."""

    title = _("checkpoint")
    parameter_name = "checkpoint"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """The choices."""
        return [("none", _("none known")), ("some", _("known"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """The rows of the choice."""
        if self.value() == "none":
            return queryset.filter(checkpoints__isnull=True)
        return queryset.filter(checkpoints__isnull=False).distinct() if self.value() == "some" else queryset


@admin.register(LanguageModel)
class LanguageModelAdmin(CatalogAdmin):
    """Architectures as read from their configs, published totals, and checkpoints by stored bytes."""

    resource_classes = [LanguageModelResource]
    list_display = (
        "named",
        "family",
        "parameters",
        "active",
        "experts",
        "context",
        "released_on",
        "edited_by_person",
    )
    list_filter = (KnownCheckpoint, "family", "publisher", "edited_by_person")
    search_fields = ("slug", "name", "family", "publisher", "source", "notes")
    inlines = [CheckpointInline]
    actions_list = ["open_import"]
    readonly_fields = (
        *CatalogAdmin.readonly_fields, "family", "parameters", "active", "experts", "config_sha256", "layers",
    )  # fmt: skip
    fieldsets = (
        (None, {"fields": (("name", "slug"), ("publisher", "released_on"), "context_window_tokens", "change_reason")}),
        (
            _("Read from the config"),
            {"fields": ("family", ("parameters", "active", "experts"), "layers", "config_sha256")},
        ),
        (_("Published"), {"fields": (("published_total_parameters", "published_active_parameters"),)}),
        (_("Source"), {"fields": ("source", "source_date")}),
        CatalogAdmin.provenance,
    )

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """The usual addresses and the import page."""
        view = self.admin_site.admin_view(ConfigImportView.as_view(model_admin=self))
        return [path("import-config/", view, name="catalog_languagemodel_import_config"), *super().get_urls()]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Models are added by pasting their config.

        Raises:
            PermissionDenied: for those who may not add models.
        """
        if not self.has_add_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(reverse("admin:catalog_languagemodel_import_config"))

    @action(description=_("Paste a config.json"), url_path="paste-config", permissions=["add"])
    def open_import(self, request: HttpRequest) -> HttpResponse:
        """Go to the import page."""
        return HttpResponseRedirect(reverse("admin:catalog_languagemodel_import_config"))

    @action(description=_("Start another from this"), url_path="start-another", permissions=["start_another"])
    def start_another(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Lead to the page that reads a config, with that of this model in it."""
        address = reverse("admin:catalog_languagemodel_import_config")
        return HttpResponseRedirect(f"{address}?{CLONED}={object_id}")

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        """As Django's; list actions may ask with more."""
        return bool(super().has_add_permission(request))

    @admin.display(description=_("parameters"), ordering="total_parameters")
    def parameters(self, model: LanguageModel) -> str:
        """All weights."""
        return units.count(model.total_parameters)

    @admin.display(description=_("active"), ordering="active_parameters")
    def active(self, model: LanguageModel) -> str:
        """Weights one token passes through."""
        return units.count(model.active_parameters)

    @admin.display(description=_("context"), ordering="context_window_tokens")
    def context(self, model: LanguageModel) -> str:
        """Context window."""
        return units.whole(model.context_window_tokens)

    @admin.display(description=_("layers"))
    def layers(self, model: LanguageModel) -> str:
        """The layer groups in words."""
        return format_html("{}", "; ".join(layer_group_words(model.architecture)))


def layer_group_words(architecture: dict[str, Any]) -> list[str]:
    """Each layer group of a stored architecture as one phrase."""
    phrases = []
    for group in architecture.get("layer_groups", ()):
        parts = []
        attention, state, ffn = group.get("attention"), group.get("state"), group.get("feed_forward")
        if attention:
            window = attention.get("window_tokens")
            latent = attention.get("latent_rank")
            parts.append(
                f"{attention['kind']} attention {attention['query_heads']}/{attention['kv_heads']} heads"
                + (f", window {window}" if window else "")
                + (f", latent {latent}" if latent else "")
            )
        if state:
            parts.append(f"{state['kind']} state")
        if ffn and ffn.get("experts"):
            parts.append(f"{ffn['experts']} experts, {ffn['experts_per_token']} per token")
        elif ffn:
            parts.append(f"MLP {ffn.get('intermediate_size')}")
        phrases.append(f"{group['layers']} × " + ", ".join(parts))
    return phrases
