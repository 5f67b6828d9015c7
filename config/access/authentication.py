"""Authentication of the API by `Authorization: Bearer afo_…`."""

from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from config.access.models import ApiToken, User
from config.access.tokens import PREFIX as TOKEN_PREFIX
from config.access.tokens import find_token
from config.throttling import invalid_token_wait_s

_SCHEME = b"bearer"


class BearerAuthentication(BaseAuthentication):
    """Users by their API token; `request.auth` is the token."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """User and token; None if the request carries no bearer token."""
        parts = get_authorization_header(request).split()
        if not parts or parts[0].lower() != _SCHEME:
            _refuse_misplaced_token(parts)
            return None
        token = find_token(parts[1].decode("latin-1")) if len(parts) == 2 else None
        if token is None:
            _count_failure(request)
            raise AuthenticationFailed(_("The token is unknown, expired or revoked."))
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        return 'Bearer realm="aforo"'


def _count_failure(request: Request) -> None:
    """An address that goes on sending tokens that are no good is told to wait; a good one from there still works.

    Raises:
        Throttled: beyond the rate.
    """
    wait_s = invalid_token_wait_s(request)
    if wait_s is not None:
        raise Throttled(wait_s)


def _refuse_misplaced_token(parts: list[bytes]) -> None:
    """A token behind another word, or none, is a slip; answered as anonymous it would look like a lack of rights.

    Raises:
        AuthenticationFailed: saying how a token is sent.
    """
    if any(part.startswith(TOKEN_PREFIX.encode()) for part in parts):
        raise AuthenticationFailed(_("Send the token as “Authorization: Bearer afo_…”."))
