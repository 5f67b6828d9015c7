"""`make run`, the real thing: supervisor, web, worker."""

import json
import os
import signal
import subprocess
import urllib.request

import pytest

from tests.live import HANGS_AFTER_S


def ready(service) -> bool:
    try:
        return service.call("GET", "/statusz")[0] == 200
    except OSError:
        return False


def answer_in_chunks(service, parts: list[bytes]) -> dict:
    """What the service says to a body of no stated length; urllib sends what it cannot measure in chunks."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(service.base + "/api/v1/estimates/tokens/", iter(parts), headers)
    with urllib.request.urlopen(request, timeout=HANGS_AFTER_S) as answer:
        return json.load(answer)


def survives_kills_and_stops_cleanly(service) -> None:
    assert service.call("GET", "/healthz") == (200, {"status": "ok"})
    assert ready(service)
    for name in ("worker", "web"):
        killed = service.kill(name)
        service.wait_for(lambda name=name, killed=killed: service.pid_of(name) != killed)
        service.wait_for(lambda: ready(service))
    last = service.pid_of("worker")
    assert service.stop(signal.SIGINT) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(last, 0)
    assert service.token not in service.text().split("Ctrl-C stops everything")[1]


def test_make_run_on_embedded_defaults(live_service, tmp_path):
    service = live_service(first_start=True)
    assert (tmp_path / "var" / "aforo.sqlite3").exists()
    assert (tmp_path / "var" / "demo.json").stat().st_mode & 0o077 == 0
    token = service.token
    assert answer_in_chunks(service, [b'{"words"', b": 900}"])["tokens"] == 1200
    call = service.text().split("the same by the API:")[1].split("Ctrl-C")[0]
    answer = subprocess.run(["bash", "-c", call], capture_output=True, text=True, timeout=HANGS_AFTER_S).stdout
    assert json.loads(answer)["feasible"] is True
    survives_kills_and_stops_cleanly(service)
    again = live_service()
    assert again.token == token


@pytest.mark.services
def test_make_run_on_postgresql_and_redis(live_service, empty_services_environment):
    service = live_service(empty_services_environment)
    status, body = service.call("GET", "/statusz")
    assert status == 200
    assert body["checks"]["database"]["vendor"] == "postgresql"
    assert body["checks"]["broker"]["transport"] == "redis"
    survives_kills_and_stops_cleanly(service)
