"""What people took out of the catalog, to be read and to be given back to the loaders."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from catalog.models import Withdrawal


@admin.register(Withdrawal)
class WithdrawalAdmin(ModelAdmin):
    """Deleting a line gives the row back: the next load brings it again."""

    list_display = ("kind", "key", "taken", "period_from", "period_to", "by", "at", "reason")
    list_filter = ("kind", "taken")
    search_fields = ("key", "by", "reason")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Withdrawals are made by what people do to the rows."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What was done is not edited."""
        return False
