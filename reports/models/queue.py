"""Rows beside the queue: whose turn it is, and for which estimators there are workers."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class OwnerTurn(models.Model):
    """When an owner's work last had its turn, and how many rows were claimed for them since the row was made."""

    owner = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    last_turn = models.PositiveBigIntegerField(default=0, db_default=0)
    served_rows = models.PositiveBigIntegerField(default=0, db_default=0)

    class Meta:
        verbose_name = _("turn of an owner")
        verbose_name_plural = _("turns of owners")

    def __str__(self) -> str:
        return f"{self.owner_id}: {self.last_turn}"


class WorkerEstimator(models.Model):
    """When a worker of this version of the estimator was last alive."""

    estimator_version = models.CharField(max_length=40, primary_key=True)
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = _("estimator of the workers")
        verbose_name_plural = _("estimators of the workers")

    def __str__(self) -> str:
        return self.estimator_version
