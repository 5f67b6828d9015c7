"""Accelerators in the admin."""

from typing import Any

from django.contrib import admin
from django.utils.html import format_html_join
from django.utils.translation import gettext_lazy as _

from catalog.admin import units
from catalog.admin.base import CatalogAdmin
from catalog.admin.resources import GpuResource
from catalog.edits import sources_by_figure
from catalog.models import Gpu


@admin.register(Gpu)
class GpuAdmin(CatalogAdmin):
    """Memory, bandwidth, dense rates and links, with the source of each figure."""

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
                           ("launch_date", "confidence"), "human_units", "kernels", "change_reason")}),
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
