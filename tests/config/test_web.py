"""Headers, policy, documentation pages, throttles, health and logs."""

import json
import logging
import re
import shutil
import threading

import pytest
from django.db import InterfaceError, OperationalError
from django.test import Client

from config import request_counts
from config.health import views as health
from config.health.services import STALE_AFTER_S, beat
from config.log_format import JsonFormatter, TextFormatter, redact

pytestmark = pytest.mark.django_db


def policy_of(response) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in response["Content-Security-Policy"].split(";"))
    return {name: value for name, _, value in parts}


def test_the_documentation_has_nothing_inline_and_a_strict_policy(client):
    response = client.get("/api/docs/")
    policy = policy_of(response)
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["font-src"] == "'self'"
    assert policy["img-src"] == "'self' data:"
    html = response.content.decode()
    assert "<style" not in html
    assert "style=" not in html
    assert all(tag.endswith("></script>") for tag in re.findall(r"<script[^>]*>.*?</script>", html, re.S))
    assert re.findall(r"\son[a-z]+=", html) == []
    assert "http" not in html


def test_everything_the_documentation_loads_is_served_by_us(client):
    html = client.get("/api/docs/").content.decode()
    addresses = re.findall(r'(?:src|href)="([^"]+)"', html)
    assert len(addresses) == 5
    for address in addresses:
        response = client.get(address.replace("&amp;", "&"))
        assert response.status_code == 200, address
    script = client.get("/api/docs/?script=")
    assert script["Content-Type"].startswith("application/javascript")
    assert "/api/v1/schema/" in script.content.decode()


def test_the_schema_is_openapi_3_1_as_json_and_as_yaml(client):
    response = client.get("/api/v1/schema/", headers={"Accept": "application/json"})
    assert json.loads(response.content)["openapi"].startswith("3.1")
    assert client.get("/api/v1/schema/", headers={"Accept": "application/yaml"}).content.startswith(b"openapi:")
    assert client.get("/api/v1/schema/", headers={"Accept": "text/csv"}).status_code == 200


def test_security_headers(client):
    response = client.get("/api/docs/")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"
    assert policy_of(response)["frame-ancestors"] == "'none'"


def test_the_admin_gets_a_policy_its_theme_works_under(client):
    policy = policy_of(client.get("/admin/login/"))
    assert policy["default-src"] == "'self'"
    assert "http" not in " ".join(policy.values())


@pytest.fixture
def rates(settings):
    def set_rates(**changed):
        rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {k.replace("_", "-"): v for k, v in changed.items()}
        settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": rates}
        request_counts.forget()

    yield set_rates
    request_counts.forget()


def test_beyond_the_rate_the_answer_is_429_with_retry_after(client, rates):
    rates(anon="3/min")
    assert [client.get("/api/v1/schema/").status_code for _ in range(3)] == [200] * 3
    response = client.get("/api/v1/schema/")
    assert response.status_code == 429
    assert response.json()["type"] == "urn:aforo:problem:throttled"
    assert 1 <= int(response["Retry-After"]) <= 120


