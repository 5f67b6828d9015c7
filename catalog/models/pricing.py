"""Prices as dated rows: one row per meter, never edited in place."""

import datetime
import re
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from catalog.models.row import CatalogRecord, CatalogRow
from estimator.engine.cost.currencies import is_currency
from estimator.engine.cost.meters import UNITS
from estimator.engine.cost.price_list import EVERY_DAY, DailyWindow, PriceRow
from estimator.engine.errors import EngineError

# Fields of the engine's row under the names they have here.
_FIELDS = {"zone": "daily_zone", "weekdays": "weekday_mask"}
validate_currency = RegexValidator(r"^[A-Z]{3}$", _("Use the three letters of ISO 4217, for example USD."))
NO_CURRENCY = _("There is no such currency in ISO 4217.")


STANDARD = "standard"
# Code of the error of a price that would hold on a day of another.
OVERLAP = "overlap"
CHANNEL_NAME = RegexValidator(r"^[a-z][a-z0-9_-]{0,19}$", _("Use small letters, digits, - and _, such as ultrafast."))


class TierOperator(models.TextChoices):
    """When a request belongs to a tier."""

    ABOVE = "gt", _("above the threshold (>)")
    AT_LEAST = "ge", _("at or above the threshold (≥)")


class TierScope(models.TextChoices):
    """What a tier's price applies to."""

    REQUEST = "request", _("every token of the request")


class Basis(models.TextChoices):
    """How a figure is known."""

    DOCUMENTED = "documented", _("Documented: the provider states it")
    OBSERVED = "observed", _("Observed: first seen on this date")
    MANUAL = "manual", _("Manual: entered by a person")
    ASSUMPTION = "assumption", _("Assumption: nobody documents it")


class Provider(CatalogRow):
    """Who sells tokens, and how their usage counts are meant."""

    website = models.URLField(_("website"), blank=True, help_text=_("The provider's pages."))
    pricing_url = models.URLField(_("price page"), max_length=500, blank=True, help_text=_("Where prices are stated."))
    usage_convention = models.CharField(
        _("usage convention"),
        max_length=10,
        choices=[("inclusive", _("Inclusive")), ("disjoint", _("Disjoint"))],
        default="inclusive",
        help_text=_("Whether the provider's own input count holds the cached tokens (inclusive) or not (disjoint)."),
    )
    source = models.CharField(_("source"), max_length=300, blank=True, help_text=_("Where this was read."))
    source_date = models.DateField(_("source date"), null=True, blank=True, help_text=_("When it was read."))

    class Meta(CatalogRow.Meta):
        verbose_name = _("provider")
        verbose_name_plural = _("providers")


class PriceList(CatalogRow):
    """One reading of a price source: its version, when it was read and the hash of what was read."""

    source = models.CharField(_("source"), max_length=100, help_text=_("Package, file or page."))
    source_version = models.CharField(_("version"), max_length=60, blank=True, help_text=_("As the source states it."))
    retrieved_on = models.DateField(
        _("retrieved on"),
        null=True,
        blank=True,
        help_text=_("Day its content is of: published or read; empty: not known, the notes say why."),
    )
    sha256 = models.CharField(_("sha256"), max_length=64, blank=True, help_text=_("Hash of the content read."))
    licence = models.CharField(_("licence"), max_length=60, blank=True, help_text=_("Licence of the source."))
    url = models.URLField(_("address"), max_length=500, blank=True, help_text=_("Where the source lives."))

    class Meta(CatalogRow.Meta):
        verbose_name = _("price list")
        verbose_name_plural = _("price lists")


