"""Accelerators in the admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget

from catalog.admin import units
from catalog.admin.base import CatalogAdmin, CatalogForm
from catalog.admin.resources import GpuResource
from catalog.admin.units import kind_of_figure
from catalog.edits import figure_key, sources_by_figure
from catalog.models import Gpu

# What stands beside a figure; the whole source stands under the sources of the page.
_LONGEST_SOURCE = 90


class GpuForm(CatalogForm):
    """An accelerator's form: each figure with its source and day beside it, and one source for what is changed."""

    source_of_change = forms.CharField(
        label=_("Source of what you change"), required=False, max_length=500, widget=UnfoldAdminTextInputWidget(),
        help_text=_("Where the new figures stand: address, sheet, reading. It becomes their source, with today's day."),
    )  # fmt: skip

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        sources = sources_by_figure(self.instance) if self.instance.pk else {}
        for name, field in self.fields.items():
            value = getattr(self.instance, name, None)
            kind = kind_of_figure(name)
            stated = sources.get(figure_key(name)) or (sources.get("*") if kind else None)
            if kind == "bytes" and value:
                field.help_text = format_html("{} {}", field.help_text, _("About %s.") % units.binary_bytes(value))
            if stated and value is not None:
                field.help_text = format_html("{} {}", field.help_text, _source_words(stated))

    def clean(self) -> dict[str, Any] | None:
        """As every row's; the source given becomes that of the figures that changed."""
        source = self.cleaned_data.get("source_of_change")
        figures = [name for name in self.changed_data if kind_of_figure(name) or name == "tdp_w"]
        if source and "sources" in self.cleaned_data:
            entry = {"source": source, "date": timezone.now().date().isoformat(), "confidence": "medium"}
            kept = self.cleaned_data["sources"] or {}
            self.cleaned_data["sources"] = kept | {figure_key(name): entry for name in figures}
        return super().clean()


def _source_words(stated: dict[str, Any]) -> str:
    words = _("Source: %(source)s") % {"source": Truncator(stated.get("source", "")).chars(_LONGEST_SOURCE)}
    parts = [words, str(stated.get("date") or ""), str(stated.get("confidence") or "")]
    return ", ".join(part for part in parts if part) + "."


