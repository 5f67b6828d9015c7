"""Where a question is sent: a server, or the service itself in this process. Both speak the same API."""

import io
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from wsgiref.util import setup_testing_defaults

API = "/api/v1/"
ANSWERED, ANSWERED_NO, BAD_QUESTION, NO_SERVICE, NOT_ALLOWED = 0, 1, 2, 3, 4
_WITHIN_S = 120.0


class RefusedError(Exception):
    """No answer: what to tell the person, and the exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class Reply:
    """Status, headers and body of an answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def data(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Transport(Protocol):
    """Sends a request and returns whatever comes back."""

    def send(self, method: str, path: str, body: Any = None) -> Reply:
        """The reply to a request; `path` begins below the API, or is a whole address of the same server."""
        ...


@dataclass(frozen=True, slots=True)
class Server:
    """A server by its address, with the token of a person."""

    base: str
    token: str = ""

    def send(self, method: str, path: str, body: Any = None) -> Reply:
        """The reply over HTTP.

        Raises:
            RefusedError: the server cannot be reached, or the address is of another one.
        """
        address = path if "://" in path else self.base.rstrip("/") + API + path
        # A token goes to the server it is for and to no other.
        if urlsplit(address).netloc != urlsplit(self.base).netloc:
            raise RefusedError(f"{address} is not on {self.base}.", NO_SERVICE)
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, method=method, data=data)  # noqa: S310  http and https alone
        request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=_WITHIN_S) as answer:  # noqa: S310  http and https alone
                return Reply(answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())
        except (urllib.error.URLError, OSError) as error:
            raise RefusedError(
                f"{self.base} cannot be reached: {getattr(error, 'reason', error)}.", NO_SERVICE
            ) from None


class Embedded:
    """The service in this process, on the catalog of the data folder; prepared at its first use."""

    def __init__(self) -> None:
        self._application: Any = None

    def send(self, method: str, path: str, body: Any = None) -> Reply:
        """The reply of the service, without a socket."""
        if self._application is None:
            self._application = _service()
        raw = b"" if body is None else json.dumps(body).encode()
        path, _mark, query = (API + path).partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query, "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(raw)), "wsgi.input": io.BytesIO(raw), "HTTP_HOST": "localhost",
        }  # fmt: skip
        setup_testing_defaults(environ)
        begun: list[Any] = []
        parts = self._application(environ, lambda status, headers, _error=None: begun.extend((status, headers)))
        try:
            content = b"".join(parts)
        finally:
            parts.close()
        return Reply(int(begun[0].split(" ", 1)[0]), {k.lower(): v for k, v in begun[1]}, content)


def _service() -> Any:
    """The WSGI application, with its catalog loaded."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    os.environ.setdefault("AFORO_DATA_DIR", str(data_folder()))
    os.environ.setdefault("AFORO_LOG_LEVEL", "WARNING")
    from django.core.wsgi import get_wsgi_application

    application = get_wsgi_application()
    if not _is_prepared():
        sys.stderr.write("aforo: preparing the catalog, some 20 seconds, once for each release\n")
        from django.core.management import call_command

        quiet = io.StringIO()
        call_command("migrate", interactive=False, verbosity=0, stdout=quiet)
        call_command("load_catalog", stdout=quiet)
    return application


def data_folder() -> Path:
    """Where the catalog of this person is kept: beside the checkout, else the folder for data of programs."""
    here = Path(__file__).resolve().parents[1]
    if (here / "manage.py").exists():
        return here / "var"
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "aforo"


def _is_prepared() -> bool:
    """Whether every migration has run and the catalog holds rows."""
    from django.apps import apps
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return False
    return bool(apps.get_model("catalog", "Gpu").objects.exists())


def answer(transport: Transport, path: str, body: Any, *, method: str = "POST") -> dict[str, Any]:
    """The answer to a question.

    Raises:
        RefusedError: there is none; its text says what is wrong, field by field.
    """
    reply = transport.send(method, path, body)
    if reply.status < 300:
        found: dict[str, Any] = reply.data()
        return found
    raise refusal(reply)


def fields_of(transport: Transport, words: Sequence[str]) -> dict[str, list[str]]:
    """The fields that words mean, as the service hints at them: each is sent as a field that is none."""
    found: dict[str, list[str]] = {}
    for word in words:
        reply = transport.send("POST", "estimates/verdict/", {word: 0})
        if reply.status != 400:
            raise refusal(reply)
        faults = reply.data()["errors"]
        # A word that is a field itself is no unknown one.
        unknown = next((one for one in faults if one["code"] == "unknown_field"), None)
        found[word] = [word] if unknown is None else list(unknown.get("near") or ())
    return found


def refusal(reply: Reply) -> RefusedError:
    """What a refusal of the service means for the person."""
    try:
        problem = reply.data()
    except ValueError:
        return RefusedError(f"The server answered {reply.status} and no reason.", NO_SERVICE)
    faults = [
        f"{error.get('pointer') or error.get('parameter') or 'question'}: {error['detail']}"
        for error in problem.get("errors") or ()
    ]
    text = "\n".join(faults) or str(problem.get("detail") or problem.get("title") or f"status {reply.status}")
    if reply.status in (401, 403):
        hint = "Give a token in AFORO_TOKEN." if reply.status == 401 else "The token may not do this."
        return RefusedError(f"{text}\n{hint}", NOT_ALLOWED)
    return RefusedError(text, BAD_QUESTION if reply.status in (400, 404, 409, 412, 413, 422) else NO_SERVICE)
