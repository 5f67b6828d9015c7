"""What the lists of prices, policies and offers can be asked for."""

import datetime
from typing import ClassVar, Literal

from django.db.models import Q
from django.utils import timezone
from pydantic import Field

from catalog.api.filters import CatalogQuery
from catalog.price_facts import price_names
from catalog.price_families import current_families
from catalog.selectors import UNDISPUTED, in_force_on


class ProviderQuery(CatalogQuery):
    """Filters of the sellers."""

    search_fields: ClassVar[tuple[str, ...]] = ("slug", "name", "notes")
    ordering: Literal["slug", "-slug", "name", "-name"] = Field(
        default="slug", description="Field to sort by; a leading - turns the order round."
    )


class ApiPriceQuery(CatalogQuery):
    """Filters of the prices: of a model, of a day."""

    search_fields: ClassVar[tuple[str, ...]] = ("slug", "model", "meter")
    ordering: Literal["slug", "-slug", "effective_from", "-effective_from", "amount", "-amount"] = Field(
        default="slug", description="Field to sort by; a leading - turns the order round."
    )
    model: str | None = Field(
        default=None, max_length=200, description="Slug, provider/model, or the provider's own name of the model."
    )
    family: str | None = Field(
        default=None,
        max_length=200,
        description="Any name of a model: prices of all who sell it, whatever they call it.",
    )
    on: datetime.date | None = Field(default=None, description="Only prices in force on this day; all days otherwise.")
    provider: str | None = Field(default=None, max_length=100, description="Seller.")
    channel: str | None = Field(
        default=None,
        max_length=20,
        description="How requests are sent, as the seller calls it: standard, batch, flex …",
    )
    meter: str | None = Field(default=None, max_length=60, description="Meter.")
    disputed: bool | None = Field(
        default=None,
        description="Only prices of which a public list states another amount (true), or of which none does.",
    )

    def conditions(self) -> Q:
        """As one condition; voided prices are shown in the history only."""
        condition = Q(voided_at__isnull=True)
        if self.model is not None:
            slug = price_names().get(self.model)
            condition &= Q(model=self.model) if slug is None else Q(slug=slug)
        if self.family is not None:
            family = current_families().find(self.family)
            condition &= Q(slug__in=[seller.slug for seller in family.sellers] if family is not None else [])
        if self.on is not None:
            condition &= in_force_on(self.on)
        if self.provider is not None:
            condition &= Q(provider__slug=self.provider)
        if self.channel is not None:
            condition &= Q(channel=self.channel)
        if self.meter is not None:
            condition &= Q(meter=self.meter)
        if self.disputed is not None:
            condition &= ~UNDISPUTED if self.disputed else UNDISPUTED
        return condition


class ApiModelQuery(CatalogQuery):
    """Filters of sellers' models: by seller, life and window."""

    search_fields: ClassVar[tuple[str, ...]] = ("slug", "name", "model", "comments")
    ordering: Literal[
        "slug", "-slug", "name", "-name", "context_window_tokens", "-context_window_tokens", "retired_on",
        "-retired_on",
    ] = Field(default="slug", description="Field to sort by; a leading - turns the order round.")  # fmt: skip
    provider: str | None = Field(default=None, max_length=100, description="Seller.")
    deprecated: bool | None = Field(default=None, description="Whether its seller advises against it.")
    retired: bool | None = Field(default=None, description="Whether no request is taken today any more.")
    retires_until: datetime.date | None = Field(default=None, description="Retired on this day or before.")
    min_context_tokens: int | None = Field(default=None, ge=1, description="A window of at least so many tokens.")

    def conditions(self) -> Q:
        """As one condition."""
        condition = Q()
        if self.provider is not None:
            condition &= Q(provider__slug=self.provider)
        if self.deprecated is not None:
            condition &= Q(deprecated=self.deprecated)
        if self.retired is not None:
            gone = Q(retired_on__isnull=False, retired_on__lte=timezone.now().date())
            condition &= gone if self.retired else ~gone
        if self.retires_until is not None:
            condition &= Q(retired_on__lte=self.retires_until)
        if self.min_context_tokens is not None:
            condition &= Q(context_window_tokens__gte=self.min_context_tokens)
        return condition


class CachePolicyQuery(CatalogQuery):
    """Filters of the cache policies."""

    search_fields: ClassVar[tuple[str, ...]] = ("slug", "name", "notes")
    ordering: Literal["slug", "-slug", "name", "-name"] = Field(
        default="slug", description="Field to sort by; a leading - turns the order round."
    )
    provider: str | None = Field(default=None, max_length=100, description="Whose cache.")

    def conditions(self) -> Q:
        """As one condition."""
        return Q() if self.provider is None else Q(provider__slug=self.provider)


class GpuOfferQuery(CatalogQuery):
    """Filters of the hourly offers."""

    search_fields: ClassVar[tuple[str, ...]] = ("slug", "name", "provider", "gpu_as_listed", "region", "notes")
    ordering: Literal[
        "slug", "-slug", "price_per_gpu_hour", "-price_per_gpu_hour", "date_seen", "-date_seen"
    ] = Field(default="slug", description="Field to sort by; a leading - turns the order round.")  # fmt: skip
    provider: str | None = Field(default=None, max_length=60, description="Who rents it out.")
    gpu: str | None = Field(default=None, max_length=100, description="Slug of the accelerator.")
    market: Literal["on-demand", "spot", "reserved", "serverless", "any"] | None = Field(
        default=None, description="How it is bought."
    )

    def conditions(self) -> Q:
        """As one condition."""
        condition = Q()
        for field, value in (("provider", self.provider), ("gpu__slug", self.gpu), ("market", self.market)):
            if value is not None:
                condition &= Q(**{field: value})
        return condition
