"""Clients that send, or read, slowly or not at all do not stop the service: real sockets, the real web server.

Nothing here is measured against the clock of the machine: a body's deadline is long where the service must answer
while sockets are silent, and short where the deadline itself is what is waited for.
"""

import contextlib
import json
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.config.sockets import exchange, head, read, silent
from tests.live import HANGS_AFTER_S, ROOT, LiveService, free_port
from tests.starts import started_in

# Most tests share a service: they share a worker of pytest.
pytestmark = pytest.mark.xdist_group("slow clients")
TOKENS = "/api/v1/estimates/tokens/"
CHUNKED = ("Content-Type: application/json", "Transfer-Encoding: chunked")
ONE_CHUNK = '5\r\n{"wor\r\n'
FORM = ("Content-Type: application/x-www-form-urlencoded", "Content-Length: 500")
IDLE = {
    "a body in chunks": head("POST", TOKENS, *CHUNKED) + ONE_CHUNK,
    "a body of stated length": head("POST", TOKENS, "Content-Type: application/json", "Content-Length: 900") + "{",
    "a form of the log-in": head("POST", "/admin/login/", *FORM) + "username=a",
    "headers": f"POST {TOKENS} HTTP/1.1\r\nHost: loc",
    "nothing": "",
}


def port_of(service) -> int:
    return int(service.environment["AFORO_PORT"])


def answers_throughout(port: int, token: str) -> None:
    close = "Connection: close"
    assert exchange(port, head("GET", "/healthz", close))[0] == 200
    assert exchange(port, head("GET", "/readyz", close))[0] == 200
    body = '{"words": 900}'
    authorised = (close, f"Authorization: Bearer {token}", "Content-Type: application/json")
    status, answer = exchange(port, head("POST", TOKENS, *authorised, f"Content-Length: {len(body)}") + body)
    assert (status, b'"tokens":1200' in answer) == (200, True)


@pytest.fixture(scope="module")
def patient(tmp_path_factory) -> Iterator[LiveService]:
    """One service for all that must answer while sockets are held; the deadline is far."""
    settings = {"AFORO_BODY_WITHIN_S": "300", "AFORO_WEB_THREADS": "4", "AFORO_MAX_HELD_BODY_BYTES": "200000"}
    with started_in(tmp_path_factory.mktemp("patient")) as start:
        yield start(**settings)


@pytest.mark.timeout(600)
def test_seventy_silent_sockets_of_each_kind_stop_nothing(patient):
    service = patient
    for sent in IDLE.values():
        with silent(port_of(service), sent, 70):
            answers_throughout(port_of(service), service.token)
    # Beyond what a process waits for, the oldest are given up; beyond what granian usually takes they would wait.
    for kind in ("a body of stated length", "nothing"):
        with silent(port_of(service), IDLE[kind], 500), silent(port_of(service), IDLE[kind], 300):
            answers_throughout(port_of(service), service.token)
    # Those that went away half said leave no traceback.
    assert "Traceback" not in service.text()


@pytest.mark.timeout(600)
def test_bodies_have_a_deadline_a_limit_and_an_owner(live_service):
    service = live_service(AFORO_BODY_WITHIN_S="6", AFORO_ALLOW_ANONYMOUS="0", AFORO_MAX_UPLOAD_BYTES="4096")
    port = port_of(service)
    token = (f"Authorization: Bearer {service.token}",)

    # Nobody's chunks are refused unread: the answer comes although the body never does.
    for headers in ((), ("Authorization: Bearer afo_" + "a" * 43,), ("Cookie: sessionid=nobody",)):
        status, answer = exchange(port, head("POST", TOKENS, *CHUNKED, *headers) + ONE_CHUNK)
        assert status == 401, answer
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["type"].startswith("urn:aforo:problem:authentication")
    status, answer = exchange(port, head("POST", "/admin/login/", "Transfer-Encoding: chunked") + ONE_CHUNK)
    assert status == 411

    # Somebody's are read, within the deadline.
    whole = head("POST", TOKENS, *CHUNKED, *token, "Connection: close") + '8\r\n{"words"\r\n6\r\n: 900}\r\n0\r\n\r\n'
    status, answer = exchange(port, whole)
    assert (status, b'"tokens":1200' in answer) == (200, True)
    late = {
        "chunks": head("POST", TOKENS, *CHUNKED, *token) + ONE_CHUNK,
        "length": head("POST", TOKENS, "Content-Length: 900", *token) + "{",
        "form": head("POST", "/admin/login/", *FORM) + "username=a",
    }
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(silent(port, sent, 1))[0] for sent in late.values()]
        for connection in waiting:
            status, answer = read(connection)
            assert status == 408, answer
            assert b"urn:aforo:problem:request-timeout" in answer

    # Too large is refused without a read, where the length is stated, and while reading where it is not.
    for path, most in ((TOKENS, 2 * 1024 * 1024), ("/admin/login/", 4096)):
        length = f"Content-Length: {most + 1}"
        status, answer = exchange(port, head("POST", path, "Content-Type: application/json", length, *token))
        assert status == 413, (path, answer)
    service.stop()


