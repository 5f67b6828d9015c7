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


# Our own checks, which read nothing but settings; that commands and the web process run them is tested by itself.
CHECK = """
import sys
from django.core.checks.registry import registry
from config import checks
ours = [check for check in registry.registered_checks if check.__module__ == checks.__name__]
assert len(ours) >= 4, ours
found = [error for check in ours for error in check(None)]
print(*found, sep="\\n", file=sys.stderr)
sys.exit(bool(found))
"""


def manage(*arguments, **changes):
    return python("manage.py", *arguments, **changes)


def check(**changes):
    return python("-c", CHECK, **changes)


def python(*arguments, **changes):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AFORO_", "DJANGO_", "DATABASE_"))}
    environment = {k: v for k, v in (kept | GOOD | changes).items() if v is not None}
    return subprocess.run(
        [sys.executable, *arguments],
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
    done = check(**{name: None})
    assert done.returncode != 0
    assert f"{name} is required" in done.stderr


def test_switches_of_tests_are_refused_by_checks():
    done = manage("check", AFORO_TEST_PAUSE_AFTER_CHUNK="1")
    assert done.returncode == 1
    assert "AFORO_TEST_PAUSE_AFTER_CHUNK" in done.stderr
    assert "aforo.E001" in done.stderr


def test_a_switch_that_is_gone_is_refused_and_says_what_took_its_place():
    done = check(AFORO_TLS="0")
    assert done.returncode == 1
    assert "AFORO_TLS is gone; AFORO_HTTPS_REDIRECT" in done.stderr


@pytest.mark.parametrize("hosts", [None, "*", "aforo.example.org,*"])
def test_hosts_must_be_named(hosts):
    done = check(AFORO_ALLOWED_HOSTS=hosts)
    assert done.returncode == 1
    assert "aforo.E002" in done.stderr


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("AFORO_SECRET_KEY", "x"),
        ("AFORO_SECRET_KEY", "k9!vQ2#xT7@mZ4$wB8%nC1^pL6&dF3*gH5(jR0)sY-eU_aWiO"),
        ("AFORO_SECRET_KEY", "development-only-not-a-secret"),
        ("AFORO_SECRET_KEY", "development-only-not-a-secret" * 3),
        ("AFORO_SECRET_KEY", "s" * 60),
        ("AFORO_SECRET_KEY", "django-insecure-k9!vQ2#xT7@mZ4$wB8%nC1^pL6&dF3*gH5(jR0)sY-eU"),
        ("AFORO_SECRET_KEY_FALLBACKS", f"{GOOD['AFORO_SECRET_KEY']},short"),
    ],
)
def test_keys_that_can_be_guessed_or_read_are_refused_and_not_shown(name, key):
    done = check(**{name: key})
    assert done.returncode == 1
    assert f"{name} " in done.stderr
    assert "aforo.E003" in done.stderr
    assert key == "x" or key not in done.stderr


def setting(expression, **changes):
    code = f"from django.conf import settings; print({expression})"
    return python("-c", code, **changes).stdout.strip()


def test_what_a_former_key_signed_stays_good():
    sign = "from django.core import signing; print(signing.Signer(salt='reports.share-link').sign('x'))"
    signed = python("-c", sign).stdout.strip()
    read = f"from django.core import signing; print(signing.Signer(salt='reports.share-link').unsign('{signed}'))"
    new = GOOD["AFORO_SECRET_KEY"][::-1]
    kept = {"AFORO_SECRET_KEY": new, "AFORO_SECRET_KEY_FALLBACKS": GOOD["AFORO_SECRET_KEY"]}
    assert python("-c", read, **kept).stdout.strip() == "x"
    assert "BadSignature" in python("-c", read, AFORO_SECRET_KEY=new).stderr


def test_secure_cookies_and_hsts_are_switches_of_their_own():
    shown = (
        "settings.SECURE_SSL_REDIRECT, settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE, "
        "settings.SECURE_HSTS_SECONDS, settings.SECURE_HSTS_INCLUDE_SUBDOMAINS, settings.SECURE_HSTS_PRELOAD"
    )
    assert setting(shown) == "True True True 31536000 False False"
    # Behind a proxy that speaks TLS.
    assert setting(shown, AFORO_HTTPS_REDIRECT="0") == "False True True 31536000 False False"
    assert setting(shown, AFORO_SECURE_COOKIES="0") == "True False False 31536000 False False"
    asked = {"AFORO_HSTS_S": "60", "AFORO_HSTS_SUBDOMAINS": "1", "AFORO_HSTS_PRELOAD": "1"}
    assert setting(shown, **asked) == "True True True 60 True True"


def test_the_web_process_runs_the_checks_too():
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AFORO_", "DJANGO_", "DATABASE_"))}
    done = subprocess.run(
        [sys.executable, "-c", "import config.rsgi"],
        cwd=ROOT,
        env=kept | GOOD | {"AFORO_TEST_PAUSE_AFTER_CHUNK": "1"},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
    )
    assert done.returncode != 0
    assert "aforo.E001" in done.stderr


def test_anonymous_people_are_refused_unless_allowed():
    assert setting("settings.AFORO_ALLOW_ANONYMOUS") == "False"
    assert setting("settings.AFORO_ALLOW_ANONYMOUS", AFORO_ALLOW_ANONYMOUS="1") == "True"


def test_the_demo_user_is_refused():
    done = manage("shell", "--no-imports", "-c", "from config.access.demo import ensure_demo; ensure_demo()")
    assert done.returncode != 0
    assert "no demo user in production" in done.stderr


def test_the_image_starts_the_web_server_as_make_run_does():
    from config.supervisor.__main__ import GRANIAN_OPTIONS

    command = (ROOT / "Dockerfile").read_text().split("CMD ")[1].replace("\\\n", "")
    assert [part for part in GRANIAN_OPTIONS if f'"{part}"' not in command] == []
    assert '"config.rsgi:application"' in command
