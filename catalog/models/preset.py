"""Presets: use cases with typical lengths and targets, to start from and to edit."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.choices import SloPercentile
from catalog.models.row import CatalogRow


def _target(name: Any, help_text: Any) -> "models.FloatField[float | None, float | None]":
    return models.FloatField(name, null=True, blank=True, validators=[MinValueValidator(0.0001)], help_text=help_text)


class Preset(CatalogRow):
    """A use case: token lengths of one request, and what its users expect of speed."""

    description = models.TextField(_("description"), blank=True, help_text=_("Who does what."))
    input_tokens = models.PositiveIntegerField(
        _("input tokens"), validators=[MinValueValidator(1)], help_text=_("Mean prompt of one request, in tokens.")
    )
    shared_prefix_tokens = models.PositiveIntegerField(
        _("shared prefix"), default=0, help_text=_("Part of the input that requests share, in tokens; cacheable.")
    )
    output_tokens = models.PositiveIntegerField(
        _("output tokens"), validators=[MinValueValidator(1)], help_text=_("Mean answer of one request, in tokens.")
    )
    concurrency = models.PositiveIntegerField(
        _("concurrency"), default=1, validators=[MinValueValidator(1)], help_text=_("Requests in flight to plan for.")
    )
    slo_ttft_s = _target(_("TTFT target"), _("Time to first token, in seconds; empty: none."))
    slo_tpot_s = _target(_("TPOT target"), _("Mean time per output token after the first, in seconds; empty: none."))
    slo_e2e_s = _target(_("end-to-end target"), _("Time of the whole request, in seconds; empty: none."))
    slo_percentile = models.PositiveSmallIntegerField(
        _("percentile"),
        choices=SloPercentile.choices,
        default=SloPercentile.P95,
        help_text=_("Share of requests that have to meet the targets, in percent."),
    )
    prefix_cache_hit_rate = models.FloatField(
        _("prefix cache hit rate"),
        default=0.0,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
        help_text=_("Share of input tokens found in a prefix cache, 0 to 1."),
    )
    source = models.CharField(_("source"), max_length=500, blank=True, help_text=_("Where the lengths come from."))
    source_date = models.DateField(_("source date"), null=True, blank=True, help_text=_("When it was read there."))

    class Meta(CatalogRow.Meta):
        verbose_name = _("preset")
        verbose_name_plural = _("presets")

    def clean(self) -> None:
        """Refuse a prefix longer than the input it is part of."""
        if self.shared_prefix_tokens and self.input_tokens and self.shared_prefix_tokens > self.input_tokens:
            raise ValidationError(
                {"shared_prefix_tokens": _("The shared prefix is part of the input: at most as long.")}
            )
