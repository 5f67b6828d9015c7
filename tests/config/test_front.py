"""The application in front of Django, with a server that is made up: what it starts it ends, whoever goes away."""

import asyncio
from types import SimpleNamespace

import pytest

from config import waiting
from config.rsgi import Front
from reports.api.waiting import PENDING, Pending


class Protocol:
    """Granian's side: what came in, what went out; `hangs` is a reader that takes nothing more."""

    def __init__(self, *sent: bytes, hangs: bool = False, gone: bool = False) -> None:
        self.sent, self.hangs, self.gone = sent, hangs, gone
        self.status, self.headers, self.body = 0, [], b""

    async def __aiter__(self):
        for part in self.sent:
            yield part

    def response_bytes(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def response_stream(self, status, headers):
        self.status, self.headers = status, headers
        return self

    async def send_bytes(self, part):
        if self.gone:
            raise RuntimeError("the transport is closed")
        if self.hangs and self.body:
            await asyncio.Event().wait()
        self.body += part


class Streamed:
    streaming = True

    def __init__(self, *parts: bytes) -> None:
        self.parts, self.closed = parts, False

    def __iter__(self):
        return iter(self.parts)

    def close(self) -> None:
        self.closed = True


def ask(application, protocol, method="GET", path="/x/", **headers):
    names = {name.removeprefix("raw ") if "raw " in name else name.replace("_", "-"): headers[name] for name in headers}
    scope = SimpleNamespace(
        method=method, path=path, query_string="a=1", server="127.0.0.1:8000", client="10.0.0.1:5000", scheme="http",
        http_version="1.1", headers=names,
    )  # fmt: skip
    asyncio.run(Front(application, threads=2).__rsgi__(scope, protocol))
    return protocol


def streaming(answer):
    def application(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/csv")])
        return answer

    return application


def test_a_download_is_sent_part_by_part_and_closed():
    answer = Streamed(b"a", b"b", b"c")
    protocol = ask(streaming(answer), Protocol())
    assert (protocol.status, protocol.headers, protocol.body) == (200, [("content-type", "text/csv")], b"abc")
    assert answer.closed


@pytest.mark.parametrize("how", ["hangs", "gone"])
def test_a_reader_that_stops_or_goes_ends_the_download(settings, how):
    settings.AFORO_SEND_WITHIN_S = 0.001
    answer = Streamed(b"a", b"b", b"c")
    protocol = ask(streaming(answer), Protocol(**{how: True}))
    assert protocol.body in (b"", b"a")
    assert answer.closed


def test_django_sees_the_request_as_it_was_sent():
    seen = {}

    def application(environ, start_response):
        seen.update(environ, body=environ["wsgi.input"].read())
        start_response("204 No Content", [])
        return _Empty()

    given = {"content_length": "4", "content_type": "text/x", "x_real": "1", "raw x_forwarded_for": "6.6.6.6"}
    protocol = ask(application, Protocol(b"ab", b"cd"), "POST", "/api/é/", **given)
    assert protocol.status == 204
    assert seen["body"] == b"abcd"
    assert seen["PATH_INFO"].encode("latin-1").decode() == "/api/é/"
    assert (seen["REMOTE_ADDR"], seen["SERVER_NAME"], seen["SERVER_PORT"]) == ("10.0.0.1", "127.0.0.1", "8000")
    assert (seen["QUERY_STRING"], seen["CONTENT_TYPE"], seen["HTTP_X_REAL"]) == ("a=1", "text/x", "1")
    # A name with an underscore would pass for the one with dashes that proxies set.
    assert "HTTP_X_FORWARDED_FOR" not in seen


class _Empty(list):
    def close(self) -> None:
        pass


def test_liveness_is_answered_without_django():
    def never(environ, start_response):
        raise AssertionError("a thread was taken")

    protocol = ask(never, Protocol(), path="/healthz")
    assert (protocol.status, protocol.body) == (200, b'{"status":"ok"}')


@pytest.mark.parametrize("allowed", [True, False])
def test_chunks_of_somebody_unknown_are_read_only_where_anonymous_people_may_ask(settings, monkeypatch, allowed):
    settings.AFORO_ALLOW_ANONYMOUS = allowed
    monkeypatch.setattr("config.bodies.is_authenticated", lambda environ: False)
    seen = {}

    def application(environ, start_response):
        seen.update(environ, body=environ["wsgi.input"].read())
        start_response("200 OK", [])
        return _Empty()

    ask(application, Protocol(b"{}"), "POST", "/api/v1/x/", transfer_encoding="chunked")
    assert (seen["CONTENT_LENGTH"], seen["body"]) == (("2", b"{}") if allowed else ("0", b""))


class Whole(list):
    def close(self) -> None:
        pass


class TestWaiting:
    """A request that waits holds neither a thread nor a place; what it waited for is asked for anew."""

    HEADERS = {"prefer": "wait=9", "authorization": "Bearer x", "idempotency-key": "k"}

    def service(self, seen, within_s):
        def application(environ, start_response):
            seen.append(environ)
            if environ["REQUEST_METHOD"] == "POST":
                environ[PENDING] = Pending(kind="version", key=7, within_s=within_s, path="/made/?a=b")
                start_response("202 Accepted", [("Location", "http://h/made/"), ("Retry-After", "1")])
                return Whole([b"later"])
            start_response("200 OK", [("ETag", "x")])
            return Whole([b"done"])

        return application

    def test_it_answers_what_came_of_it(self, monkeypatch):
        looks = []
        monkeypatch.setattr(waiting, "LOOKS_EVERY_S", 0.001)
        monkeypatch.setattr(waiting, "ready", lambda waited: looks.append(waited) or (waited if looks[2:] else set()))
        seen = []
        protocol = ask(self.service(seen, 60), Protocol(), method="POST", path="/orders/", **self.HEADERS)
        assert (protocol.status, protocol.body) == (200, b"done")
        assert dict(protocol.headers) == {
            "etag": "x", "location": "http://h/made/", "preference-applied": "wait=60",
        }  # fmt: skip
        assert looks == [{("version", 7)}] * 3
        again = seen[1]
        assert (again["PATH_INFO"], again["QUERY_STRING"], again["HTTP_AUTHORIZATION"]) == ("/made/", "a=b", "Bearer x")
        assert not {"HTTP_PREFER", "HTTP_IDEMPOTENCY_KEY", PENDING} & set(again)

    def test_its_time_ends_where_the_database_is_away(self, monkeypatch):
        def away(waited):
            raise OSError("away")

        monkeypatch.setattr(waiting, "LOOKS_EVERY_S", 0.001)
        monkeypatch.setattr(waiting, "ready", away)
        protocol = ask(self.service([], 0.02), Protocol(), method="POST", path="/orders/", **self.HEADERS)
        assert (protocol.status, protocol.body) == (202, b"later")
        assert ("preference-applied", "wait=0.02") in protocol.headers

    def test_too_many_are_not_made_to_wait(self, settings):
        settings.AFORO_MAX_WAITING_REQUESTS = 0
        protocol = ask(self.service([], 60), Protocol(), method="POST", path="/orders/", **self.HEADERS)
        assert (protocol.status, dict(protocol.headers)) == (202, {"location": "http://h/made/", "retry-after": "1"})
