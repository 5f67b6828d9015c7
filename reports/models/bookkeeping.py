"""Rows beside reports: keys against doubled requests, schedules, and what remains of a purged version."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from reports.choices import SchedulePeriod
from reports.models.report import Report


class IdempotencyKey(models.Model):
    """A request that created something, under the caller's key; the same key and body get the same answer."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=128)
    body_sha256 = models.CharField(max_length=64)
    result = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="idempotency_key_once")]

    def __str__(self) -> str:
        return f"{self.owner_id}:{self.key}"


class ReportSchedule(models.Model):
    """Rebuild a report regularly; `next_at` moves on in the transaction that makes the version."""

    report = models.OneToOneField(Report, on_delete=models.CASCADE, related_name="schedule")
    period = models.CharField(_("period"), max_length=10, choices=SchedulePeriod.choices)
    next_at = models.DateTimeField(_("next at"))
    enabled = models.BooleanField(_("enabled"), default=True)
    last_error = models.TextField(_("last error"), blank=True, default="")

    class Meta:
        verbose_name = _("schedule")
        verbose_name_plural = _("schedules")

    def __str__(self) -> str:
        return f"{self.report}: {self.period}"


class Tombstone(models.Model):
    """What remains of a purged version. The trigger on versions lets a delete pass only where this row exists."""

    version_id = models.BigIntegerField(unique=True)
    report_id = models.UUIDField()
    report_name = models.CharField(max_length=200)
    number = models.PositiveIntegerField()
    content_sha256 = models.CharField(max_length=64, blank=True)
    rows_file_sha256 = models.CharField(max_length=64, blank=True)
    reason = models.TextField(_("reason"))
    purged_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    purged_at = models.DateTimeField(_("purged at"), db_default=Now())

    class Meta:
        verbose_name = _("tombstone")
        verbose_name_plural = _("tombstones")

    def __str__(self) -> str:
        return f"{self.report_name} v{self.number}"