@admin.register(Gpu)
class GpuAdmin(CatalogAdmin):
    """Memory, bandwidth, dense rates and links, with the source of each figure."""

    form = GpuForm
    resource_classes = [GpuResource]
    list_display = (
        "named", "vendor", "architecture", "memory", "memory_seen", "bandwidth", "bf16", "fp8", "link_shown",
        "power", "sureness", "edited_by_person",
    )  # fmt: skip
    list_filter = ("vendor", "confidence", "architecture", "form_factor", "link", "edited_by_person")
    search_fields = ("slug", "name", "architecture", "compute_capability", "notes")
    date_hierarchy = "launch_date"
    readonly_fields = (*CatalogAdmin.readonly_fields, "human_units", "kernels", "figure_sources")
    fieldsets = (
        (None, {"fields": (("name", "slug"), ("vendor", "architecture"), ("compute_capability", "form_factor"),
                           ("launch_date", "confidence"), "human_units", "kernels",
                           ("change_reason", "source_of_change"))}),
        (_("Memory"), {"fields": (("memory_type", "devices_per_unit"), ("memory_vendor_bytes", "memory_driver_bytes"),
                                  ("memory_visible_bytes", "memory_bandwidth_bytes_per_s"))}),
        (_("Dense rates"), {"fields": (("peak_fp32_flops_per_s", "peak_tf32_flops_per_s"),
                                       ("peak_fp16_flops_per_s", "peak_bf16_flops_per_s"),
                                       ("peak_fp8_flops_per_s", "peak_int8_flops_per_s"),
                                       ("peak_fp4_flops_per_s", "peak_int4_flops_per_s"),
                                       ("measured_matmul_bf16_flops_per_s", "measured_matmul_fp8_flops_per_s"),
                                       "vendor_prints_sparse_2x")}),
        (_("Links and power"), {"fields": ("interconnect", ("link", "link_bytes_per_s_per_direction"),
                                           ("bridge_bytes_per_s_per_direction", "scale_up_gpus"),
                                           ("pcie_generation", "tdp_w"))}),
        (_("Sources"), {"fields": ("figure_sources", "sources")}),
        CatalogAdmin.provenance,
    )  # fmt: skip

    @admin.display(description=_("memory"), ordering="memory_vendor_bytes")
    def memory(self, gpu: Gpu) -> str:
        """The vendor's figure."""
        return units.decimal_bytes(gpu.memory_vendor_bytes)

    @admin.display(description=_("visible"), ordering="memory_visible_bytes")
    def memory_seen(self, gpu: Gpu) -> str:
        """What engines see."""
        return units.binary_bytes(gpu.memory_visible_bytes)

    @admin.display(description=_("bandwidth"), ordering="memory_bandwidth_bytes_per_s")
    def bandwidth(self, gpu: Gpu) -> str:
        """Peak memory bandwidth."""
        return units.rate(gpu.memory_bandwidth_bytes_per_s)

    @admin.display(description="bf16", ordering="peak_bf16_flops_per_s")
    def bf16(self, gpu: Gpu) -> str:
        """Dense bf16 rate."""
        return units.flops(gpu.peak_bf16_flops_per_s)

    @admin.display(description="fp8", ordering="peak_fp8_flops_per_s")
    def fp8(self, gpu: Gpu) -> str:
        """Dense fp8 rate."""
        return units.flops(gpu.peak_fp8_flops_per_s)

    @admin.display(description=_("link"), ordering="link")
    def link_shown(self, gpu: Gpu) -> str:
        """Link and its rate per direction."""
        rate = units.rate(gpu.link_bytes_per_s_per_direction)
        return f"{gpu.get_link_display()}, {rate}" if gpu.link else units.UNKNOWN

    @admin.display(description=_("power"), ordering="tdp_w")
    def power(self, gpu: Gpu) -> str:
        """Design power."""
        return f"{gpu.tdp_w} W" if gpu.tdp_w else units.UNKNOWN

    @admin.display(description=_("confidence"), ordering="confidence")
    def sureness(self, gpu: Gpu) -> str:
        """The confidence as one word: its meaning would make six lines of each row."""
        return str(gpu.get_confidence_display()).split(":")[0]

    @admin.display(description=_("in people's units"))
    def human_units(self, gpu: Gpu) -> str:
        """The figures as people say them."""
        if gpu.pk is None:
            return units.UNKNOWN
        memory = f"{self.memory(gpu)}, {units.binary_bytes(gpu.memory_visible_bytes)} visible"
        peaks = ", ".join(f"{dtype} {units.flops(value)}" for dtype, value in gpu.peak_flops_per_s.items())
        return f"{memory}; {self.bandwidth(gpu)}; {peaks}"

    @admin.display(description=_("kernel family"))
    def kernels(self, gpu: Gpu) -> str:
        """Whose measured kernels stand for this accelerator, and on what basis."""
        if gpu.pk is None:
            return units.UNKNOWN
        family = gpu.kernel_family
        if family.used is None:
            return f"{family.own}: no measured kernels near; ceiling only"
        return family.own if family.basis == "calibrated" else f"{family.own}, nearest {family.used}"

    @admin.display(description=_("source of each figure"))
    def figure_sources(self, gpu: Gpu) -> Any:
        """The sources, one figure a line."""
        lines = (
            (figure, entry.get("confidence", ""), entry.get("date", ""), entry.get("source", ""), entry.get("note", ""))
            for figure, entry in sources_by_figure(gpu).items()
        )
        return format_html_join("", "<p><b>{}</b> ({}, {}): {} <i>{}</i></p>", lines) or units.UNKNOWN
