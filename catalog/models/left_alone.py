"""What the last load or import of each source did not touch: for people to compare, no fact of the catalog."""

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _


class LeftAlone(models.Model):
    """A row that a source states otherwise, or no longer, and why it stays as it is."""

    source = models.CharField(_("source"), max_length=100, help_text=_("Which file or package was read."))
    kind = models.CharField(_("kind"), max_length=40, help_text=_("Which table the row is in: gpu, apiprice."))
    slug = models.CharField(_("slug"), max_length=255, help_text=_("The row's slug; of a price that of its model."))
    name = models.CharField(_("name"), max_length=400, help_text=_("What it is, in words."))
    reason = models.TextField(_("reason"), help_text=_("Why it was left alone."))
    noted_at = models.DateTimeField(_("noted at"), auto_now_add=True)

    class Meta:
        verbose_name = _("row left alone")
        verbose_name_plural = _("rows left alone")
        ordering = ["kind", "name", "pk"]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.reason}"

    @property
    def url(self) -> str:
        """Where the row is looked at."""
        if self.kind == "apiprice":
            return reverse("admin:catalog_apiprice_desk", args=[self.slug])
        return reverse(f"admin:catalog_{self.kind}_changelist") + f"?q={self.slug}"
