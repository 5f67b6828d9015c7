"""Use cases in the admin."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from catalog.admin import units
from catalog.admin.base import CatalogAdmin
from catalog.admin.resources import PresetResource
from catalog.models import Preset


@admin.register(Preset)
class PresetAdmin(CatalogAdmin):
    """Lengths and targets of use cases."""

    resource_classes = [PresetResource]
    list_display = ("named", "lengths", "concurrency", "ttft", "tpot", "e2e", "slo_percentile")
    list_filter = ("slo_percentile", "edited_by_person")
    search_fields = ("slug", "name", "description", "notes")
    fieldsets = (
        (None, {"fields": (("name", "slug"), "description", "change_reason")}),
        (_("Lengths and load"), {"fields": (("input_tokens", "output_tokens"), ("shared_prefix_tokens",
                                            "prefix_cache_hit_rate"), "concurrency")}),
        (_("Targets"), {"fields": (("slo_ttft_s", "slo_tpot_s"), ("slo_e2e_s", "slo_percentile"))}),
        (_("Source"), {"fields": ("source", "source_date")}),
        CatalogAdmin.provenance,
    )  # fmt: skip

    @admin.display(description=_("tokens in, out"), ordering="input_tokens")
    def lengths(self, preset: Preset) -> str:
        """Input and output tokens."""
        return f"{units.whole(preset.input_tokens)}, {units.whole(preset.output_tokens)}"

    @admin.display(description="TTFT", ordering="slo_ttft_s")
    def ttft(self, preset: Preset) -> str:
        """Target of the time to first token."""
        return units.seconds(preset.slo_ttft_s)

    @admin.display(description="TPOT", ordering="slo_tpot_s")
    def tpot(self, preset: Preset) -> str:
        """Target of the time per output token."""
        return units.seconds(preset.slo_tpot_s)

    @admin.display(description=_("end to end"), ordering="slo_e2e_s")
    def e2e(self, preset: Preset) -> str:
        """Target of the whole request."""
        return units.seconds(preset.slo_e2e_s)
