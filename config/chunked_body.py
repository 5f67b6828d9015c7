"""Bodies sent in chunks (`Transfer-Encoding: chunked`), as streaming clients send them.

Django reads as many bytes as `Content-Length` says, so that a body without one looks empty to it. Where the server
marks the end of its input, the body is read here, up to the limit, and handed on with its length.
"""

import io
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings

Environ = dict[str, Any]
Application = Callable[[Environ, Any], Iterable[bytes]]


class ChunkedBodies:
    """A WSGI application that gives the bodies of API requests their length."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        """Handles the request; a body over the limit keeps one byte too many, so that it is refused as too large."""
        if _is_readable_without_length(environ):
            body = environ["wsgi.input"].read(settings.AFORO_MAX_BODY_BYTES + 1)
            environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        return self._application(environ, start_response)


def _is_readable_without_length(environ: Environ) -> bool:
    return bool(
        environ.get("HTTP_TRANSFER_ENCODING")
        and not environ.get("CONTENT_LENGTH")
        and environ.get("wsgi.input_terminated")
        and environ.get("PATH_INFO", "").startswith("/api/")
    )
