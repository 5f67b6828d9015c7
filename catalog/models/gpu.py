"""Accelerators: what the maker prints, what the driver and CUDA show, and where each figure comes from."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.choices import Confidence, Link, Vendor
from catalog.edits import figure_key, sources_by_figure
from catalog.kernel_families import KernelFamily, kernel_family
from catalog.models.row import CatalogRow

DTYPES = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4", "int4")
_SOURCE_KEYS = {"source", "date", "confidence", "note"}


def _peak(dtype: str) -> "models.FloatField[float | None, float | None]":
    return models.FloatField(
        _("peak %(dtype)s") % {"dtype": dtype},
        null=True,
        blank=True,
        validators=[MinValueValidator(1e9)],
        help_text=_("Dense peak of %(dtype)s in FLOP/s, never the sparse figure; empty when not supported.")
        % {"dtype": dtype},
    )


class Gpu(CatalogRow):
    """One accelerator as software sees it, or a package of several devices when `devices_per_unit` says so."""

    vendor = models.CharField(_("vendor"), max_length=20, choices=Vendor.choices, help_text=_("Maker."))
    architecture = models.CharField(_("architecture"), max_length=40, help_text=_("The maker's name: Hopper, CDNA3."))
    compute_capability = models.CharField(
        _("compute capability"), max_length=20, blank=True, help_text=_("NVIDIA: 9.0; AMD: gfx942; others empty.")
    )
    form_factor = models.CharField(_("form factor"), max_length=20, blank=True, help_text=_("SXM5, PCIe, OAM."))
    memory_type = models.CharField(_("memory type"), max_length=30, blank=True, help_text=_("HBM3e, GDDR6."))
    devices_per_unit = models.PositiveSmallIntegerField(
        _("devices per unit"),
        default=1,
        validators=[MinValueValidator(1)],
        help_text=_("Devices that software sees in one unit; 2 for MI250X. Memory and rates are of the whole unit."),
    )
    memory_vendor_bytes = models.PositiveBigIntegerField(
        _("memory, vendor"), help_text=_("What the box says, in bytes (decimal gigabytes).")
    )
    memory_driver_bytes = models.PositiveBigIntegerField(
        _("memory, driver"), null=True, blank=True, help_text=_("What nvidia-smi or rocm-smi shows, in bytes.")
    )
    memory_visible_bytes = models.PositiveBigIntegerField(
        _("memory, visible"),
        null=True,
        blank=True,
        help_text=_("What CUDA or HIP reports and engines multiply by their utilization, in bytes."),
    )
    memory_bandwidth_bytes_per_s = models.FloatField(
        _("memory bandwidth"), validators=[MinValueValidator(1e9)], help_text=_("Peak, in bytes per second.")
    )
    peak_fp32_flops_per_s = _peak("fp32")
    peak_tf32_flops_per_s = _peak("tf32")
    peak_fp16_flops_per_s = _peak("fp16")
    peak_bf16_flops_per_s = _peak("bf16")
    peak_fp8_flops_per_s = _peak("fp8")
    peak_int8_flops_per_s = _peak("int8")
    peak_fp4_flops_per_s = _peak("fp4")
    peak_int4_flops_per_s = _peak("int4")
    vendor_prints_sparse_2x = models.CharField(
        _("vendor prints sparse figures"),
        max_length=60,
        blank=True,
        help_text=_("Whether the maker's sheet prints rates with 2:1 sparsity, which are twice the dense ones here."),
    )
    measured_matmul_bf16_flops_per_s = models.FloatField(
        _("measured bf16 matmul"), null=True, blank=True, help_text=_("Best matrix product measured, in FLOP/s.")
    )
    measured_matmul_fp8_flops_per_s = models.FloatField(
        _("measured fp8 matmul"), null=True, blank=True, help_text=_("Best matrix product measured, in FLOP/s.")
    )
    interconnect = models.CharField(
        _("interconnect"), max_length=60, blank=True, help_text=_("The maker's words for the link between devices.")
    )
    link = models.CharField(
        _("link"),
        max_length=20,
        choices=Link.choices,
        blank=True,
        help_text=_("Link that collectives within a machine run over; cards with a bridge or none: their PCIe."),
    )
    link_bytes_per_s_per_direction = models.FloatField(
        _("link rate"), null=True, blank=True, help_text=_("Published rate per direction, in bytes per second.")
    )
    bridge_bytes_per_s_per_direction = models.FloatField(
        _("bridge rate"),
        null=True,
        blank=True,
        help_text=_("Rate per direction over an optional bridge between cards, in bytes per second."),
    )
    pcie_generation = models.PositiveSmallIntegerField(
        _("PCIe generation"), null=True, blank=True, help_text=_("Generation of the host link.")
    )
    scale_up_gpus = models.PositiveIntegerField(
        _("scale-up domain"),
        default=1,
        validators=[MinValueValidator(1)],
        help_text=_("Accelerators that reach each other over the fast link: 8 on SXM boards, 72 in NVL72, else 1."),
    )
    tdp_w = models.PositiveIntegerField(_("TDP"), null=True, blank=True, help_text=_("Design power, in watts."))
    launch_date = models.DateField(_("launch date"), null=True, blank=True, help_text=_("Announced or first sold."))
    confidence = models.CharField(
        _("confidence"), max_length=10, choices=Confidence.choices, help_text=_("Of the row as a whole.")
    )
    sources = models.JSONField(
        _("sources"),
        default=dict,
        blank=True,
        help_text=_('By figure: {"memory_visible_bytes": {"source", "date", "confidence", "note"}}; "*" for the rest.'),
    )

    class Meta(CatalogRow.Meta):
        verbose_name = _("GPU")
        verbose_name_plural = _("GPUs")

    @property
    def peak_flops_per_s(self) -> dict[str, float]:
        """Dense peak FLOP/s by dtype; a missing dtype is not supported."""
        peaks = {dtype: getattr(self, f"peak_{dtype}_flops_per_s") for dtype in DTYPES}
        return {dtype: value for dtype, value in peaks.items() if value is not None}

    @property
    def figures_without_source(self) -> list[str]:
        """Figures that the row states and for which neither it nor a person names a source."""
        if "*" in self.sources:
            return []
        stated = [field.name for field in self._meta.concrete_fields if field.name.endswith(_FIGURES)]
        sources = sources_by_figure(self)
        return [name for name in stated if getattr(self, name) is not None and not _is_cited(name, sources)]

    @property
    def kernel_family(self) -> KernelFamily:
        """The family of measured kernels of this accelerator, exact or nearest."""
        return kernel_family(self.vendor, self.compute_capability, self.architecture)

    def clean(self) -> None:
        """Refuse figures that contradict each other, in words."""
        errors: dict[str, Any] = {
            name: _("Leave an unknown figure empty; 0 is none.") for name in _NEVER_ZERO if getattr(self, name) == 0
        }
        if (
            self.memory_driver_bytes
            and self.memory_visible_bytes
            and self.memory_visible_bytes > (self.memory_driver_bytes)
        ):
            errors["memory_visible_bytes"] = _("More than the driver shows; check bytes against MiB and GiB.")
        if self.memory_vendor_bytes and self.memory_driver_bytes:
            ratio = self.memory_driver_bytes / self.memory_vendor_bytes
            if not 0.6 <= ratio <= 1.1:
                errors["memory_driver_bytes"] = _("Too far from the vendor's figure; both are in bytes.")
        peaks = self.peak_flops_per_s
        if "fp8" in peaks and "bf16" in peaks and peaks["fp8"] > 4.5 * peaks["bf16"]:
            errors["peak_fp8_flops_per_s"] = _("More than four times bf16; is it a figure with sparsity?")
        if self.link and self.link_bytes_per_s_per_direction is None:
            errors["link_bytes_per_s_per_direction"] = _("A link needs its rate per direction.")
        problem = _sources_problem(self.sources)
        if problem:
            errors["sources"] = problem
        if errors:
            raise ValidationError(errors)


_FIGURES = ("_bytes", "_bytes_per_s", "_flops_per_s", "_per_direction", "_w")


def _is_cited(figure: str, sources: Any) -> bool:
    key = figure_key(figure)
    return key in sources or key.split(".")[0] in sources


_NEVER_ZERO = (
    "memory_vendor_bytes",
    "memory_driver_bytes",
    "memory_visible_bytes",
    "link_bytes_per_s_per_direction",
    "tdp_w",
)


def _sources_problem(sources: Any) -> str | None:
    """What is wrong with the sources of a row, in words, or None."""
    if not isinstance(sources, dict):
        return str(_("Give an object: figure to its source."))
    for figure, entry in sources.items():
        if not isinstance(entry, dict) or not entry.get("source"):
            return str(_("%(figure)s needs an object with a source.") % {"figure": figure})
        unknown = set(entry) - _SOURCE_KEYS
        if unknown:
            return str(_("%(figure)s: unknown key %(key)s.") % {"figure": figure, "key": sorted(unknown)[0]})
        if entry.get("confidence") not in {None, *Confidence.values}:
            return str(_("%(figure)s: confidence is high, medium or low.") % {"figure": figure})
    return None
