"""The report itself: what may still change after its versions are frozen, and who may see it."""

import uuid

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from reports.choices import Visibility
from reports.querysets import ReportQuerySet


class Report(models.Model):
    """A named series of frozen versions; always owned. Archiving hides it, only the purge command removes it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reports", verbose_name=_("owner")
    )
    name = models.CharField(_("name"), max_length=200)
    tags = models.JSONField(_("tags"), default=list, blank=True)
    visibility = models.CharField(
        _("visible to"), max_length=10, choices=Visibility.choices, default=Visibility.PRIVATE
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now())
    archived_at = models.DateTimeField(_("archived at"), null=True, blank=True)
    last_number = models.PositiveIntegerField(_("last version"), default=0, editable=False)

    objects = ReportQuerySet.as_manager()

    class Meta:
        verbose_name = _("report")
        verbose_name_plural = _("reports")
        ordering = ["-created_at", "id"]
        indexes = [models.Index(fields=["owner", "-created_at"], name="report_owner_created")]

    def __str__(self) -> str:
        return self.name


class ReportShare(models.Model):
    """Read access of one person or one group to a report."""

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="shares")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="report_shares"
    )
    group = models.ForeignKey(Group, on_delete=models.CASCADE, null=True, blank=True, related_name="report_shares")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, editable=False, related_name="+"
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now())

    class Meta:
        verbose_name = _("share")
        verbose_name_plural = _("shares")
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=False, group__isnull=True) | Q(user__isnull=True, group__isnull=False),
                name="share_person_or_group",
            ),
            models.UniqueConstraint(fields=["report", "user"], condition=Q(user__isnull=False), name="share_one_user"),
            models.UniqueConstraint(
                fields=["report", "group"], condition=Q(group__isnull=False), name="share_one_group"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.report} → {self.user or self.group}"
