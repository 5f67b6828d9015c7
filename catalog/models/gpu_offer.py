"""Hourly offers of machines."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models.gpu import Gpu
from catalog.models.pricing import NO_CURRENCY, validate_currency
from catalog.models.row import CatalogRow
from estimator.engine.cost.currencies import is_currency


class Market(models.TextChoices):
    """How a machine is bought."""

    ON_DEMAND = "on-demand", _("On demand")
    SPOT = "spot", _("Spot: may be taken away")
    RESERVED = "reserved", _("Reserved for a term")
    SERVERLESS = "serverless", _("Serverless: billed while busy")
    ANY = "any", _("Statistic over a market")


class GpuOffer(CatalogRow):
    """What a provider asked for a machine on a day; a new day is a new row, an old one is never overwritten."""

    provider = models.CharField(_("provider"), max_length=60, help_text=_("Who rents it out."))
    gpu = models.ForeignKey(
        Gpu, verbose_name=_("GPU"), null=True, blank=True, on_delete=models.PROTECT, related_name="offers",
        help_text=_("The accelerator; empty when the catalog does not have it."),
    )  # fmt: skip
    gpu_as_listed = models.CharField(_("GPU as listed"), max_length=100, help_text=_("The provider's words."))
    gpu_count = models.PositiveSmallIntegerField(
        _("GPUs"), validators=[MinValueValidator(1)], help_text=_("Accelerators in one instance.")
    )
    market = models.CharField(_("market"), max_length=20, choices=Market.choices, help_text=_("How it is bought."))
    price_per_hour = models.DecimalField(
        _("price per hour"),
        max_digits=18,
        decimal_places=6,
        validators=[MinValueValidator(0)],
        help_text=_("Of the whole instance."),
    )
    price_per_gpu_hour = models.DecimalField(
        _("price per GPU hour"),
        max_digits=18,
        decimal_places=6,
        validators=[MinValueValidator(0)],
        help_text=_("Of one accelerator."),
    )
    currency = models.CharField(
        _("currency"), max_length=3, default="USD", validators=[validate_currency], help_text=_("ISO 4217.")
    )
    region = models.CharField(_("region"), max_length=60, blank=True, help_text=_("Where the machine stands."))
    machine = models.CharField(
        _("instance type"), max_length=100, blank=True, help_text=_("The provider's name of it.")
    )
    date_seen = models.DateField(
        _("date seen"), null=True, blank=True, help_text=_("When the price was seen; empty: the source does not say.")
    )
    source = models.CharField(_("source"), max_length=300, help_text=_("Where it was seen."))

    FROZEN = ("provider", "gpu_as_listed", "gpu_count", "market", "price_per_hour", "price_per_gpu_hour", "date_seen")

    class Meta(CatalogRow.Meta):
        verbose_name = _("GPU offer")
        verbose_name_plural = _("GPU offers")

    def clean(self) -> None:
        """Refuse an overwritten offer and prices that do not fit the count."""
        errors: dict[str, Any] = {}
        if self.price_per_hour is not None and self.gpu_count and self.price_per_gpu_hour is not None:
            gap = abs(self.price_per_hour - self.price_per_gpu_hour * self.gpu_count)
            if gap > self.price_per_hour / 50:
                errors["price_per_gpu_hour"] = _("Times the number of GPUs this is not the price of the instance.")
        if self.currency and not is_currency(self.currency):
            errors["currency"] = NO_CURRENCY
        stored = type(self).objects.filter(pk=self.pk).values(*self.FROZEN).first() if self.pk else None
        for name in self.FROZEN:
            if stored and stored[name] != getattr(self, name):
                errors[name] = _("An offer is never overwritten: enter the new one as a new row.")
        if errors:
            raise ValidationError(errors)
