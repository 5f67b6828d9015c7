"""System checks of the deployment, run by every management command, worker and production web process."""

import os
from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

TEST_ONLY_PREFIX = "AFORO_TEST_"


@register
def no_test_switches_in_production(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Switches that exist for tests of failures stop a production start."""
    if settings.AFORO_ENVIRONMENT != "production":
        return []
    return [
        Error(
            f"{name} is a switch for tests and is set in production.",
            hint="Remove it from the environment.",
            id="aforo.E001",
        )
        for name in sorted(os.environ)
        if name.startswith(TEST_ONLY_PREFIX)
    ]


@register
def hosts_are_named_in_production(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Without host names every request would be refused, and with '*' none."""
    if settings.AFORO_ENVIRONMENT != "production" or (settings.ALLOWED_HOSTS and "*" not in settings.ALLOWED_HOSTS):
        return []
    return [
        Error(
            "AFORO_ALLOWED_HOSTS must name the hosts the service answers to.",
            hint="AFORO_ALLOWED_HOSTS=aforo.example.org,localhost",
            id="aforo.E002",
        )
    ]


SHORTEST_KEY = 50
_FEWEST_DIFFERENT = 10
# Parts of keys that can be read in this repository, or in Django's.
_PUBLISHED = ("development-only", "not-a-secret", "django-insecure", "tests-only")


# Switches that meant several things at once or nothing any more, and what took their place.
_GONE = {
    "AFORO_TLS": "AFORO_HTTPS_REDIRECT, AFORO_SECURE_COOKIES and AFORO_HSTS_S",
    "AFORO_ARTIFACT_STORAGE": "AFORO_ARTIFACT_STORE",
}


@register
def no_switch_that_is_gone(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """A switch that nobody reads any more would be believed to work."""
    if settings.AFORO_ENVIRONMENT != "production":
        return []
    return [
        Error(f"{name} is gone; {instead} took its place.", hint="See docs/configuration.md.", id="aforo.E004")
        for name, instead in _GONE.items()
        if name in os.environ
    ]


@register
def keys_are_secret_in_production(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Keys that can be guessed or read: who has one signs in as anybody."""
    if settings.AFORO_ENVIRONMENT != "production":
        return []
    keys = {"AFORO_SECRET_KEY": [settings.SECRET_KEY], "AFORO_SECRET_KEY_FALLBACKS": settings.SECRET_KEY_FALLBACKS}
    return [
        Error(
            f"{name} {fault}",
            hint="python -c 'import secrets; print(secrets.token_urlsafe(60))'",
            id="aforo.E003",
        )
        for name, found in keys.items()
        for key in found
        if (fault := _fault_of(key))
    ]


def _fault_of(key: str) -> str:
    """What is wrong with a key, without showing it."""
    if any(part in key for part in _PUBLISHED):
        return "is a published key, which everybody knows."
    if len(key) < SHORTEST_KEY:
        return f"is shorter than {SHORTEST_KEY} characters."
    if len(set(key)) < _FEWEST_DIFFERENT:
        return f"has fewer than {_FEWEST_DIFFERENT} different characters."
    return ""
