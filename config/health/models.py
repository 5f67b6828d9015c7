"""Heartbeats of the workers."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class WorkerHeartbeat(models.Model):
    """When a worker last said it is alive. In the database, the one thing that web and workers always share."""

    worker = models.CharField(_("worker"), max_length=200, primary_key=True)
    beaten_at = models.DateTimeField(_("last heartbeat at"), db_index=True)

    class Meta:
        verbose_name = _("worker heartbeat")
        verbose_name_plural = _("worker heartbeats")

    def __str__(self) -> str:
        return self.worker
