"""Language models: the architecture read from a config.json, and the checkpoints known by their stored bytes."""

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models.row import CatalogRecord, CatalogRow


class LanguageModel(CatalogRow):
    """One model; `architecture` is what the engine reads, `config` what it was read from."""

    family = models.CharField(_("family"), max_length=60, help_text=_("model_type of the config: llama, qwen3_moe."))
    publisher = models.CharField(_("publisher"), max_length=100, blank=True, help_text=_("Who released it."))
    architecture = models.JSONField(
        _("architecture"),
        editable=False,
        help_text=_("Layer groups and parameter counts as read by the config reader; written by the import only."),
    )
    config = models.JSONField(
        _("config"), default=dict, editable=False, help_text=_("The keys of config.json that were read.")
    )
    config_sha256 = models.CharField(
        _("sha256 of the config"), max_length=64, blank=True, editable=False, help_text=_("Of its canonical JSON.")
    )
    total_parameters = models.PositiveBigIntegerField(
        _("parameters"), editable=False, help_text=_("All weights, exact count from the architecture.")
    )
    active_parameters = models.PositiveBigIntegerField(
        _("active parameters"), editable=False, help_text=_("Weights one token passes through, exact count.")
    )
    experts = models.PositiveIntegerField(
        _("experts"), default=0, editable=False, help_text=_("Routed experts of a layer; 0 for a dense model.")
    )
    published_total_parameters = models.PositiveBigIntegerField(
        _("published parameters"), null=True, blank=True, help_text=_("The publisher's own count, for comparison.")
    )
    published_active_parameters = models.PositiveBigIntegerField(
        _("published active parameters"), null=True, blank=True, help_text=_("The publisher's own count.")
    )
    context_window_tokens = models.PositiveIntegerField(
        _("context window"), null=True, blank=True, help_text=_("Longest input and output together, in tokens.")
    )
    released_on = models.DateField(_("released on"), null=True, blank=True, help_text=_("Date of the release."))
    source = models.CharField(_("source"), max_length=500, help_text=_("Where the config came from."))
    source_date = models.DateField(_("source date"), null=True, blank=True, help_text=_("When it was read there."))

    class Meta(CatalogRow.Meta):
        verbose_name = _("language model")
        verbose_name_plural = _("language models")

    def clean(self) -> None:
        """Refuse a window that no prompt fits into."""
        if self.context_window_tokens == 0:
            raise ValidationError({"context_window_tokens": _("Leave an unknown figure empty; 0 is none.")})


class Checkpoint(CatalogRecord):
    """Stored weight files of a model in one precision; their size beats the formula (packed checkpoints mislead)."""

    model = models.ForeignKey(LanguageModel, on_delete=models.CASCADE, related_name="checkpoints")
    precision = models.CharField(_("precision"), max_length=40, help_text=_("bf16, fp8, int4, mxfp4, q4_k_m."))
    stored_weight_bytes = models.PositiveBigIntegerField(
        _("stored weight bytes"), help_text=_("Sum of the weight files, in bytes.")
    )
    source = models.CharField(_("source"), max_length=500, help_text=_("Where the size was read."))
    source_date = models.DateField(_("source date"), null=True, blank=True, help_text=_("When it was read there."))

    class Meta:
        verbose_name = _("checkpoint")
        verbose_name_plural = _("checkpoints")
        ordering = ["model", "precision", "stored_weight_bytes"]
        constraints = [
            models.UniqueConstraint(fields=["model", "precision", "source"], name="one_checkpoint_per_source")
        ]

    def __str__(self) -> str:
        return f"{self.model_id} {self.precision}"

    def clean(self) -> None:
        """Refuse a size that cannot hold the weights of the model."""
        total = self.model.total_parameters if self.model_id else None
        if total and not total / 10 <= self.stored_weight_bytes <= total * 5:
            raise ValidationError(
                {"stored_weight_bytes": _("Not between 0.8 and 40 bits per parameter; give the sum in bytes.")}
            )