def test_what_all_unfinished_bodies_hold_is_limited(patient):
    port = port_of(patient)
    sent = head("POST", TOKENS, "Content-Type: application/json", "Content-Length: 150001") + "x" * 150_000
    with silent(port, sent, 2) as pair:
        # Two thirds of what may be held each: whichever is read second is refused.
        refused, _, _ = select.select(pair, [], [], HANGS_AFTER_S)
        status, answer = read(refused[0])
        assert (status, b"retry-after: 5" in answer) == (503, True)
        assert exchange(port, head("GET", "/healthz", "Connection: close"))[0] == 200


def test_a_request_reaches_django_as_it_was_sent(patient):
    service, port = patient, port_of(patient)
    close = "Connection: close"
    # Any Host for a probe, and no traceback for it; for the rest only ours.
    assert exchange(port, head("GET", "/healthz", close, host="10.1.2.3"))[0] == 200
    assert exchange(port, head("GET", "/readyz", close, host="10.1.2.3"))[0] == 200
    assert "Traceback" not in service.text()
    assert exchange(port, head("GET", "/admin/login/", close, host="evil.example"))[0] == 400
    # Names with an underscore never pass for the headers that proxies set.
    forged = ("X_Request_ID: forged-id-1", "X-Request-ID: honest-id-1")
    assert b"honest-id-1" in exchange(port, head("GET", "/api/v1/gpus/", close, *forged))[1]
    missing = exchange(port, head("GET", "/api/v1/gpus/caf%C3%A9%20x/", close))[1]
    assert "/api/v1/gpus/café x/".encode() in missing
    assert exchange(port, head("GET", "/%ff%fe/", close))[0] == 404
    head_only = exchange(port, head("HEAD", "/static/aforo/favicon.svg", close))[1]
    assert head_only.endswith(b"\r\n\r\n")
    assert service.stop() == 0


NGINX = Path("/usr/sbin/nginx")


@pytest.mark.services
@pytest.mark.timeout(600)
@pytest.mark.skipif(not NGINX.exists(), reason="no nginx is installed")
def test_the_proxy_of_the_compose_file_takes_slow_clients_on_itself(live_service, services_environment, tmp_path):
    """The same nginx.conf under Debian's nginx; addresses and folders alone differ."""
    service = live_service(services_environment, AFORO_X_ACCEL_PREFIX="/stored/", AFORO_TRUSTED_PROXIES="1")
    port = free_port()
    files = tmp_path / "var" / "artifacts"
    text = (ROOT / "config" / "nginx" / "nginx.conf").read_text()
    for name, here in {
        "server web:8000": f"server 127.0.0.1:{port_of(service)}",
        "listen 8080": f"listen 127.0.0.1:{port}",
        "/data/artifacts/": f"{files}/",
        "/tmp/nginx": f"{tmp_path}/nginx",  # noqa: S108  as the file names it
    }.items():
        assert name in text
        text = text.replace(name, here)
    # Debian's nginx gives up root for www-data, which may not read a test's folder.
    configuration = tmp_path / "nginx.conf"
    configuration.write_text("user root;\n" + text)
    command = [str(NGINX), "-c", str(configuration), "-g", "daemon off;"]
    nginx = subprocess.Popen(command, stderr=(tmp_path / "nginx.log").open("w"))
    try:
        close = "Connection: close"
        service.wait_for(lambda: _health(port) == 200)
        for sent in IDLE.values():
            with silent(port, sent, 70):
                answers_throughout(port, service.token)
        # Report files come from nginx, in the sandbox that the service asked for.
        made = files / "x"
        made.mkdir(parents=True, exist_ok=True)
        (made / "rows.csv").write_text("a,b\n")
        assert exchange(port, head("GET", "/stored/x/rows.csv", close))[0] == 404
        _download_through(service, port)
        too_large = exchange(port, head("POST", "/admin/login/", close, "Content-Length: 20000000"))
        assert too_large[0] == 413
        service.stop()
        status, answer = exchange(port, head("GET", "/api/v1/gpus/", close))
        assert (status, b"urn:aforo:problem:unavailable" in answer) == (503, True)
        assert b"Retry-After: 5" in answer
    finally:
        nginx.terminate()
        nginx.wait(HANGS_AFTER_S)


def _health(port: int) -> int:
    try:
        return exchange(port, head("GET", "/healthz", "Connection: close"))[0]
    except OSError:
        return 0


def _download_through(service, port: int) -> None:
    sweep = {
        "models": ["llama-3.1-8b"],
        "gpus": ["h100-sxm5-80gb"],
        "workloads": [{"input_tokens": 1000, "output_tokens": 300}],
        "batch_sizes": [1, 2],
    }
    status, made = service.call("POST", "/api/v1/reports/", {"name": "through nginx", "sweep": sweep})
    assert status == 202, made
    path = made["url"].split("//", 1)[1].partition("/")[2]
    service.wait_for(lambda: service.call("GET", f"/{path}")[1]["state"] == "complete")
    authorised = ("Connection: close", f"Authorization: Bearer {service.token}")
    asked = head("GET", f"/{path}download/?format=csv", *authorised)
    answers = [b""]

    def there() -> bool:
        answers[0] = exchange(port, asked)[1]
        return answers[0].startswith(b"HTTP/1.1 200")

    service.wait_for(there)
    headers = answers[0].partition(b"\r\n\r\n")[0].lower()
    assert b"row_index" in answers[0]
    assert b"content-security-policy: sandbox" in headers
    assert b"x-accel-redirect" not in headers
    assert b"etag: " in headers
