"""What every catalog row has: a name that lasts, where it came from, and a history."""

import math
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from simple_history.models import HistoricalRecords

from catalog.querysets import CatalogManager
from catalog.revisions import catalog_write

SLUG_PATTERN = r"[a-z0-9]+(?:[._-][a-z0-9]+)*"
validate_slug = RegexValidator(
    rf"^{SLUG_PATTERN}$",
    _("Use lower-case letters, digits and single dots, hyphens or underscores between them, for example vllm-0.19."),
)


def _unholdable(value: Any) -> Any:
    """What keeps a value out of JSON answers or PostgreSQL, in words, or None."""
    if isinstance(value, float) and not math.isfinite(value):
        return _("Must be a finite number.")
    if isinstance(value, str) and "\x00" in value:
        return _("NUL characters cannot be stored.")
    if isinstance(value, dict):
        return next(filter(None, (_unholdable(part) for pair in value.items() for part in pair)), None)
    if isinstance(value, list | tuple):
        return next(filter(None, map(_unholdable, value)), None)
    return None


class CatalogRecord(models.Model):
    """Provenance of a row: who keeps it, and what was loaded into it from which file."""

    edited_by_person = models.BooleanField(
        _("edited by a person"),
        default=False,
        editable=False,
        help_text=_("Rows edited by a person are never changed by a loader or importer."),
    )
    edits = models.JSONField(
        _("edits"),
        default=dict,
        blank=True,
        editable=False,
        help_text=_('By field: {"tdp_w": {"by", "date", "reason", "source"}}; "*" for a row that a person made.'),
    )
    loaded_from = models.CharField(_("loaded from"), max_length=100, blank=True, editable=False)
    loaded_version = models.CharField(_("version loaded"), max_length=40, blank=True, editable=False)
    loaded_sha256 = models.CharField(
        _("sha256 of the values loaded"), max_length=64, blank=True, editable=False, help_text=_("Canonical JSON.")
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    objects = CatalogManager()
    history = HistoricalRecords(inherit=True, history_change_reason_field=models.TextField(null=True))

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        """Save row, history and revision in one transaction."""
        with catalog_write(only_if_touched=True):
            super().save(*args, **options)

    def clean_fields(self, exclude: Any = None) -> None:
        """As Django's, and refuse what no answer can hold: infinities, NaN, and NUL inside JSON."""
        errors: dict[str, Any] = {}
        try:
            super().clean_fields(exclude=exclude)
        except ValidationError as refused:
            errors = refused.update_error_dict({})
        for field in self._meta.concrete_fields:
            if field.name not in errors and isinstance(field, models.FloatField | models.JSONField):
                problem = _unholdable(getattr(self, field.attname))
                if problem:
                    errors[field.name] = problem
        if errors:
            raise ValidationError(errors)


class CatalogRow(CatalogRecord):
    """A row with a slug, by which requests and stored reports name it."""

    slug = models.CharField(
        _("slug"),
        max_length=100,
        unique=True,
        validators=[validate_slug],
        help_text=_("The name used in requests; does not change once used."),
    )
    name = models.CharField(_("name"), max_length=200, help_text=_("The name people know it by."))
    notes = models.TextField(_("notes"), blank=True, help_text=_("Corrections, conflicts between sources, caveats."))

    class Meta:
        abstract = True
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name or self.slug

    def save(self, *args: Any, **options: Any) -> None:
        """Save, keeping the slug free of stray spaces from spreadsheets and forms."""
        self.slug = self.slug.strip()
        super().save(*args, **options)
