"""Production refuses to start without what it needs, and with what only tests may use."""

import os
import subprocess
import sys

import pytest

from tests.live import HANGS_AFTER_S, ROOT

GOOD = {
    "DJANGO_SETTINGS_MODULE": "config.settings.prod",
    "AFORO_SECRET_KEY": "k9!vQ2#xT7@mZ4$wB8%nC1^pL6&dF3*gH5(jR0)sY-eU_aWiOq",
    "AFORO_ALLOWED_HOSTS": "aforo.example.org",
    "DATABASE_URL": "postgres://aforo:secret@db/aforo",
    "AFORO_BROKER_URL": "redis://broker:6379/0",
}


def manage(*arguments, **changes):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AFORO_", "DJANGO_", "DATABASE_"))}
    environment = {k: v for k, v in (kept | GOOD | changes).items() if v is not None}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
    )


def test_check_deploy_is_clean():
    done = manage("check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize("name", ["AFORO_SECRET_KEY", "DATABASE_URL", "AFORO_BROKER_URL"])
def test_what_is_missing_stops_the_start_by_name(name):
    done = manage("check", **{name: None})
    assert done.returncode != 0
    assert f"{name} is required" in done.stderr


def test_switches_of_tests_are_refused_by_checks():
    done = manage("check", AFORO_TEST_PAUSE_AFTER_CHUNK="1")
    assert done.returncode == 1
    assert "AFORO_TEST_PAUSE_AFTER_CHUNK" in done.stderr
    assert "aforo.E001" in done.stderr


@pytest.mark.parametrize("hosts", [None, "*", "aforo.example.org,*"])
def test_hosts_must_be_named(hosts):
    done = manage("check", AFORO_ALLOWED_HOSTS=hosts)
    assert done.returncode == 1
    assert "aforo.E002" in done.stderr


def test_the_web_process_runs_the_checks_too():
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AFORO_", "DJANGO_", "DATABASE_"))}
    done = subprocess.run(
        [sys.executable, "-c", "import config.wsgi"],
        cwd=ROOT,
        env=kept | GOOD | {"AFORO_TEST_PAUSE_AFTER_CHUNK": "1"},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
    )
    assert done.returncode != 0
    assert "aforo.E001" in done.stderr


def test_anonymous_people_are_refused_unless_allowed():
    code = "from django.conf import settings; print(settings.AFORO_ALLOW_ANONYMOUS)"
    assert manage("shell", "--no-imports", "-c", code).stdout.strip() == "False"
    assert manage("shell", "--no-imports", "-c", code, AFORO_ALLOW_ANONYMOUS="1").stdout.strip() == "True"


def test_the_demo_user_is_refused():
    done = manage("shell", "--no-imports", "-c", "from config.access.demo import ensure_demo; ensure_demo()")
    assert done.returncode != 0
    assert "no demo user in production" in done.stderr
