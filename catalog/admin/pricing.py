"""Sellers, prices, cache policies and offers in the admin: prices as timelines, closed and voided by actions."""

import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldBooleanWidget

from catalog.admin.base import CatalogAdmin, CatalogForm
from catalog.admin.price_desk import PriceDesksView, PriceDeskView
from catalog.admin.price_lines import timeline
from catalog.admin.resources import (
    ApiModelResource,
    ApiPriceResource,
    CachePolicyResource,
    GpuOfferResource,
    PriceListResource,
    PriceRuleResource,
    ProviderResource,
)
from catalog.models import ApiModel, ApiPrice, CachePolicy, GpuOffer, PriceList, PriceRule, Provider
from catalog.price_desk import STALE_DAYS
from catalog.price_words import amount_words
from catalog.selectors import UNDISPUTED, in_force_on
from catalog.services.people import save_by_person
from catalog.services.prices import check_period, close_price, last_end, next_start, void_price


@admin.register(Provider)
class ProviderAdmin(CatalogAdmin):
    """Sellers of tokens."""

    resource_classes = [ProviderResource]
    list_display = ("named", "usage_convention", "pricing_url", "source_date")
    list_filter = ("usage_convention",)
    search_fields = ("slug", "name", "notes")
    readonly_fields = ("kept_by", "created_at", "updated_at")


@admin.register(PriceList)
class PriceListAdmin(CatalogAdmin):
    """Readings of price sources."""

    resource_classes = [PriceListResource]
    list_display = ("named", "source", "source_version", "retrieved_on", "licence")
    search_fields = ("slug", "name", "source")
    readonly_fields = ("kept_by", "created_at", "updated_at")


class ApiPriceForm(CatalogForm):
    """A price's form: its end moves by the rules of the service."""

    leave_gap = forms.BooleanField(
        label=_("Leave the gap"),
        required=False,
        widget=UnfoldBooleanWidget(),
        help_text=_("Only where it asks: the days from the new end to the next price are to have no price."),
    )

    def check_rules(self, candidate: ApiPrice) -> None:
        """As for every row, and the rules of ends."""
        super().check_rules(candidate)
        check_period(candidate, leave_gap=bool(self.cleaned_data.get("leave_gap")))


