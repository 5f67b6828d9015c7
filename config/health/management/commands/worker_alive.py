"""`manage.py worker_alive`: whether the worker of this machine has beaten lately; for health checks."""

import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.health.services import STALE_AFTER_S, beat_age_s


class Command(BaseCommand):
    """Fails if no worker of this host is alive."""

    help = "Exits with an error if no worker of this host has reported lately."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Looks for a heartbeat of this host."""
        host = socket.gethostname()
        age_s = beat_age_s(f"@{host}")
        if age_s is None or age_s > STALE_AFTER_S:
            raise CommandError(f"no worker of {host} has reported within {STALE_AFTER_S:g} s")
