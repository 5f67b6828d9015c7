"""Catalog rows in the API; help texts and units come from the model fields."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.settings import api_settings

from catalog.api.strict_fields import type_faults, whole_numbers
from catalog.models import Checkpoint, EngineProfile, Gpu, LanguageModel, Preset
from catalog.models.gpu import DTYPES

NON_FIELD = api_settings.NON_FIELD_ERRORS_KEY
PROVENANCE = ("notes", "edited_by_person", "edits", "updated_at")


class StrictSerializer(serializers.ModelSerializer[Any]):
    """Base: unknown fields are refused by name, read-only ones may come back as they were sent."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """As the framework's, of objects only."""
        if not isinstance(data, Mapping) and data is not serializers.empty:
            raise serializers.ValidationError({NON_FIELD: [_detail(_("Must be an object."), "invalid_type")]})
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> Any:
        """As the framework's, but strict: every fault of names, types and values in one answer."""
        fields = {name: field for name, field in self.fields.items() if not field.read_only}
        given = whole_numbers(data, fields)
        faults = {name: self._not_writable(name, value) for name, value in given.items() if name not in fields}
        faults |= type_faults(given, fields)
        faults = {name: found for name, found in faults.items() if found}
        try:
            values = super().to_internal_value({name: given[name] for name in given if name not in faults})
        except serializers.ValidationError as error:
            others: Any = error.detail
            # A field of the wrong type was given, if not rightly.
            raise serializers.ValidationError({**others, **faults}) from None
        if faults:
            raise serializers.ValidationError(faults)
        return values

    def _not_writable(self, name: str, value: Any) -> list[serializers.ErrorDetail]:
        """The fault of a field that nobody writes; one that comes back as it was read is none."""
        if name not in self.fields:
            return [_detail(_("There is no such field."), "unknown_field")]
        if self.instance is not None and self.to_representation(self.instance).get(name) == value:
            return []
        return [_detail(_("This field is set by the service and cannot be written."), "not_supported")]


def _detail(text: Any, code: str) -> serializers.ErrorDetail:
    return serializers.ErrorDetail(str(text), code=code)


class RowSerializer(StrictSerializer):
    """Base of the rows of the catalog."""

    change_reason = serializers.CharField(
        write_only=True, required=False, max_length=500, help_text=_("Why; kept in the history of the row.")
    )

    def validate_slug(self, slug: str) -> str:
        """The slug; that of a row that is there does not change."""
        if self.instance is not None and slug != getattr(self.instance, "slug", slug):
            text = _("The slug of a row does not change: requests and saved reports name it so.")
            raise serializers.ValidationError(text, code="not_supported")
        return slug


@extend_schema_field({"type": "object", "additionalProperties": {"type": "number"}, "example": {"bf16": 989.4e12}})
class PeaksField(serializers.Field[Any, Any, Any, Any]):
    """The dense peaks of an accelerator as one object by dtype; a missing dtype is not supported."""

    def __init__(self, **options: Any) -> None:
        super().__init__(source="*", **options)

    def to_representation(self, gpu: Gpu) -> dict[str, float]:
        """FLOP/s by dtype."""
        return gpu.peak_flops_per_s

    def to_internal_value(self, data: Any) -> dict[str, float | None]:
        """The columns of the model."""
        if not isinstance(data, Mapping):
            raise serializers.ValidationError(_("Give an object: dtype to FLOP/s."), code="invalid_type")
        unknown = sorted(set(map(str, data)) - set(DTYPES))
        if unknown:
            allowed = ", ".join(DTYPES)
            text = _("There is no such format; known are %(allowed)s.") % {"allowed": allowed}
            raise serializers.ValidationError({name: [_detail(text, "unknown_field")] for name in unknown})
        number = serializers.FloatField(min_value=1e9, allow_null=True)
        if faults := type_faults(data, dict.fromkeys(DTYPES, number)):
            raise serializers.ValidationError(faults)
        return {f"peak_{dtype}_flops_per_s": self._peak(number, dtype, data.get(dtype)) for dtype in DTYPES}

    def _peak(self, number: Any, dtype: str, value: Any) -> float | None:
        try:
            peak: float | None = number.run_validation(value)
            return peak
        except serializers.ValidationError as error:
            raise serializers.ValidationError({dtype: error.detail}) from None


