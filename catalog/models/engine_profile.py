"""Engine profiles: how a version of a serving engine uses memory and time, with the evidence of each constant."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.choices import EngineKind
from catalog.engine_constants import ConstantsError, engine_profile
from catalog.models.row import CatalogRow, validate_slug


class EngineProfile(CatalogRow):
    """Constants of one engine version; a calibration makes a new row that names its parent."""

    engine = models.CharField(_("engine"), max_length=40, help_text=_("vllm, sglang, tensorrt-llm, llama.cpp, ideal."))
    engine_version = models.CharField(
        _("engine version"), max_length=40, blank=True, help_text=_("Version or range the constants were fitted on.")
    )
    kind = models.CharField(
        _("kind"), max_length=20, choices=EngineKind.choices, help_text=_("Which equations the constants feed.")
    )
    aliases = models.JSONField(
        _("aliases"),
        default=list,
        blank=True,
        help_text=_('Other names that mean this profile, for example ["vllm"] on the newest version.'),
    )
    memory_policy = models.JSONField(
        _("memory policy"), default=dict, blank=True, help_text=_("Utilization, overheads, activation model; bytes.")
    )
    speed_constants = models.JSONField(
        _("speed constants"), default=dict, blank=True, help_text=_("Calibrated constants; seconds and fractions.")
    )
    evidence = models.TextField(_("evidence"), help_text=_("What the constants were fitted on, when, and how well."))
    source_date = models.DateField(_("source date"), null=True, blank=True, help_text=_("Date of the fit."))
    parent = models.ForeignKey(
        "self",
        verbose_name=_("parent"),
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="children",
        help_text=_("The profile this one was calibrated from."),
    )
    fit_error = models.JSONField(
        _("fit error"), null=True, blank=True, help_text=_("Errors of the fit by metric, as fractions.")
    )

    class Meta(CatalogRow.Meta):
        verbose_name = _("engine profile")
        verbose_name_plural = _("engine profiles")

    # Aliases of all profiles after a load that moves some: what they are held against in place of the database.
    aliases_to_be: Mapping[str, list[str]] | None = None

    def clean(self) -> None:
        """Refuse constants the engine would refuse, and names that two profiles would answer to."""
        errors: dict[str, Any] = {}
        for field in ("memory_policy", "speed_constants"):
            if not isinstance(getattr(self, field), dict):
                errors[field] = _("Give an object: constant to value.")
        if not errors:
            try:
                engine_profile(
                    {
                        "slug": self.slug,
                        "engine": self.engine,
                        "engine_version": self.engine_version,
                        "kind": self.kind,
                        "memory_policy": self.memory_policy,
                        "speed_constants": self.speed_constants,
                        "evidence": self.evidence,
                    }
                )
            except ConstantsError as refused:
                errors[refused.field] = str(refused)
        alias_problem = self._alias_problem()
        if alias_problem:
            errors["aliases"] = alias_problem
        if errors:
            raise ValidationError(errors)

    def _alias_problem(self) -> str | None:
        """What is wrong with the aliases, in words, or None."""
        if not isinstance(self.aliases, list) or not all(isinstance(alias, str) for alias in self.aliases):
            return str(_("Give a list of names."))
        others = self.aliases_to_be
        if others is None:
            others = dict(EngineProfile.objects.exclude(pk=self.pk).values_list("slug", "aliases"))
        taken = {name: slug for slug, aliases in others.items() if slug != self.slug for name in (slug, *aliases)}
        for alias in self.aliases:
            try:
                validate_slug(alias)
            except ValidationError as refused:
                return f"{alias}: {refused.messages[0]}"
            if alias in taken:
                return str(_("%(alias)s already means %(slug)s.") % {"alias": alias, "slug": taken[alias]})
        if self.slug in taken:
            return str(_("%(alias)s already means %(slug)s.") % {"alias": self.slug, "slug": taken[self.slug]})
        return None