def test_users_do_not_share_a_rate_with_anonymous_people(client, rates, django_user_model):
    rates(anon="1/min", user="2/min")
    user = Client()
    user.force_login(django_user_model.objects.create_user("ana"))
    assert client.get("/api/v1/schema/").status_code == 200
    assert [user.get("/api/v1/schema/").status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.urls("tests.config.problem_urls")
def test_a_view_with_a_scope_has_a_rate_of_its_own(rates, django_user_model):
    rates(reports_create="1/h")
    client = Client()
    client.force_login(django_user_model.objects.create_user("ana"))
    assert client.get("/api/v1/owned/").status_code == 200
    assert client.get("/api/v1/owned/").status_code == 429
    assert client.get("/api/v1/schema/").status_code == 200


def test_a_forwarded_address_is_not_believed_without_a_trusted_proxy(client, rates):
    rates(anon="1/min")
    codes = [client.get("/api/v1/schema/", headers={"X-Forwarded-For": f"10.0.0.{n}"}).status_code for n in range(2)]
    assert codes == [200, 429]


def test_readiness_is_of_the_web_alone_and_the_status_of_everything(client, monkeypatch):
    ready = client.get("/readyz")
    assert ready.status_code == 200
    assert set(ready.json()["checks"]) == {"database", "artifacts"}
    status = client.get("/statusz")
    assert status.status_code == 503
    body = status.json()
    assert body["status"] == "degraded"
    assert body["checks"]["broker"]["ok"]
    assert body["checks"]["queue"] == {"ok": True, "versions": {}}
    assert not body["checks"]["worker"]["ok"]
    beat("worker@here")
    response = client.get("/statusz")
    assert response.status_code == 200
    assert response.json()["checks"]["worker"]["heartbeat_age_s"] < STALE_AFTER_S

    def broken():
        raise ConnectionError("redis://:hunter2@broker refused")

    monkeypatch.setitem(health.STATUS, "broker", broken)
    assert client.get("/readyz").status_code == 200
    response = client.get("/statusz")
    assert response.status_code == 503
    assert b"hunter2" not in response.content


def test_a_store_of_files_that_went_takes_the_web_out_of_rotation(client, settings, tmp_path):
    settings.AFORO_ARTIFACT_DIR = tmp_path / "mount"
    assert client.get("/readyz").status_code == 200
    shutil.rmtree(tmp_path / "mount")
    response = client.get("/readyz")
    assert response.status_code == 503
    assert not response.json()["checks"]["artifacts"]["ok"]


@pytest.mark.django_db(transaction=True)
def test_a_check_that_hangs_is_not_waited_for(client, monkeypatch):
    ends = threading.Event()
    started: list[int] = []

    def hung():
        started.append(1)
        ends.wait()
        return {"ok": True}

    monkeypatch.setattr(health, "CHECK_WITHIN_S", 0.05)
    monkeypatch.setattr(health, "_probes", {})
    monkeypatch.setattr(health, "READINESS", {"artifacts": hung})
    try:
        for _ in range(5):
            response = client.get("/readyz")
            assert (response.status_code, response.json()["checks"]["artifacts"]["ok"]) == (503, False)
        # Those who ask later wait for the same thread.
        assert len(started) <= 1
    finally:
        ends.set()


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/statusz"])
def test_probes_come_under_any_host_and_scheme(client, settings, caplog, path):
    settings.ALLOWED_HOSTS, settings.SECURE_SSL_REDIRECT = ["aforo.example.org"], True
    response = client.get(path, headers={"Host": "10.9.8.7:8000"})
    assert response.status_code in (200, 503)
    assert response["Content-Type"] == "application/json"
    assert not [record for record in caplog.records if record.exc_info]


AWAY = [OperationalError("server closed the connection"), InterfaceError("connection already closed")]


@pytest.mark.parametrize("error", AWAY)
@pytest.mark.parametrize("path", ["/api/v1/gpus/", "/admin/", "/r/a/"])
def test_a_database_that_is_away_is_503_everywhere(client, admin_user, monkeypatch, error, path):
    def away(*args, **kwargs):
        raise error

    client.raise_request_exception = False
    client.force_login(admin_user)
    monkeypatch.setattr("reports.services.sharing.open_link", away)
    monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.load", away)
    response = client.get(path)
    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert b"at the moment" in response.content
    if not path.startswith("/admin/"):
        assert response.json()["type"] == "urn:aforo:problem:unavailable"


def test_a_cache_that_fails_lets_requests_pass_and_says_so_once(client, rates, monkeypatch, caplog):
    from config import throttling

    def away(*args, **kwargs):
        calls.append(1)
        raise ConnectionError("redis is away")

    calls: list[int] = []
    rates(anon="1/min")
    monkeypatch.setattr(throttling, "_away", throttling._Away())
    monkeypatch.setattr(throttling, "count", away)
    assert [client.get("/api/v1/schema/").status_code for _ in range(3)] == [200] * 3
    # Left alone after the first failure: a hung cache costs its deadline once.
    assert calls == [1]
    assert sum("requests are not counted" in record.getMessage() for record in caplog.records) == 1


def test_an_old_heartbeat_is_not_ready(client):
    from datetime import timedelta

    from django.utils import timezone

    from config.health.models import WorkerHeartbeat

    WorkerHeartbeat.objects.create(worker="w", beaten_at=timezone.now() - timedelta(seconds=STALE_AFTER_S + 1))
    assert client.get("/statusz").status_code == 503


def test_liveness_asks_nobody(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert client.get("/healthz").json() == {"status": "ok"}


SECRETS = [
    ("GET /r/eyJhbGciOi.J9:1abc:sig/ 200", "eyJ"),
    ("Authorization: Bearer afo_abcDEF-123_x", "abcDEF"),
    ("{'Authorization': 'Bearer s3cr3tvalue'}", "s3cr3t"),
    ("token afo_" + "a1" * 21 + "b", "a1a1"),
    ("cannot reach redis://user:hunter2@broker:6379/0", "hunter2"),
    ("postgres://aforo:p@host failed", "p@"),
]


@pytest.mark.parametrize(("line", "secret"), SECRETS)
def test_logs_hold_no_secret(line, secret):
    assert secret not in redact(line)
    record = logging.LogRecord("aforo", logging.INFO, "f", 1, "%s", (line,), None)
    record.facts = {"path": line}
    for formatter in (TextFormatter(), JsonFormatter()):
        assert secret not in formatter.format(record)


def test_a_json_line_holds_nothing_of_what_libraries_add_to_a_record():
    record = logging.LogRecord("django.request", logging.ERROR, "f", 1, "Internal Server Error", (), None)
    record.request = "<WSGIRequest: GET '/r/eyJhbGciOi.J9:1abc:sig/'>"
    record.status_code, record.facts = 500, {"path": "/r/eyJ/", "ms": 1.5}
    entry = json.loads(JsonFormatter().format(record))
    assert {name: entry[name] for name in entry if name != "time"} == {
        "level": "ERROR",
        "logger": "django.request",
        "message": "Internal Server Error",
        "path": "/r/[redacted]/",
        "ms": 1.5,
    }


def test_a_log_line_carries_the_request_id(client, caplog):
    with caplog.at_level(logging.INFO, logger="aforo.access"):
        client.get("/healthz")
    entry = json.loads(JsonFormatter().format(caplog.records[-1]))
    assert entry["path"] == "/healthz"
    assert entry["status"] == 200
    assert entry["logger"] == "aforo.access"


def test_a_traceback_is_redacted_too():
    try:
        raise ValueError("redis://u:hunter2@h/0")
    except ValueError as error:
        record = logging.LogRecord("aforo", logging.ERROR, "f", 1, "x", (), (ValueError, error, error.__traceback__))
    assert "hunter2" not in TextFormatter().format(record)
    assert "hunter2" not in JsonFormatter().format(record)