class GpuSerializer(RowSerializer):
    """An accelerator."""

    peak_flops_per_s = PeaksField(help_text=_("Dense peaks in FLOP/s by dtype; a missing dtype is not supported."))
    kernel_family = serializers.SerializerMethodField(
        help_text=_("Family of measured kernels: its own, the one used, and the basis (calibrated, nearest_family).")
    )

    class Meta:
        model = Gpu
        fields = (
            "slug", "name", "vendor", "architecture", "compute_capability", "form_factor", "memory_type",
            "devices_per_unit", "memory_vendor_bytes", "memory_driver_bytes", "memory_visible_bytes",
            "memory_bandwidth_bytes_per_s", "peak_flops_per_s", "vendor_prints_sparse_2x",
            "measured_matmul_bf16_flops_per_s", "measured_matmul_fp8_flops_per_s", "interconnect", "link",
            "link_bytes_per_s_per_direction", "bridge_bytes_per_s_per_direction", "pcie_generation", "scale_up_gpus",
            "tdp_w", "launch_date", "kernel_family", "confidence", "sources", *PROVENANCE, "change_reason",
        )  # fmt: skip
        read_only_fields = ("edited_by_person", "edits", "updated_at")

    @extend_schema_field({"type": "object", "additionalProperties": {"type": ["string", "null"]}})
    def get_kernel_family(self, gpu: Gpu) -> dict[str, str | None]:
        """The family, the family used, and the basis."""
        family = gpu.kernel_family
        return {"own": family.own, "used": family.used, "basis": family.basis}


class CheckpointSerializer(StrictSerializer):
    """Stored weight files of a model in one precision."""

    class Meta:
        model = Checkpoint
        fields = ("precision", "stored_weight_bytes", "source", "source_date")


class LanguageModelListSerializer(RowSerializer):
    """A language model in a list: without its layer groups."""

    class Meta:
        model = LanguageModel
        fields: tuple[str, ...] = (
            "slug", "name", "publisher", "family", "total_parameters", "active_parameters", "experts",
            "published_total_parameters", "published_active_parameters", "context_window_tokens", "released_on",
            "config_sha256", "source", "source_date", *PROVENANCE,
        )  # fmt: skip
        read_only_fields = (
            "slug", "family", "total_parameters", "active_parameters", "experts", "config_sha256",
            "edited_by_person", "edits", "updated_at",
        )  # fmt: skip


class LanguageModelSerializer(LanguageModelListSerializer):
    """A language model with its architecture; that part changes by import only."""

    checkpoints = CheckpointSerializer(
        many=True, required=False, help_text=_("Known stored sizes; a list given replaces the one stored.")
    )
    architecture = serializers.JSONField(
        read_only=True, help_text=_("Layer groups and parameter counts as the config reader wrote them.")
    )

    class Meta(LanguageModelListSerializer.Meta):
        fields = (*LanguageModelListSerializer.Meta.fields, "checkpoints", "architecture", "change_reason")


@extend_schema_field({"type": "object", "additionalProperties": {"type": "number"}})
class FitErrorField(serializers.JSONField):
    """Errors by metric; typed, so that the schema of "or null" is not met twice by null."""


class EngineProfileSerializer(RowSerializer):
    """An engine profile."""

    fit_error = FitErrorField(
        required=False, allow_null=True, help_text=_("Errors of the fit by metric, as fractions.")
    )
    # The stubs take every attribute of this name for the parent serializer.
    parent: Any = serializers.SlugRelatedField(
        slug_field="slug",
        queryset=EngineProfile.objects.all(),
        required=False,
        allow_null=True,
        help_text=_("Slug of the profile this one was calibrated from."),
    )

    class Meta:
        model = EngineProfile
        fields = (
            "slug", "name", "engine", "engine_version", "kind", "aliases", "memory_policy", "speed_constants",
            "evidence", "source_date", "parent", "fit_error", *PROVENANCE, "change_reason",
        )  # fmt: skip
        read_only_fields = ("edited_by_person", "edits", "updated_at")


class PresetSerializer(RowSerializer):
    """A use case."""

    class Meta:
        model = Preset
        fields = (
            "slug", "name", "description", "input_tokens", "shared_prefix_tokens", "output_tokens", "concurrency",
            "slo_ttft_s", "slo_tpot_s", "slo_e2e_s", "slo_percentile", "prefix_cache_hit_rate", "source",
            "source_date", *PROVENANCE, "change_reason",
        )  # fmt: skip
        read_only_fields = ("edited_by_person", "edits", "updated_at")
