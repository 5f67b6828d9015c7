"""The counter that every catalog write raises."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class CatalogRevision(models.Model):
    """One row: the number of the catalog's state, and a token that no other state ever had."""

    ONLY_PK = 1

    number = models.PositiveBigIntegerField(_("number"), default=0, help_text=_("Catalog writes so far."))
    token = models.CharField(_("token"), max_length=16, help_text=_("Random; names this state in caches."))
    changed_at = models.DateTimeField(_("changed at"), auto_now=True)

    class Meta:
        verbose_name = _("catalog revision")
        verbose_name_plural = _("catalog revisions")

    def __str__(self) -> str:
        return str(self.number)
