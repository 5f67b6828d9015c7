"""Prices, policies and offers in the API; money is an exact decimal string."""

from typing import Any

from django.db import models
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from catalog.api.serializers import PROVENANCE, RowSerializer
from catalog.models import ApiModel, ApiPrice, CachePolicy, Gpu, GpuOffer, PriceList, Provider


def _plain(amount: Any) -> str:
    return f"{amount.normalize():f}"


class ExactDecimalField(serializers.DecimalField):
    """A decimal shown without trailing zeros, read as a string."""

    def to_representation(self, value: Any) -> str:
        """The plain digits."""
        return _plain(value)


# Not `format: time`: that is a time with an offset (RFC 3339), and these are hours in the row's own zone.
@extend_schema_field(
    {
        "type": "string",
        "pattern": r"^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?$",
        "example": "16:30:00",
    }
)
class HourField(serializers.TimeField):
    """A time of day without a zone of its own."""


class ProviderSerializer(RowSerializer):
    """A seller of tokens."""

    class Meta:
        model = Provider
        fields = (
            "slug", "name", "website", "pricing_url", "usage_convention", "source", "source_date", *PROVENANCE,
            "change_reason",
        )  # fmt: skip
        read_only_fields = ("edited_by_person", "edits", "updated_at")


class DisputeSerializer(serializers.Serializer[dict[str, str]]):
    """What a public list states otherwise."""

    list = serializers.CharField(help_text="Name and version of the list.")
    amount = serializers.CharField(help_text="Price of one unit there, exact, in the price's currency.")
    unit = serializers.CharField(help_text="What that amount pays for.")
    read_on = serializers.DateField(help_text="Day the list is of.")
    source = serializers.CharField(  # type: ignore[assignment]  # declared fields leave the class, as `list` does
        help_text="Where the list says that it has the price from."
    )


class ApiPriceSerializer(RowSerializer):
    """The price of one meter; amounts never change in place."""

    provider: "serializers.SlugRelatedField[Provider]" = serializers.SlugRelatedField(
        slug_field="slug", queryset=Provider.objects.all(), help_text="Slug of the seller."
    )
    price_list: "serializers.SlugRelatedField[PriceList]" = serializers.SlugRelatedField(
        slug_field="slug",
        read_only=True,
        allow_null=True,
        help_text="The reading the row came from; null for rows entered by hand.",
    )
    amount = ExactDecimalField(max_digits=30, decimal_places=12, min_value=0, help_text="Price of one unit, exact.")
    disputes = DisputeSerializer(
        many=True, read_only=True, help_text="What public lists state otherwise; compared every night."
    )
    serializer_field_mapping = RowSerializer.serializer_field_mapping | {models.TimeField: HourField}

    class Meta:
        model = ApiPrice
        fields = (
            "id", "slug", "provider", "model", "channel", "endpoint_class", "meter", "unit", "amount", "currency",
            "tier_above_tokens", "tier_operator", "tier_scope", "daily_start", "daily_end", "daily_zone",
            "weekday_mask", "effective_from", "effective_to", "basis", "source", "source_url", "date_seen", "dispute",
            "disputes", "price_list", "voided_at", "void_reason", "edited_by_person", "edits", "updated_at",
            "change_reason",
        )  # fmt: skip
        read_only_fields = ("id", "slug", "voided_at", "void_reason", "edited_by_person", "edits", "updated_at")


class ApiModelSerializer(RowSerializer):
    """A seller's model: the names it answers to, its window and its life."""

    provider: "serializers.SlugRelatedField[Provider]" = serializers.SlugRelatedField(
        slug_field="slug", read_only=True, help_text="Slug of the seller."
    )
    channels = serializers.SerializerMethodField(
        help_text="Channels with prices in force today, the standard one first; empty where it has no price."
    )

    class Meta:
        model = ApiModel
        fields = (
            "slug", "name", "provider", "model", "match", "channels", "context_window_tokens", "max_input_tokens",
            "deprecated", "deprecated_on", "retired_on", "comments", "source", "source_date", *PROVENANCE,
        )  # fmt: skip
        read_only_fields = fields

    def get_channels(self, row: ApiModel) -> list[str]:
        """From the view, which reads them once for all rows."""
        found: list[str] = self.context["channels"].get(row.slug, [])
        return found


class CachePolicySerializer(RowSerializer):
    """Rules of a prompt cache."""

    provider: "serializers.SlugRelatedField[Provider]" = serializers.SlugRelatedField(
        slug_field="slug", queryset=Provider.objects.all(), help_text="Slug of the seller."
    )

    class Meta:
        model = CachePolicy
        fields = (
            "slug", "name", "provider", "models_matching", "mode", "is_default", "min_tokens", "max_tokens",
            "granularity_tokens", "ttls_s", "ttl_basis", "ttl_settable", "writes_free", "refresh_on_hit",
            "max_breakpoints", "lookback_blocks", "storage_price_per_mtok_hour", "hit_quality", "best_effort",
            "stacks_with_batch", "scope", "source", "source_url", "source_date", *PROVENANCE, "change_reason",
        )  # fmt: skip
        read_only_fields = ("edited_by_person", "edits", "updated_at")


class GpuOfferSerializer(RowSerializer):
    """An hourly offer of a machine."""

    gpu: "serializers.SlugRelatedField[Gpu]" = serializers.SlugRelatedField(
        slug_field="slug", queryset=Gpu.objects.all(), allow_null=True, required=False,
        help_text="Slug of the accelerator; null when the catalog does not have it.",
    )  # fmt: skip
    price_per_hour = ExactDecimalField(max_digits=18, decimal_places=6, min_value=0, help_text="Of the whole instance.")
    price_per_gpu_hour = ExactDecimalField(
        max_digits=18, decimal_places=6, min_value=0, help_text="Of one accelerator."
    )

    class Meta:
        model = GpuOffer
        fields = (
            "slug", "name", "provider", "gpu", "gpu_as_listed", "gpu_count", "market", "price_per_hour",
            "price_per_gpu_hour", "currency", "region", "machine", "date_seen", "source", *PROVENANCE, "change_reason",
        )  # fmt: skip
        read_only_fields = ("edited_by_person", "edits", "updated_at")
