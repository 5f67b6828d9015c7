"""What loads left alone, to be read: the next load of a source writes its lines anew."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from catalog.models import LeftAlone


@admin.register(LeftAlone)
class LeftAloneAdmin(ModelAdmin):
    """Read alone: it is settled at the row itself."""

    list_display = ("name", "kind", "source", "reason", "noted_at", "look")
    list_filter = ("kind", "source")
    search_fields = ("name", "slug", "reason")

    @admin.display(description=_("row"))
    def look(self, row: LeftAlone) -> SafeString:
        """A way to the row."""
        return format_html('<a href="{}">{}</a>', row.url, _("Look"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Loads write these lines."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What was noted is not edited."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """The next load of the source removes them."""
        return False
