"""Users and API tokens."""

from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class User(AbstractUser):
    """Our own user model from the first migration on, so that it can grow."""


def fewest_scopes() -> list[str]:
    """What a token may do unless its maker asks for more: read."""
    return ["read"]


class ApiToken(models.Model):
    """A bearer token; only the sha256 of its 256 random bits is stored, so a leaked table opens nothing."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(_("name"), max_length=100)
    token_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    # A token may do what its scopes name, within what its user may; an empty list allows nothing.
    scopes = models.JSONField(_("scopes"), default=fewest_scopes)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True)

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")

    def __str__(self) -> str:
        return f"{self.name} ({self.user})"

    def is_valid_at(self, moment: datetime) -> bool:
        """Whether the token is neither revoked nor expired at this moment."""
        return self.revoked_at is None and (self.expires_at is None or moment < self.expires_at)

    def is_valid_now(self) -> bool:
        """Whether the token works at this moment."""
        return self.is_valid_at(timezone.now())
