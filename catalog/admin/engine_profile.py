"""Engine profiles in the admin: constants are validated by building what the engine builds."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action
from unfold.forms import BaseDialogForm

from catalog.admin.base import CatalogAdmin
from catalog.admin.resources import EngineProfileResource
from catalog.models import EngineProfile
from catalog.services.engine_profiles import new_version


@admin.register(EngineProfile)
class EngineProfileAdmin(CatalogAdmin):
    """Constants of engine versions with their evidence; used ones are kept, a new version takes the change."""

    resource_classes = [EngineProfileResource]
    list_display = ("named", "engine", "engine_version", "kind", "names", "parent", "edited_by_person")
    list_filter = ("kind", "engine", "edited_by_person")
    search_fields = ("slug", "name", "engine", "engine_version", "evidence", "notes")
    autocomplete_fields = ("parent",)
    actions_detail = ["make_new_version", "start_another"]
    fieldsets = (
        (None, {"fields": (("name", "slug"), ("engine", "engine_version"), ("kind", "aliases"), "change_reason")}),
        (_("Constants"), {"fields": ("memory_policy", "speed_constants")}),
        (_("Evidence"), {"fields": ("evidence", ("source_date", "parent"), "fit_error")}),
        CatalogAdmin.provenance,
    )

    @admin.display(description=_("aliases"))
    def names(self, profile: EngineProfile) -> str:
        """Other names that mean the profile."""
        return ", ".join(profile.aliases)

    # The dialog asks first: an address that is only opened changes nothing.
    @action(
        description=_("Save as new version"),
        url_path="new-version",
        permissions=["add"],
        dialog={
            "title": _("Save as new version"),
            "description": _("The profile is copied under the next free slug, and the copy opens."),
            "form_class": None,
            "form_submit_text": _("Save"),
        },
    )
    def make_new_version(self, request: HttpRequest, form: BaseDialogForm, object_id: int) -> HttpResponse:
        """Copy the profile under the next free slug, to be edited there."""
        parent = EngineProfile.objects.get(pk=object_id)
        try:
            profile = new_version(
                parent, slug=_next_slug(parent.slug), user=request.user, reason=gettext("New version, to be edited")
            )
        except ValidationError as refused:
            messages.error(request, " ".join(refused.messages))
            return _to_page_of(request, object_id)
        messages.success(request, gettext("%(slug)s is a copy; edit it here.") % {"slug": profile.slug})
        return _to_page_of(request, profile.pk)

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        """As Django's; detail actions ask with the row's key."""
        return bool(super().has_add_permission(request))


def _to_page_of(request: HttpRequest, pk: int) -> HttpResponse:
    """Leads to the profile's page; the script of a dialog follows a header, for it would show a redirect in place."""
    address = reverse("admin:catalog_engineprofile_change", args=[pk])
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)


def _next_slug(slug: str) -> str:
    number = 2
    while EngineProfile.objects.filter(slug=f"{slug}-v{number}").exists():
        number += 1
    return f"{slug}-v{number}"
