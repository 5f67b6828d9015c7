"""Entry point of the web server: Granian hands requests over here, and Django answers them in threads.

Bodies are read on the event loop before a thread is taken, with a deadline and a limit, and downloads are written there
too; so a client that says nothing, or reads nothing, holds a socket and no thread (docs/adr/0016).
"""

import asyncio
import io
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from django.conf import settings
from django.db import close_old_connections

from config import env

# A web process has threads enough to use up a server's connections; a worker or a command has one of its own.
os.environ.setdefault("AFORO_DATABASE_POOL", "16")

from config.wsgi import application as django

# isort: split
# The line above sets Django up, which these need.
from config import bodies, uploads
from config.waiting import Waits, asked_again
from estimator.api.uploads import SPOOLED
from reports.api.waiting import PENDING

Environ = dict[str, Any]
Headers = list[tuple[str, str]]

_ALIVE: tuple[int, Headers, bytes] = (
    200,
    [("content-type", "application/json"), ("cache-control", "no-store")],
    b'{"status":"ok"}',
)
_STOPPED = object()


class Front:
    """An RSGI application in front of a WSGI one."""

    def __init__(self, application: Any, *, threads: int) -> None:
        self._application = application
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="request")
        self._bodies = bodies.Reader()
        self._uploads = uploads.Spooler(self._in_thread)
        self._waits = Waits(self._in_thread)

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:
        """Answers one request."""
        if scope.path == "/healthz" and scope.method in ("GET", "HEAD"):
            # No thread, no database, any Host: the process lives.
            protocol.response_bytes(*_ALIVE)
            return
        environ = _environ_of(scope)
        try:
            body = await self._body(environ, protocol)
        except bodies.RefusedError as refused:
            protocol.response_bytes(refused.status, [*refused.headers, ("connection", "close")], refused.body)
            return
        if isinstance(body, bytes):
            environ["wsgi.input"] = io.BytesIO(body)
            await self._answer(environ, protocol)
            return
        environ["wsgi.input"] = environ[SPOOLED] = body
        try:
            await self._answer(environ, protocol)
        finally:
            body.close()

    async def _body(self, environ: Environ, protocol: Any) -> bytes | IO[bytes]:
        """The body; empty where it stays unread because the answer will be a refusal whatever it holds."""
        chunked = "HTTP_TRANSFER_ENCODING" in environ
        if not chunked and not bodies.length_of(environ):
            return b""
        upload = bodies.is_upload(environ)
        if chunked or upload:
            bodies.check_chunks_fit(environ)
            if not settings.AFORO_ALLOW_ANONYMOUS and not await self._in_thread(_is_authenticated, environ):
                # Django answers 401; what was sent is never read.
                environ["CONTENT_LENGTH"] = "0"
                return b""
        if not chunked and bodies.is_too_large(environ):
            return b""
        if upload:
            return await self._uploads.read(protocol, environ)
        body = await self._bodies.read(protocol, environ)
        if chunked:
            environ["CONTENT_LENGTH"] = str(len(body))
        return body

    async def _answer(self, environ: Environ, protocol: Any) -> None:
        status, headers, whole, parts = await self._in_thread(self._call, environ)
        if (pending := environ.pop(PENDING, None)) is not None and (
            done := await self._waits.until(pending)
        ) is not None:
            waited = [("preference-applied", f"wait={pending.within_s}")]
            if done:
                places = [header for header in headers if header[0] == "location"]
                again = asked_again(environ, pending) | {"wsgi.input": io.BytesIO()}
                status, headers, whole, parts = await self._in_thread(self._call, again)
                again.pop(PENDING, None)
                headers = headers + [header for header in places if status < 300]
            headers = headers + waited
        if parts is None:
            protocol.response_bytes(status, headers, whole)
            return
        try:
            transport = protocol.response_stream(status, headers)
            while (part := await self._in_thread(next, parts, _STOPPED)) is not _STOPPED:
                async with asyncio.timeout(settings.AFORO_SEND_WITHIN_S):
                    await transport.send_bytes(part)
        except (TimeoutError, ConnectionError, RuntimeError):
            # The reader went or reads nothing any more; granian's errors are RuntimeErrors.
            return
        finally:
            await self._in_thread(parts.close)

    def _call(self, environ: Environ) -> tuple[int, Headers, bytes, "_Parts | None"]:
        """Runs Django in this thread: status, headers, and the whole body or its parts."""
        begun: list[Any] = []

        def start_response(status: str, headers: Headers, exc_info: Any = None) -> None:
            begun[:] = [int(status.split(" ", 1)[0]), [(name.lower(), value) for name, value in headers]]

        answer = self._application(environ, start_response)
        if getattr(answer, "streaming", False):
            # Its end comes in another thread, maybe long after; the database is not needed until then.
            close_old_connections()
            return begun[0], begun[1], b"", _Parts(answer)
        try:
            whole = b"".join(answer)
        finally:
            answer.close()
        return begun[0], begun[1], whole, None

    async def _in_thread(self, function: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)


def _is_authenticated(environ: Environ) -> bool:
    """As `bodies` says; outside of a request nobody gives the thread's connection back."""
    try:
        return bodies.is_authenticated(environ)
    finally:
        close_old_connections()


class _Parts(Iterator[bytes]):
    """A streamed answer whose iterator and whose end live in threads."""

    def __init__(self, answer: Iterable[bytes]) -> None:
        self._answer: Any = answer
        self._parts = iter(answer)

    def __next__(self) -> bytes:
        return next(self._parts)

    def close(self) -> None:
        """Lets the answer close what it holds."""
        self._answer.close()


def _environ_of(scope: Any) -> Environ:
    """The WSGI environment of a request (PEP 3333)."""
    host, _, port = scope.server.rpartition(":")
    client, _, client_port = scope.client.rpartition(":")
    environ: Environ = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "SERVER_NAME": host,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": client.strip("[]"),
        "REMOTE_PORT": client_port,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.errors": None,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope.headers.items():
        # Names with an underscore would be taken for those with a dash, which proxies set.
        if "_" in name:
            continue
        key = name.upper().replace("-", "_")
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        separator = "; " if key == "HTTP_COOKIE" else ","
        environ[key] = f"{environ[key]}{separator}{value}" if key in environ else value
    return environ


application = Front(django, threads=env.integer("AFORO_WEB_THREADS", 32, at_least=1, at_most=1000))