class InForce(admin.SimpleListFilter):
    """Prices of today, of later, of the past, and voided ones."""

    title = _("in force")
    parameter_name = "in_force"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """The choices."""
        return [("now", _("today")), ("future", _("from a later day")), ("past", _("no longer")), ("void", _("voided"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """The rows of the choice."""
        today = timezone.now().date()
        choice = self.value()
        if choice == "void":
            return queryset.filter(voided_at__isnull=False)
        if choice == "now":
            return queryset.filter(in_force_on(today), voided_at__isnull=True)
        if choice == "future":
            return queryset.filter(effective_from__gt=today, voided_at__isnull=True)
        return queryset.filter(effective_to__lte=today, voided_at__isnull=True) if choice == "past" else queryset


class ReadOn(admin.SimpleListFilter):
    """Prices that nobody read for long, and those of which nobody knows when they were read."""

    title = _("last read")
    parameter_name = "read"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """The choices."""
        return [("old", _("more than %(n)d days ago") % {"n": STALE_DAYS}), ("never", _("on no known day"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """The rows of the choice."""
        if self.value() == "never":
            return queryset.filter(date_seen__isnull=True)
        before = timezone.now().date() - datetime.timedelta(days=STALE_DAYS)
        return queryset.filter(date_seen__lt=before) if self.value() == "old" else queryset


class Disputed(admin.SimpleListFilter):
    """Prices of which a public list states another amount."""

    title = _("stated otherwise elsewhere")
    parameter_name = "disputed"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """The choices."""
        return [("yes", _("yes")), ("no", _("no"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """The rows of the choice."""
        if self.value() in ("yes", "no"):
            return queryset.filter(UNDISPUTED if self.value() == "no" else ~UNDISPUTED)
        return queryset


@admin.register(ApiPrice)
class ApiPriceAdmin(CatalogAdmin):
    """Dated prices; a change closes a row and opens another, a typing error is voided."""

    resource_classes = [ApiPriceResource]
    form = ApiPriceForm
    list_display = ("slug", "meter", "price", "channel", "tier", "period", "seen", "state", "on_desk")
    list_filter = (InForce, Disputed, ReadOn, "channel", "basis", "provider", "edited_by_person")
    search_fields = ("slug", "model", "meter", "source")
    list_select_related = ("provider",)
    actions = ("edit_together", "end_today", "void")
    autocomplete_fields = ("provider",)
    readonly_fields = (
        "timeline_of_meter", "kept_by", "elsewhere", "voided_at", "void_reason", "price_list", "created_at",
        "updated_at",
    )  # fmt: skip
    fieldsets = (
        (None, {"fields": ("provider", "model", ("meter", "unit"), ("amount", "currency"), "change_reason")}),
        (_("When and how"), {"fields": (("effective_from", "effective_to", "leave_gap"), ("channel", "endpoint_class"),
            ("tier_above_tokens", "tier_operator"), ("daily_start", "daily_end", "daily_zone", "weekday_mask"))}),
        (_("Timeline of the meter"), {"fields": ("timeline_of_meter",)}),
        (_("Source"), {"fields": ("basis", "source", "source_url", "date_seen", ("dispute", "elsewhere"),
            "price_list", "kept_by", ("voided_at", "void_reason"), "created_at", "updated_at")}),
    )  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """What was priced never changes once it is stored."""
        fixed = tuple(super().get_readonly_fields(request, obj))
        if obj is None:
            return fixed
        frozen = tuple(name.removesuffix("_id") for name in ApiPrice.FROZEN if name not in ("slug", "tier_scope"))
        return (*fixed, *frozen)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save by the service's rules, and say which days are left without a price."""
        cleaned = form.cleaned_data
        save_by_person(
            obj,
            user=request.user,
            reason=cleaned.get("change_reason", ""),
            leave_gap=bool(cleaned.get("leave_gap")),
        )
        for start, end in ((last_end(obj), obj.effective_from), (obj.effective_to, next_start(obj))):
            if start is not None and end is not None and start < end:
                text = gettext("From %(start)s to %(end)s no price of this meter holds.") % {"start": start, "end": end}
                self.message_user(request, text, messages.WARNING)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """The usual addresses and the desk."""
        desks = self.admin_site.admin_view(PriceDesksView.as_view(model_admin=self))
        one = self.admin_site.admin_view(PriceDeskView.as_view(model_admin=self))
        return [
            path("desk/", desks, name="catalog_apiprice_desks"),
            path("desk/<str:slug>/", one, name="catalog_apiprice_desk"),
            *super().get_urls(),
        ]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Prices are voided, not deleted: reports may have used them."""
        return False

    @admin.display(description=_("price"), ordering="amount")
    def price(self, row: ApiPrice) -> str:
        """Amount, currency and unit."""
        return amount_words(row)

    @admin.display(description=_("read on"), ordering="date_seen")
    def seen(self, row: ApiPrice) -> str:
        """When it was last read at its source."""
        return row.date_seen.isoformat() if row.date_seen else "—"

    @admin.display(description=_("desk"))
    def on_desk(self, row: ApiPrice) -> SafeString:
        """A way to all prices of the model."""
        address = reverse("admin:catalog_apiprice_desk", args=[row.slug])
        return format_html('<a class="underline" href="{}">{}</a>', address, _("Price desk"))

    @admin.display(description=_("tier"), ordering="tier_above_tokens")
    def tier(self, row: ApiPrice) -> str:
        """The tier in words."""
        if not row.tier_above_tokens:
            return "—"
        return f"{'≥' if row.tier_operator == 'ge' else '>'} {row.tier_above_tokens:,}"

    @admin.display(description=_("period"), ordering="effective_from")
    def period(self, row: ApiPrice) -> str:
        """From and to, and the hours of the day."""
        start, end = row.effective_from or "…", row.effective_to or "…"
        return f"{start} → {end}" + (f" ({row.window_key})" if row.window_key else "")

    @admin.display(description=_("state"))
    def state(self, row: ApiPrice) -> str:
        """Whether the row bills requests of today."""
        today = timezone.now().date()
        if row.voided_at:
            return gettext("voided")
        if row.effective_from and row.effective_from > today:
            return gettext("future")
        return gettext("ended") if row.effective_to and row.effective_to <= today else gettext("in force")

    @admin.display(description=_("stated otherwise by public lists"))
    def elsewhere(self, row: ApiPrice) -> SafeString | str:
        """What public lists state otherwise, each with its day and source."""
        lines = [(each["list"], each["amount"], each["unit"], each["read_on"], each["source"]) for each in row.disputes]
        return format_html_join("", "<div>{}: <b>{}</b>/{} ({}, {})</div>", lines) if lines else "—"

    @admin.display(description=_("timeline"))
    def timeline_of_meter(self, row: ApiPrice) -> SafeString | str:
        """Every price this meter ever had, oldest first, this row marked."""
        if row.pk is None:
            return "—"
        lines = [(line.mark, line.period, line.price, line.note) for line in timeline(row)]
        items = format_html_join("", "<li>{} {}: <b>{}</b> {}</li>", lines)
        return format_html("<ol>{}</ol>", items)

    @admin.action(description=_("End today"), permissions=["change"])
    def end_today(self, request: HttpRequest, queryset: Any) -> None:
        """Close the rows: today is the first day they no longer hold."""
        for row in queryset:
            try:
                close_price(row, on=timezone.now().date(), user=request.user, reason=gettext("Ended in the admin"))
            except ValidationError as refused:
                self.message_user(request, f"{row}: {' '.join(refused.messages)}", messages.ERROR)

    @admin.action(description=_("Void: it was never right"), permissions=["change"])
    def void(self, request: HttpRequest, queryset: Any) -> None:
        """Void the rows: never used again, kept for reports."""
        for row in queryset:
            try:
                void_price(
                    row,
                    user=request.user,
                    reason=gettext("Voided in the admin by %(user)s") % {"user": request.user},
                )
            except ValidationError as refused:
                self.message_user(request, f"{row}: {' '.join(refused.messages)}", messages.ERROR)


@admin.register(ApiModel)
class ApiModelAdmin(CatalogAdmin):
    """Sellers' models: the names they answer to, their window and their life."""

    resource_classes = [ApiModelResource]
    list_display = (
        "named",
        "provider",
        "context_window_tokens",
        "max_input_tokens",
        "deprecated",
        "deprecated_on",
        "retired_on",
    )
    list_filter = ("deprecated", "provider")
    search_fields = ("slug", "name", "model", "comments")
    list_select_related = ("provider",)
    autocomplete_fields = ("provider",)
    readonly_fields = ("kept_by", "created_at", "updated_at")


@admin.register(CachePolicy)
class CachePolicyAdmin(CatalogAdmin):
    """Rules of prompt caches."""

    resource_classes = [CachePolicyResource]
    list_display = (
        "named",
        "provider",
        "mode",
        "min_tokens",
        "max_tokens",
        "granularity_tokens",
        "ttls_s",
        "ttl_basis",
        "best_effort",
    )
    list_filter = ("mode", "ttl_basis", "best_effort", "provider")
    search_fields = ("slug", "name", "notes", "source")
    readonly_fields = ("kept_by", "created_at", "updated_at")


@admin.register(PriceRule)
class PriceRuleAdmin(CatalogAdmin):
    """What price pages say of many prices at once."""

    resource_classes = [PriceRuleResource]
    list_display = ("named", "provider", "kind", "meter", "amount", "unit", "multiplier", "places", "channels")
    list_filter = ("kind", "provider", "basis")
    search_fields = ("slug", "name", "notes", "source", "meter")
    readonly_fields = ("kept_by", "created_at", "updated_at")


@admin.register(GpuOffer)
class GpuOfferAdmin(CatalogAdmin):
    """Hourly offers; a new day is a new row."""

    resource_classes = [GpuOfferResource]
    list_display = ("named", "provider", "market", "gpu_count", "price_per_gpu_hour", "currency", "region", "date_seen")
    list_filter = ("market", "provider", "date_seen")
    search_fields = ("slug", "name", "provider", "gpu_as_listed", "region")
    readonly_fields = ("kept_by", "created_at", "updated_at")
    autocomplete_fields = ("gpu",)
