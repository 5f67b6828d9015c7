"""docker-compose.yml as the real compose binary reads it."""

import os
import re
import subprocess
import sys

import pytest

from tests.config.compose_web import GIVEN, compose, compose_services
from tests.live import HANGS_AFTER_S, ROOT


@pytest.fixture(scope="module")
def services():
    return compose_services()


def test_compose_accepts_the_file(services):
    assert set(services) == {"migrate", "proxy", "web", "worker", "beat", "postgres", "redis"}


@pytest.mark.parametrize("name", list(GIVEN))
def test_a_missing_secret_is_an_error_by_name(name):
    done = compose("--quiet", **{k: v for k, v in GIVEN.items() if k != name})
    assert done.returncode != 0
    assert name in done.stderr


def test_everything_waits_for_healthy_services_and_the_migration(services):
    for name in ("web", "worker"):
        waits = {k: v["condition"] for k, v in services[name]["depends_on"].items()}
        assert waits == {
            "migrate": "service_completed_successfully",
            "postgres": "service_healthy",
            "redis": "service_healthy",
        }
    assert services["beat"]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    assert services["migrate"]["restart"] == "no"
    for name in ("proxy", "web", "worker", "postgres", "redis"):
        assert services[name]["healthcheck"]["test"], name


def test_one_beat_that_is_not_inside_a_worker(services):
    assert "beat" in services["beat"]["command"]
    assert not {"-B", "--beat"} & set(services["worker"]["command"])


def test_nothing_is_published_beyond_this_machine_by_default(services):
    published = [port for service in services.values() for port in service.get("ports", [])]
    assert [port["host_ip"] for port in published] == ["127.0.0.1"]
    # People reach the proxy, which takes slow clients on itself, and nothing but it.
    assert [name for name, service in services.items() if service.get("ports")] == ["proxy"]


def test_the_proxy_reads_what_the_service_names(services):
    configuration = (ROOT / "config" / "nginx" / "nginx.conf").read_text()
    web = services["web"]
    assert f"location {web['environment']['AFORO_X_ACCEL_PREFIX']} {{" in configuration
    assert "alias /data/artifacts/;" in configuration
    assert web["environment"]["AFORO_DATA_DIR"] == "/data"
    assert "server web:8000;" in configuration
    assert web["environment"]["AFORO_TRUSTED_PROXIES"] == "1"
    mounted = {volume["target"]: volume for volume in services["proxy"]["volumes"]}
    assert mounted["/data"]["read_only"]
    assert services["proxy"]["depends_on"]["web"]["restart"]
    assert mounted["/etc/nginx/nginx.conf"]["read_only"]


def test_cookies_are_secure_unless_said_otherwise(services):
    environment = services["web"]["environment"]
    assert (environment["AFORO_SECURE_COOKIES"], environment["AFORO_HTTPS_REDIRECT"]) == ("1", "0")


def test_the_environment_it_gives_satisfies_production_settings(services):
    given = {name: value for name, value in services["web"]["environment"].items() if value is not None}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]} | given | {"AFORO_DATA_DIR": "var"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_worker_health_check_asks_for_this_host_only(transactional_db, settings):
    import socket

    from django.core.management import CommandError, call_command

    from config.health.services import beat

    beat("celery@elsewhere")
    with pytest.raises(CommandError, match="no worker"):
        call_command("worker_alive")
    beat(f"celery@{socket.gethostname()}")
    call_command("worker_alive")


def test_the_probe_needs_no_name_that_the_service_answers_to(live_server, settings):
    from config.health.probe import main

    settings.ALLOWED_HOSTS = ["aforo.example.org"]
    assert main(f"{live_server.url}/healthz", HANGS_AFTER_S) == 0
    assert main(f"{live_server.url}/readyz", HANGS_AFTER_S) == 0


def test_what_the_image_copies_is_let_through_to_its_build(settings):
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(\S+) ", (ROOT / "Dockerfile").read_text(), re.M)
    assert "requirements/image.txt" in copied
    assert {source for source in copied if source != "."} <= allowed
    # The image holds what the service imports and reads, its documentation too, and neither tests nor data folders.
    apps = {app.partition(".")[0] for app in settings.INSTALLED_APPS}
    own = {name for name in apps if (ROOT / name).is_dir()}
    assert {"config", "pages"} <= own
    assert {"manage.py", *own} <= allowed
    assert not {"tests", "var", ".venv", ".git"} & allowed
    assert {"docs", "README.md"} <= allowed


def test_the_probe_tells_a_healthy_address_from_a_dead_one(live_server):
    from config.health.probe import main

    assert main(f"{live_server.url}/healthz", HANGS_AFTER_S) == 0
    assert main(f"{live_server.url}/nothing", HANGS_AFTER_S) == 1
    assert main("http://127.0.0.1:9/") == 1
