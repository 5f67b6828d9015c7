"""Reading the bodies of requests before a thread is taken: how large, how long, and whose."""

import asyncio
from collections.abc import AsyncIterator
from http.cookies import CookieError, SimpleCookie
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from catalog.api.json_format import write_json
from catalog.api.problems import TYPE_PREFIX

Environ = dict[str, Any]


UPLOADS = {"/api/v1/estimates/cost/batch/"}
UPLOAD_TYPES = {"text/csv", "application/x-ndjson"}


class RefusedError(Exception):
    """A body that is not read, or not further; holds the answer."""

    def __init__(self, status: int, problem_type: str, title: str, detail: str, environ: Environ) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = [("content-type", "application/problem+json"), ("cache-control", "no-store")]
        if status == 503:
            self.headers.append(("retry-after", "5"))
        self.body = write_json(
            {
                "type": TYPE_PREFIX + problem_type,
                "title": title,
                "status": status,
                "detail": detail,
                "instance": environ["PATH_INFO"],
            }
        )


class Reader:
    """Reads bodies within their limit, their deadline, and what all unfinished ones of this process may hold.

    Used on one event loop only, so that the count needs no lock.
    """

    def __init__(self) -> None:
        self.held_bytes = 0
        # Deadlines of the bodies that are waited for, oldest first.
        self.waiting: dict[asyncio.Timeout, None] = {}

    async def read(self, source: AsyncIterator[bytes], environ: Environ) -> bytes:
        """The whole body; of one in chunks that is over the limit a byte too many, so that it is refused as too large.

        Raises:
            RefusedError: it did not come in time, or others came that have waited less (408); it is not whole (400);
                too much is on its way already (503).
        """
        limit = limit_of(environ)
        body = bytearray()
        deadline = asyncio.timeout(settings.AFORO_BODY_WITHIN_S)
        try:
            async with deadline:
                self._make_room_for(deadline)
                async for part in source:
                    if self.held_bytes + len(part) > settings.AFORO_MAX_HELD_BODY_BYTES:
                        raise RefusedError(
                            503,
                            "unavailable",
                            _("Temporarily unavailable"),
                            _("Too many bodies are on their way; try again shortly."),
                            environ,
                        )
                    self.held_bytes += len(part)
                    body += part
                    if len(body) > limit:
                        return bytes(body[: limit + 1])
        except TimeoutError:
            raise RefusedError(
                408,
                "request-timeout",
                _("The body did not come in time"),
                _("The body must be here within %(seconds)d s.") % {"seconds": settings.AFORO_BODY_WITHIN_S},
                environ,
            ) from None
        finally:
            self.held_bytes -= len(body)
            self.waiting.pop(deadline, None)
        if len(body) < length_of(environ):
            detail = _("The connection ended before the body did.")
            raise RefusedError(400, "malformed-body", _("The body is not whole"), detail, environ)
        return bytes(body)

    def _make_room_for(self, deadline: asyncio.Timeout) -> None:
        """Gives up the one that has waited longest where too many wait: a whole body comes soon, a silent one never."""
        if len(self.waiting) >= settings.AFORO_MAX_WAITING_BODIES:
            oldest = next(iter(self.waiting))
            del self.waiting[oldest]
            oldest.reschedule(asyncio.get_running_loop().time())
        self.waiting[deadline] = None


def limit_of(environ: Environ) -> int:
    """Bytes that a body for this address may hold: JSON and uploads under /api/, forms and spreadsheets elsewhere."""
    name = "AFORO_MAX_BODY_BYTES" if _is_api(environ) else "AFORO_MAX_UPLOAD_BYTES"
    limit: int = getattr(settings, "AFORO_MAX_BATCH_BYTES" if is_upload(environ) else name)
    return limit


def is_upload(environ: Environ) -> bool:
    """Whether the body is a file that an address reads line by line."""
    kind = environ.get("CONTENT_TYPE", "").split(";")[0].strip().lower()
    return environ["PATH_INFO"] in UPLOADS and kind in UPLOAD_TYPES


def length_of(environ: Environ) -> int:
    """The stated length; 0 if none is stated."""
    text = environ.get("CONTENT_LENGTH", "")
    return int(text) if text.isdigit() else 0


def is_too_large(environ: Environ) -> bool:
    """Whether the stated length is over the limit; under /api/ Django then refuses it unread.

    Raises:
        RefusedError: outside /api/, where nobody else would.
    """
    if length_of(environ) <= limit_of(environ):
        return False
    if _is_api(environ):
        return True
    raise RefusedError(
        413,
        "body-too-large",
        _("The body is too large"),
        _("The body may hold at most %(limit)d bytes.") % {"limit": limit_of(environ)},
        environ,
    )


def check_chunks_fit(environ: Environ) -> None:
    """Bodies without a length are for the API.

    Raises:
        RefusedError: elsewhere; browsers never send a form like this.
    """
    if not _is_api(environ):
        raise RefusedError(
            411,
            "length-required",
            _("The length of the body is missing"),
            _("Send the body with a Content-Length, not in chunks."),
            environ,
        )


def is_authenticated(environ: Environ) -> bool:
    """Whether the request carries a token or a session that is good now."""
    from django.contrib.auth import get_user
    from django.contrib.sessions.backends.db import SessionStore
    from django.db import close_old_connections
    from django.http import HttpRequest

    from config.access.tokens import find_token

    close_old_connections()
    scheme, _space, text = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() == "bearer":
        return find_token(text.strip()) is not None
    try:
        cookie = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return False
    if cookie is None:
        return False
    request = HttpRequest()
    request.session = SessionStore(cookie.value)
    return bool(get_user(request).is_authenticated)


def _is_api(environ: Environ) -> bool:
    return bool(environ["PATH_INFO"].startswith("/api/"))
