"""What a person took out of the catalog: no loader brings it back."""

from django.db import models
from django.utils.translation import gettext as _text
from django.utils.translation import gettext_lazy as _


class Taken(models.TextChoices):
    """How a person took something out."""

    DELETED = "deleted", _("deleted")
    RENAMED = "renamed", _("renamed")
    VOIDED = "voided", _("voided")
    ENDED = "ended", _("ended")


class Withdrawal(models.Model):
    """A person's word that a row, or a price for a period, is not to be there; loaders leave it alone and name it.

    Deleting the withdrawal gives the row back to the loaders: the next load brings it again.
    """

    kind = models.CharField(_("kind"), max_length=40, help_text=_("Which table the row was in: gpu, apiprice."))
    key = models.TextField(_("key"), help_text=_("The row's slug; of a price: seller, model and meter, as JSON."))
    taken = models.CharField(_("what was done"), max_length=10, choices=Taken.choices, help_text=_("By the person."))
    period_from = models.DateField(
        _("from"), null=True, blank=True, help_text=_("Prices: first day without it; empty: as far back as known.")
    )
    period_to = models.DateField(
        _("to"), null=True, blank=True, help_text=_("Prices: first day it may hold again; empty: for good.")
    )
    by = models.CharField(_("by"), max_length=150, blank=True, help_text=_("Who; empty where it is not known."))
    reason = models.TextField(_("reason"), blank=True, help_text=_("Why."))
    at = models.DateTimeField(_("at"), auto_now_add=True)

    class Meta:
        verbose_name = _("withdrawal")
        verbose_name_plural = _("withdrawals")
        ordering = ["-at", "-pk"]
        indexes = [models.Index(fields=["kind"], name="withdrawal_kind")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}: {self.words}"

    @property
    def words(self) -> str:
        """What was done, by whom, when and why, as one phrase."""
        phrase = str(self.get_taken_display())
        if self.by:
            phrase = _text("%(done)s by %(who)s") % {"done": phrase, "who": self.by}
        else:
            phrase = _text("%(done)s by a person") % {"done": phrase}
        if self.at:
            phrase += f", {self.at.date().isoformat()}"
        return f"{phrase}: {self.reason}" if self.reason else phrase