class ApiPrice(CatalogRecord):
    """Price of one meter, in force for effective_from ≤ day < effective_to (days begin at 00:00 UTC).

    Amounts are never edited: a change closes the row and opens another; a typing error is voided and kept.
    """

    # What identifies the price and its worth; none of it changes after the row is written.
    FROZEN = (
        "provider_id", "model", "slug", "channel", "endpoint_class", "meter", "unit", "amount", "currency",
        "tier_above_tokens", "tier_operator", "tier_scope", "daily_start", "daily_end", "daily_zone", "weekday_mask",
        "effective_from",
    )  # fmt: skip
    price_list = models.ForeignKey(
        PriceList, verbose_name=_("price list"), null=True, blank=True, on_delete=models.PROTECT, related_name="prices",
        help_text=_("The reading this row came from; empty for rows entered by hand."),
    )  # fmt: skip
    provider = models.ForeignKey(
        Provider, verbose_name=_("provider"), on_delete=models.PROTECT, related_name="prices", help_text=_("Seller.")
    )
    model = models.CharField(_("model"), max_length=160, help_text=_("The provider's own name of the model."))
    slug = models.CharField(
        _("slug"),
        max_length=200,
        blank=True,
        editable=False,
        help_text=_("Provider and model as one name, used in requests."),
    )
    channel = models.CharField(
        _("channel"),
        max_length=20,
        default=STANDARD,
        validators=[CHANNEL_NAME],
        help_text=_("How it is sent, as its seller calls it: standard, batch, flex, priority, fast, ultrafast …"),
    )
    endpoint_class = models.CharField(
        _("endpoint class"), max_length=60, blank=True, default="", help_text=_("Region or class; empty: everywhere.")
    )
    meter = models.CharField(
        _("meter"), max_length=60, help_text=_("input, output, cache_read, cache_write_5m, cache_storage_hour …")
    )
    unit = models.CharField(
        _("unit"), max_length=20, choices=[(name, name) for name in UNITS], help_text=_("What the amount pays for.")
    )
    amount = models.DecimalField(
        _("amount"),
        max_digits=30,
        decimal_places=12,
        validators=[MinValueValidator(0)],
        help_text=_("Price of one unit; 0 means free of charge. An unknown price has no row."),
    )
    currency = models.CharField(
        _("currency"), max_length=3, default="USD", validators=[validate_currency], help_text=_("ISO 4217.")
    )
    tier_above_tokens = models.PositiveIntegerField(
        _("tier threshold"), default=0, help_text=_("Total prompt tokens, cached ones included; 0: the base tier.")
    )
    tier_operator = models.CharField(
        _("tier operator"),
        max_length=2,
        choices=TierOperator.choices,
        default=TierOperator.ABOVE,
        help_text=_("Whether a prompt of exactly the threshold belongs to the tier."),
    )
    tier_scope = models.CharField(
        _("tier scope"),
        max_length=10,
        choices=TierScope.choices,
        default=TierScope.REQUEST,
        help_text=_("What is billed at the tier's price."),
    )
    daily_start = models.TimeField(_("from hour"), null=True, blank=True, help_text=_("Start of a daily window."))
    daily_end = models.TimeField(_("to hour"), null=True, blank=True, help_text=_("End of it, not included."))
    daily_zone = models.CharField(
        _("time zone"), max_length=60, blank=True, default="", help_text=_("IANA zone of the window; empty: UTC.")
    )
    weekday_mask = models.PositiveSmallIntegerField(
        _("weekdays"),
        default=EVERY_DAY,
        validators=[MinValueValidator(1), MaxValueValidator(EVERY_DAY)],
        help_text=_("Sum of Monday 1, Tuesday 2, Wednesday 4 … Sunday 64; 127 is every day, 31 Monday to Friday."),
    )
    window_key = models.CharField(_("window"), max_length=100, blank=True, default="", editable=False)
    effective_from = models.DateField(
        _("effective from"), null=True, blank=True, help_text=_("First day, 00:00 UTC; empty: as far back as known.")
    )
    effective_to = models.DateField(
        _("effective to"),
        null=True,
        blank=True,
        help_text=_("First day it no longer holds; empty: until further notice."),
    )
    basis = models.CharField(
        _("basis"), max_length=12, choices=Basis.choices, default=Basis.MANUAL, help_text=_("How it is known.")
    )
    source = models.CharField(_("source"), max_length=300, blank=True, help_text=_("Where the price was read."))
    source_url = models.URLField(_("source address"), max_length=500, blank=True, help_text=_("Link to it."))
    date_seen = models.DateField(_("date seen"), null=True, blank=True, help_text=_("When it was last read there."))
    dispute = models.CharField(
        _("dispute"), max_length=300, blank=True, help_text=_("What another source says, where sources disagree.")
    )
    disputes = models.JSONField(
        _("stated otherwise"), default=list, blank=True, editable=False,
        help_text=_("What public lists state otherwise: list, amount, unit, day it was read, source."),
    )  # fmt: skip
    voided_at = models.DateTimeField(_("voided at"), null=True, blank=True, help_text=_("Never used since then."))
    void_reason = models.CharField(_("void reason"), max_length=300, blank=True, help_text=_("Why it was wrong."))

    class Meta:
        verbose_name = _("API price")
        verbose_name_plural = _("API prices")
        ordering = ["slug", "channel", "endpoint_class", "meter", "tier_above_tokens", "window_key", "effective_from"]
        # The overlap of periods is refused by an exclusion constraint on PostgreSQL (migration) and by the service.
        indexes = [
            models.Index(fields=["slug", "effective_from"], name="apiprice_slug_from"),
            models.Index(fields=["model", "effective_from"], name="apiprice_model_from"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(amount__gte=0), name="apiprice_amount_not_negative"),
            models.CheckConstraint(
                condition=Q(effective_to__isnull=True)
                | Q(effective_from__isnull=True)
                | Q(effective_to__gt=F("effective_from")),
                name="apiprice_period_forward",
            ),
            models.CheckConstraint(
                condition=Q(daily_start__isnull=True, daily_end__isnull=True)
                | Q(daily_start__isnull=False, daily_end__isnull=False),
                name="apiprice_window_whole",
            ),
        ]

    def __str__(self) -> str:
        tier = f" {self.get_tier_operator_display()} {self.tier_above_tokens}" if self.tier_above_tokens else ""
        return f"{self.slug} {self.channel} {self.meter}{tier}: {self.amount.normalize():f} {self.currency}/{self.unit}"

    def save(self, *args: Any, **options: Any) -> None:
        """Save, refusing any change of what was priced; see `catalog.services.prices` for how prices change."""
        self.fill_derived()
        if self.pk and not self._state.adding:
            self._refuse_edit()
        super().save(*args, **options)

    def fill_derived(self) -> None:
        """Fill the fields that follow from others; bulk writes call it themselves."""
        self.slug = price_slug(self.provider.slug, self.model)
        self.daily_zone = (self.daily_zone or "UTC") if self.daily_start else ""
        self.window_key = window_key(self.daily_start, self.daily_end, self.daily_zone, self.weekday_mask)

    def changed_frozen_fields(self) -> list[str]:
        """Fields that may not change and differ from the stored row."""
        stored = type(self).objects.filter(pk=self.pk).values(*self.FROZEN).first()
        return [] if stored is None else [name for name in self.FROZEN if stored[name] != getattr(self, name)]

    def _refuse_edit(self) -> None:
        changed = self.changed_frozen_fields()
        if changed:
            text = _("A price is not edited in place: close it, open another, or void it.")
            raise ValidationError({name.removesuffix("_id"): text for name in changed})

    @property
    def all_disputes(self) -> str:
        """What other sources state otherwise, in words: the row's own word, then the public lists."""
        listed = [f"{each['list']} has {each['amount']} {self.currency}/{each['unit']}" for each in self.disputes]
        return "; ".join(filter(None, [self.dispute, *listed]))

    @property
    def window(self) -> DailyWindow | None:
        """The daily window, None for all day."""
        if self.daily_start is None or self.daily_end is None:
            return None
        return DailyWindow(
            start=self.daily_start, end=self.daily_end, zone=self.daily_zone or "UTC", weekdays=self.weekday_mask
        )

    def as_engine_row(self) -> PriceRow:
        """The row as the engine bills it.

        Raises:
            InvalidInputError: The row contradicts itself (see the message).
        """
        return PriceRow(
            meter=self.meter,
            unit=self.unit,
            amount=self.amount,
            channel=self.channel,
            endpoint_class=self.endpoint_class,
            tier_above_tokens=self.tier_above_tokens,
            tier_operator=self.tier_operator,
            window=self.window,
            effective_from=self.effective_from,
            effective_to=self.effective_to,
        )

    def clean(self) -> None:
        """Refuse what the engine could not bill, edits in place and overlapping periods, in words."""
        errors = self._faults_of_fields()
        if not errors:
            try:
                self.as_engine_row()
            except EngineError as refused:
                field = _FIELDS.get(refused.field or "", refused.field)
                errors[field if field in self._field_names() else "meter"] = str(refused)
        if not errors and self.provider_id:
            self.fill_derived()
            if self.pk and (changed := self.changed_frozen_fields()):
                errors |= dict.fromkeys(
                    (name.removesuffix("_id") for name in changed),
                    _("A price is not edited in place: close it, open another, or void it."),
                )
            elif clash := self.overlapping():
                text = _("Overlaps with a price in force from %(start)s to %(end)s: %(row)s.") % {
                    "start": clash.effective_from or "—",
                    "end": clash.effective_to or "—",
                    "row": clash,
                }
                errors["effective_from"] = ValidationError(text, code=OVERLAP)
        if errors:
            editable = self._field_names()
            raise ValidationError(
                errors if all(name in editable for name in errors) else [str(text) for text in errors.values()]
            )

    def _faults_of_fields(self) -> dict[str, Any]:
        errors: dict[str, Any] = {}
        if self.effective_from and self.effective_to and self.effective_to <= self.effective_from:
            errors["effective_to"] = _("The period ends before it begins.")
        if bool(self.daily_start) != bool(self.daily_end):
            errors["daily_end"] = _("A daily window needs both hours, or none.")
        if self.voided_at and not self.void_reason:
            errors["void_reason"] = _("Say why the price is voided.")
        if self.currency and not is_currency(self.currency):
            errors["currency"] = NO_CURRENCY
        return errors

    def _field_names(self) -> set[str]:
        return {field.name for field in self._meta.concrete_fields if field.editable}

    def overlapping(self) -> "ApiPrice | None":
        """Another price of the same thing in a common part of its period and its hours, None when there is none."""
        if self.voided_at:
            return None
        others = ApiPrice.objects.filter(
            provider_id=self.provider_id,
            model=self.model,
            channel=self.channel,
            endpoint_class=self.endpoint_class,
            meter=self.meter,
            tier_above_tokens=self.tier_above_tokens,
            voided_at__isnull=True,
        ).exclude(pk=self.pk)
        if self.effective_to:
            others = others.filter(Q(effective_from__isnull=True) | Q(effective_from__lt=self.effective_to))
        if self.effective_from:
            others = others.filter(Q(effective_to__isnull=True) | Q(effective_to__gt=self.effective_from))
        return next((other for other in others if self._shares_hours(other)), None)

    def _shares_hours(self, other: "ApiPrice") -> bool:
        """Whether two windows meet: the all-day row only meets another all-day row, windows go before it."""
        if not self.window_key or not other.window_key:
            return self.window_key == other.window_key
        mine, theirs = self.window, other.window
        return bool(mine and theirs and mine.meets(theirs))


def window_key(start: datetime.time | None, end: datetime.time | None, zone: str, weekdays: int) -> str:
    """A daily window as one string, so that a price with it differs from one without; empty for all day."""
    return "" if start is None or end is None else f"{start:%H:%M:%S}-{end:%H:%M:%S} {zone or 'UTC'} {weekdays}"


def price_slug(provider: str, model: str) -> str:
    """One name for a provider's model, fit for a path: `anthropic-claude-opus-5-5`, `groq-openai-gpt-oss-120b`."""
    text = re.sub(r"[^a-z0-9._-]+", "-", f"{provider}-{model}".lower())
    return re.sub(r"[._-]{2,}", "-", text).strip("._-")
