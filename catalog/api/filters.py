"""What each list can be asked for: every filter is a field of a query model, and one condition on the rows."""

import datetime
from typing import Any, ClassVar, Literal

from django.db.models import F, OrderBy, Q, QuerySet
from pydantic import Field

from catalog.api.query import ListQuery
from catalog.querysets import CatalogQuerySet

Dtype = Literal["fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4", "int4"]


class CatalogQuery(ListQuery):
    """Base of the lists' query models; `ordering` is added by each with the words it knows."""

    search_fields: ClassVar[tuple[str, ...]] = ("slug", "name", "notes")
    ordering: str = "slug"

    def conditions(self) -> Q:
        """The filters that were given, as one condition."""
        return Q()

    def apply(self, rows: CatalogQuerySet[Any]) -> QuerySet[Any]:
        """The rows asked for, in the order asked for; unknown figures come last, ties by slug."""
        return rows.search(self.search, self.search_fields).filter(self.conditions()).order_by(*self._order())

    def _order(self) -> list[OrderBy | str]:
        name = self.ordering.removeprefix("-")
        first = F(name).desc(nulls_last=True) if self.ordering.startswith("-") else F(name).asc(nulls_last=True)
        return [first, "slug"]


class GpuQuery(CatalogQuery):
    """Filters of the accelerators."""

    search_fields: ClassVar[tuple[str, ...]] = ("slug", "name", "vendor", "architecture", "form_factor", "notes")
    ordering: Literal[
        "slug", "-slug", "name", "-name", "vendor", "-vendor", "memory_vendor_bytes", "-memory_vendor_bytes",
        "memory_visible_bytes", "-memory_visible_bytes", "memory_bandwidth_bytes_per_s",
        "-memory_bandwidth_bytes_per_s", "peak_bf16_flops_per_s", "-peak_bf16_flops_per_s", "launch_date",
        "-launch_date", "tdp_w", "-tdp_w",
    ] = Field(default="slug", description="Field to sort by; a leading - turns the order round.")  # fmt: skip
    vendor: Literal["NVIDIA", "AMD", "Intel", "Google", "AWS", "Apple", "other"] | None = Field(
        default=None, description="Maker."
    )
    architecture: str | None = Field(default=None, max_length=40, description="The maker's name: Hopper, CDNA3.")
    compute_capability: str | None = Field(default=None, max_length=20, description="9.0, gfx942.")
    form_factor: str | None = Field(default=None, max_length=20, description="SXM5, PCIe, OAM.")
    link: str | None = Field(default=None, max_length=20, description="nvlink4, pcie5, xgmi.")
    confidence: Literal["high", "medium", "low"] | None = Field(default=None, description="Of the row as a whole.")
    supports: Dtype | None = Field(default=None, description="Only accelerators with a dense rate for this dtype.")
    min_memory_bytes: int | None = Field(default=None, ge=0, description="Vendor memory of at least so many bytes.")
    max_memory_bytes: int | None = Field(default=None, ge=0, description="Vendor memory of at most so many bytes.")
    min_bandwidth_bytes_per_s: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="Memory bandwidth of at least so many bytes per second."
    )
    launched_from: datetime.date | None = Field(default=None, description="Launched on this day or later.")
    launched_until: datetime.date | None = Field(default=None, description="Launched on this day or before.")

    def conditions(self) -> Q:
        """As one condition; texts compare without regard to case."""
        condition = _given(
            vendor=self.vendor,
            architecture__iexact=self.architecture,
            compute_capability__iexact=self.compute_capability,
            form_factor__iexact=self.form_factor,
            link__iexact=self.link,
            confidence=self.confidence,
            memory_vendor_bytes__gte=self.min_memory_bytes,
            memory_vendor_bytes__lte=self.max_memory_bytes,
            memory_bandwidth_bytes_per_s__gte=self.min_bandwidth_bytes_per_s,
            launch_date__gte=self.launched_from,
            launch_date__lte=self.launched_until,
        )
        return condition & Q(**{f"peak_{self.supports}_flops_per_s__isnull": False}) if self.supports else condition


class LanguageModelQuery(CatalogQuery):
    """Filters of the language models."""

    search_fields: ClassVar[tuple[str, ...]] = ("slug", "name", "family", "publisher", "notes")
    ordering: Literal[
        "slug", "-slug", "name", "-name", "family", "-family", "total_parameters", "-total_parameters",
        "active_parameters", "-active_parameters", "context_window_tokens", "-context_window_tokens", "released_on",
        "-released_on",
    ] = Field(default="slug", description="Field to sort by; a leading - turns the order round.")  # fmt: skip
    family: str | None = Field(default=None, max_length=60, description="model_type: llama, qwen3_moe.")
    publisher: str | None = Field(default=None, max_length=100, description="Who released it.")
    min_parameters: int | None = Field(default=None, ge=0, le=10**18, description="At least so many weights.")
    max_parameters: int | None = Field(default=None, ge=0, le=10**18, description="At most so many weights.")
    min_context_tokens: int | None = Field(
        default=None, ge=0, le=10**9, description="Context window of at least so many tokens."
    )
    mixture_of_experts: bool | None = Field(
        default=None, description="true: only models with routed experts; false: only dense ones."
    )

    def conditions(self) -> Q:
        """As one condition; texts compare without regard to case."""
        condition = _given(
            family__iexact=self.family,
            publisher__iexact=self.publisher,
            total_parameters__gte=self.min_parameters,
            total_parameters__lte=self.max_parameters,
            context_window_tokens__gte=self.min_context_tokens,
        )
        if self.mixture_of_experts is not None:
            condition &= Q(experts__gt=0) if self.mixture_of_experts else Q(experts=0)
        return condition


class EngineProfileQuery(CatalogQuery):
    """Filters of the engine profiles."""

    search_fields: ClassVar[tuple[str, ...]] = ("slug", "name", "engine", "engine_version", "evidence", "notes")
    ordering: Literal["slug", "-slug", "name", "-name", "engine", "-engine", "source_date", "-source_date"] = Field(
        default="slug", description="Field to sort by; a leading - turns the order round."
    )
    engine: str | None = Field(default=None, max_length=40, description="vllm, sglang, tensorrt-llm, llama.cpp.")
    kind: Literal["ideal", "serving", "llama_cpp"] | None = Field(default=None, description="Which equations it feeds.")
    parent: str | None = Field(default=None, max_length=100, description="Calibrated from the profile of this slug.")

    def conditions(self) -> Q:
        """As one condition."""
        return _given(engine__iexact=self.engine, kind=self.kind, parent__slug=self.parent)


class PresetQuery(CatalogQuery):
    """The use cases need no filters beyond the search."""

    search_fields: ClassVar[tuple[str, ...]] = ("slug", "name", "description", "notes")
    ordering: Literal["slug", "-slug", "name", "-name", "input_tokens", "-input_tokens"] = Field(
        default="slug", description="Field to sort by; a leading - turns the order round."
    )


def _given(**conditions: Any) -> Q:
    """The conditions whose value was given."""
    return Q(**{name: value for name, value in conditions.items() if value is not None})
