"""Kept things in the admin: read alone; what was kept is never changed, and calibrations are switched by the API."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from receipts.models import Calibration, Measurement, Prediction


class _ReadAlone(ModelAdmin):
    """Rows that a person may see, without a way to change them."""

    list_filter = ("created_at",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without rows of others that are not open to all."""
        query: QuerySet[Any] = self.model._default_manager.visible_to(request.user).select_related("owner")
        return query

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nothing is made here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is edited here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is removed here."""
        return False


@admin.register(Prediction)
class PredictionAdmin(_ReadAlone):
    """Predictions."""

    list_display = ("__str__", "kind", "owner", "public", "created_at", "sha256")
    search_fields = ("name", "sha256")


@admin.register(Measurement)
class MeasurementAdmin(_ReadAlone):
    """Measurements."""

    list_display = ("__str__", "model", "gpu", "engine", "owner", "public", "created_at")
    search_fields = ("name", "model", "gpu")


@admin.register(Calibration)
class CalibrationAdmin(_ReadAlone):
    """Calibrations."""

    list_display = ("name", "owner", "enabled", "shared", "created_at")
    search_fields = ("name",)
    exclude = ("measurements",)
