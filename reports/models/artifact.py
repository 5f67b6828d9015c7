"""Files derived from a version's rows: made once by a task, stored, evictable, made again on demand."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from reports.choices import FileFormat, State
from reports.models.version import ReportVersion


class Artifact(models.Model):
    """One derived file of one version. Evicting deletes row and file; the version keeps everything to make it again."""

    version = models.ForeignKey(ReportVersion, on_delete=models.CASCADE, related_name="artifacts")
    format = models.CharField(_("format"), max_length=10, choices=FileFormat.choices)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.QUEUED)
    lease_token = models.CharField(max_length=32, blank=True, default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    disk_full_since = models.DateTimeField(null=True, blank=True)
    next_try_at = models.DateTimeField(null=True, blank=True)
    # How often it was complete and then not there: more than a few times, and it is not the file that is at fault.
    times_lost = models.PositiveSmallIntegerField(default=0, db_default=0)
    file_name = models.CharField(max_length=200, blank=True, default="")
    bytes = models.PositiveBigIntegerField(_("bytes"), null=True, blank=True)
    artifact_sha256 = models.CharField(_("sha256"), max_length=64, blank=True, default="")
    created_at = models.DateTimeField(_("created at"), db_default=Now())
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True)
    error_code = models.CharField(max_length=40, blank=True, default="")
    error = models.TextField(_("error"), blank=True, default="")

    class Meta:
        verbose_name = _("derived file")
        verbose_name_plural = _("derived files")
        ordering = ["version", "format"]
        constraints = [models.UniqueConstraint(fields=["version", "format"], name="artifact_once")]

    def __str__(self) -> str:
        return f"{self.version} {self.format}"
