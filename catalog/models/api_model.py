"""A seller's models: the names they answer to, and their life."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.model_names import match_fault
from catalog.models.pricing import Provider
from catalog.models.row import CatalogRow


class ApiModel(CatalogRow):
    """One model of one seller, under the slug of its prices."""

    provider = models.ForeignKey(
        Provider,
        verbose_name=_("provider"),
        on_delete=models.PROTECT,
        related_name="api_models",
        help_text=_("Seller."),
    )
    model = models.CharField(_("model"), max_length=160, help_text=_("The provider's own name of the model."))
    match = models.JSONField(
        _("names"),
        default=dict,
        blank=True,
        help_text=_('Rule of the names it answers to: {"or": [{"equals": "gpt-4o"}, {"starts_with": "ft:gpt-4o:"}]}.'),
    )
    context_window_tokens = models.PositiveIntegerField(
        _("context window"), null=True, blank=True, help_text=_("Longest prompt, in tokens; empty: not known.")
    )
    max_input_tokens = models.PositiveIntegerField(
        _("most input"), null=True, blank=True, help_text=_("Longest prompt that is taken, tokens; empty: the window.")
    )
    deprecated = models.BooleanField(_("deprecated"), default=False, help_text=_("Its seller advises against it."))
    deprecated_on = models.DateField(_("deprecated on"), null=True, blank=True, help_text=_("Empty: not known."))
    retired_on = models.DateField(
        _("retired on"), null=True, blank=True, help_text=_("First day on which no request is taken; empty: not known.")
    )
    comments = models.TextField(_("comments"), blank=True, help_text=_("What the source says of its prices."))
    source = models.CharField(_("source"), max_length=300, blank=True, help_text=_("Where this was read."))
    source_date = models.DateField(_("source date"), null=True, blank=True, help_text=_("When it was read."))

    class Meta(CatalogRow.Meta):
        verbose_name = _("API model")
        verbose_name_plural = _("API models")

    def clean(self) -> None:
        """Refuse rules of names that cannot be read, and a life that ends before it is deprecated."""
        errors: dict[str, Any] = {}
        if fault := match_fault(self.match):
            errors["match"] = fault
        if self.deprecated_on and self.retired_on and self.retired_on < self.deprecated_on:
            errors["retired_on"] = _("A model is not retired before it is deprecated.")
        if errors:
            raise ValidationError(errors)
