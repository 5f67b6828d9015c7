"""What a seller's page says of many prices at once: places that cost more, fees of tools, alike meters, exclusions."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models.pricing import Basis, Provider, validate_currency
from catalog.models.row import CatalogRow
from estimator.engine.cost.meters import UNITS, meter
from estimator.engine.errors import EngineError


class RuleKind(models.TextChoices):
    """What a rule does."""

    PLACE = "place", _("Place: a region or class of endpoint multiplies the prices of tokens")
    FEE = "fee", _("Fee: a price of many models' tools, containers or storage")
    ALIKE = "alike", _("Alike: a meter is billed at another one's price")
    LONG_CONTEXT = "long_context", _("Long context: a channel leaves it out, it is billed as standard")


class PriceRule(CatalogRow):
    """One sentence of a price page that holds for the models whose names match, from one day to another."""

    provider = models.ForeignKey(
        Provider, verbose_name=_("provider"), on_delete=models.PROTECT, related_name="price_rules",
        help_text=_("Whose page."),
    )  # fmt: skip
    models_matching = models.JSONField(
        _("models"), default=list, help_text=_('Names with * and ?: ["gpt-6*"]; of equal rules the longest match wins.')
    )
    kind = models.CharField(_("kind"), max_length=12, choices=RuleKind.choices, help_text=_("What it does."))
    channels = models.JSONField(_("channels"), default=list, blank=True, help_text=_("Where it holds; empty: all."))
    places = models.JSONField(
        _("places"), default=list, blank=True, help_text=_('Endpoint classes with * and ?: ["data_residency=*"].')
    )
    multiplier = models.DecimalField(
        _("multiplier"), max_digits=9, decimal_places=6, null=True, blank=True, validators=[MinValueValidator(0)],
        help_text=_("Of a place: times the price of every token meter."),
    )  # fmt: skip
    meter = models.CharField(_("meter"), max_length=60, blank=True, help_text=_("Of a fee or of alike meters."))
    billed_as = models.CharField(_("billed as"), max_length=60, blank=True, help_text=_("The meter whose price bills."))
    amount = models.DecimalField(
        _("amount"), max_digits=30, decimal_places=12, null=True, blank=True, validators=[MinValueValidator(0)],
        help_text=_("Of a fee: price of one unit."),
    )  # fmt: skip
    unit = models.CharField(
        _("unit"), max_length=20, blank=True, choices=[(name, name) for name in UNITS], help_text=_("Of a fee.")
    )
    currency = models.CharField(
        _("currency"), max_length=3, default="USD", validators=[validate_currency], help_text=_("ISO 4217.")
    )
    search_context = models.CharField(
        _("search context"), max_length=10, blank=True, choices=[(size, size) for size in ("low", "medium", "high")],
        help_text=_("Size that a fee is for; empty: all."),
    )  # fmt: skip
    free_quantity = models.DecimalField(
        _("free quantity"), max_digits=30, decimal_places=12, null=True, blank=True, validators=[MinValueValidator(0)],
        help_text=_("Base units of the meter that cost nothing in each period."),
    )  # fmt: skip
    free_per = models.CharField(
        _("free per"), max_length=5, blank=True, choices=[("month", _("month")), ("day", _("day"))],
        help_text=_("Period of the free quantity."),
    )  # fmt: skip
    effective_from = models.DateField(_("effective from"), null=True, blank=True, help_text=_("First day, 00:00 UTC."))
    effective_to = models.DateField(_("effective to"), null=True, blank=True, help_text=_("First day without it."))
    basis = models.CharField(
        _("basis"), max_length=12, choices=Basis.choices, default=Basis.DOCUMENTED, help_text=_("How it is known.")
    )
    source = models.CharField(_("source"), max_length=300, help_text=_("Where it was read."))
    source_url = models.URLField(_("source address"), max_length=500, blank=True, help_text=_("Link to it."))
    source_date = models.DateField(_("source date"), null=True, blank=True, help_text=_("When it was read."))

    class Meta(CatalogRow.Meta):
        verbose_name = _("price rule")
        verbose_name_plural = _("price rules")

    def clean(self) -> None:
        """Refuse rules that say too little to be followed, in words."""
        errors: dict[str, Any] = {}
        for name in ("models_matching", "channels", "places"):
            value = getattr(self, name)
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                errors[name] = _("Give a list of names.")
        needed = {
            RuleKind.PLACE: ("places", "multiplier"),
            RuleKind.FEE: ("meter", "amount", "unit"),
            RuleKind.ALIKE: ("meter", "billed_as"),
            RuleKind.LONG_CONTEXT: ("channels",),
        }
        for name in needed.get(RuleKind(self.kind), ()) if self.kind in RuleKind.values else ():
            if getattr(self, name) in (None, "", []):
                errors.setdefault(name, _("A rule of this kind needs it."))
        for name in ("meter", "billed_as"):
            if getattr(self, name) and not _is_meter(getattr(self, name)):
                errors[name] = _("There is no such meter.")
        if not errors and self.unit and UNITS[self.unit][0] != meter(self.meter).base_unit:
            errors["unit"] = _("This meter is not counted in that unit.")
        if bool(self.free_per) != (self.free_quantity is not None):
            errors["free_per"] = _("A free quantity and its period belong together.")
        if errors:
            raise ValidationError(errors)


def _is_meter(name: str) -> bool:
    try:
        meter(name)
    except EngineError:
        return False
    return True
