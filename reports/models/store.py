"""Whose store of report files this database goes with."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class StoreMark(models.Model):
    """The one row: what the marker in the store must say. A folder or bucket that says otherwise is another store."""

    identity = models.CharField(max_length=32)
    marked_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = _("mark of the store")
        verbose_name_plural = _("marks of the store")

    def __str__(self) -> str:
        return self.identity
