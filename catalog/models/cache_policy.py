"""Rules of providers' prompt caches."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models.pricing import Basis, Provider
from catalog.models.row import CatalogRow


class CacheMode(models.TextChoices):
    """Who decides what is cached, and what a write costs."""

    EXPLICIT = "explicit", _("Explicit marks, writes billed")
    IMPLICIT_BILLED = "implicit_writes_billed", _("Automatic, writes billed")
    AUTOMATIC = "automatic_free", _("Automatic, writes free of surcharge")
    STORED = "explicit_stored", _("Explicit cache object, storage billed by the hour")


class CachePolicy(CatalogRow):
    """Rules of a provider's prompt cache for the models whose names match."""

    provider = models.ForeignKey(
        Provider, verbose_name=_("provider"), on_delete=models.PROTECT, related_name="cache_policies",
        help_text=_("Whose cache."),
    )  # fmt: skip
    models_matching = models.JSONField(
        _("models"), default=list, help_text=_('Names with * and ?: ["claude-opus-5*"]; the longest match wins.')
    )
    mode = models.CharField(_("mode"), max_length=30, choices=CacheMode.choices, help_text=_("How it is used."))
    is_default = models.BooleanField(
        _("default"), default=True, help_text=_("Used when a request names no policy; off for a second mode.")
    )
    min_tokens = models.PositiveIntegerField(_("minimum"), default=0, help_text=_("Shortest prefix cached, in tokens."))
    max_tokens = models.PositiveIntegerField(
        _("maximum"), null=True, blank=True, help_text=_("Longest prefix cached, in tokens; empty: no limit is stated.")
    )
    granularity_tokens = models.PositiveIntegerField(
        _("step"), default=1, validators=[MinValueValidator(1)], help_text=_("Cached lengths are multiples, in tokens.")
    )
    ttls_s = models.JSONField(_("times to live"), default=list, blank=True, help_text=_("On offer, in seconds."))
    ttl_basis = models.CharField(
        _("basis of the times"),
        max_length=12,
        choices=Basis.choices,
        default=Basis.DOCUMENTED,
        help_text=_("Documented, or assumed where the provider promises nothing."),
    )
    ttl_settable = models.BooleanField(_("any time"), default=False, help_text=_("Any time to live can be asked for."))
    writes_free = models.BooleanField(
        _("writes free"),
        default=False,
        help_text=_("Explicit writes cost what input costs; modes without billed writes need no tick."),
    )
    refresh_on_hit = models.BooleanField(
        _("refreshed on hit"), default=True, help_text=_("A hit starts the life anew.")
    )
    max_breakpoints = models.PositiveSmallIntegerField(
        _("breakpoints"), null=True, blank=True, help_text=_("Marks per request; empty: no marks.")
    )
    lookback_blocks = models.PositiveSmallIntegerField(
        _("look-back"), null=True, blank=True, help_text=_("Content blocks searched before a mark.")
    )
    storage_price_per_mtok_hour = models.DecimalField(
        _("storage price"), max_digits=18, decimal_places=9, null=True, blank=True,
        help_text=_("For a million tokens for an hour; empty: the meter cache_storage_hour of the price list."),
    )  # fmt: skip
    hit_quality = models.FloatField(
        _("hit quality"),
        default=1.0,
        validators=[MinValueValidator(0.01), MaxValueValidator(1.0)],
        help_text=_("Share of live entries really found, 0 to 1."),
    )
    best_effort = models.BooleanField(
        _("best effort"), default=False, help_text=_("The provider promises no hits: savings are upper bounds.")
    )
    stacks_with_batch = models.BooleanField(_("also in batch"), default=True, help_text=_("Batch requests hit too."))
    scope = models.CharField(_("scope"), max_length=100, blank=True, help_text=_("Who shares entries: workspace …"))
    source = models.CharField(_("source"), max_length=300, help_text=_("Where the rules were read."))
    source_url = models.URLField(_("source address"), max_length=500, blank=True, help_text=_("Link to it."))
    source_date = models.DateField(_("source date"), null=True, blank=True, help_text=_("When they were read."))

    class Meta(CatalogRow.Meta):
        verbose_name = _("cache policy")
        verbose_name_plural = _("cache policies")

    def clean(self) -> None:
        """Refuse rules the engine would refuse, in words."""
        errors: dict[str, Any] = {}
        if not isinstance(self.models_matching, list) or not all(
            isinstance(item, str) for item in self.models_matching
        ):
            errors["models_matching"] = _("Give a list of names.")
        if not isinstance(self.ttls_s, list) or not all(
            isinstance(item, int) and not isinstance(item, bool) and item > 0 for item in self.ttls_s
        ):
            errors["ttls_s"] = _("Give a list of whole seconds above 0.")
        if self.max_tokens is not None and self.max_tokens < max(self.min_tokens, 1):
            errors["max_tokens"] = _("The maximum is at least the minimum.")
        if self.storage_price_per_mtok_hour is not None and self.storage_price_per_mtok_hour < 0:
            errors["storage_price_per_mtok_hour"] = _("A price is not negative.")
        if errors:
            raise ValidationError(errors)
