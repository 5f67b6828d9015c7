"""Links for people without a login: one version, one format, an end."""

import secrets

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from reports.choices import FileFormat
from reports.models.version import ReportVersion


def random_id() -> str:
    """128 random bits as 32 hexadecimal digits."""
    return secrets.token_hex(16)


class ShareLink(models.Model):
    """What a signed /r/ address opens; dies by expiry, by hand, with its report and with its maker's access."""

    id = models.CharField(primary_key=True, max_length=32, default=random_id, editable=False)
    version = models.ForeignKey(ReportVersion, on_delete=models.CASCADE, related_name="links")
    format = models.CharField(_("format"), max_length=10, choices=FileFormat.choices)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(_("created at"), db_default=Now())
    expires_at = models.DateTimeField(_("expires at"))
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True)

    class Meta:
        verbose_name = _("share link")
        verbose_name_plural = _("share links")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.version} {self.format}"
