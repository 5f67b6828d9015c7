"""API tokens: making, finding and revoking them."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from config.access import kept_tokens
from config.access.models import ApiToken, User, fewest_scopes

PREFIX = "afo_"
_RANDOM_BYTES = 32
_TOKEN_LENGTH = len(PREFIX) + 43
# Writing each use would make every read of the API a write.
_USE_WRITTEN_EVERY = timedelta(minutes=1)


def issue_token(
    user: User, name: str, *, scopes: Sequence[str] | None = None, expires_at: datetime | None = None
) -> tuple[ApiToken, str]:
    """The stored token and its text, which cannot be had again: only its sha256 is kept.

    Args:
        user: whose rights bound the token.
        name: what the token is for.
        scopes: what the token may do; without, it reads.
        expires_at: when it ends; without, after AFORO_TOKEN_DAYS.
    """
    text = PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    token = ApiToken.objects.create(
        user=user,
        name=name,
        token_sha256=sha256_of(text),
        scopes=fewest_scopes() if scopes is None else list(scopes),
        expires_at=expires_at or default_expiry(),
    )
    return token, text


def default_expiry() -> datetime:
    """When a token made now ends, unless it says otherwise."""
    return timezone.now() + timedelta(days=settings.AFORO_TOKEN_DAYS)


def find_token(text: str) -> ApiToken | None:
    """The valid token with this text and its user; None if it is unknown, expired or revoked.

    One read at most, and none while it is kept (`config.access.kept_tokens`). The time of use is written at most once a
    minute, and a read never deletes a token.
    """
    if len(text) != _TOKEN_LENGTH or not text.startswith(PREFIX):
        return None
    token = kept_tokens.token_of(sha256_of(text))
    now = timezone.now()
    if token is None or not token.is_valid_at(now) or not token.user.is_active:
        return None
    if token.last_used_at is None or now - token.last_used_at >= _USE_WRITTEN_EVERY:
        note_use(token, now)
    return token


def note_use(token: ApiToken, now: datetime) -> None:
    """Writes the time of use, unless another request has just done so."""
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - _USE_WRITTEN_EVERY)
    ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)
    kept_tokens.forget_one(token)


def revoke_token(token: ApiToken) -> bool:
    """Revokes the token for good; False if it already was."""
    revoked = ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=timezone.now())
    kept_tokens.forget()
    return bool(revoked)


def sha256_of(text: str) -> str:
    """The stored form of a token. No salt and no stretching: 256 random bits leave nothing to guess."""
    return hashlib.sha256(text.encode()).hexdigest()
