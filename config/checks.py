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
