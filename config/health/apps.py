"""App of liveness, readiness and the workers' heartbeats."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class HealthConfig(AppConfig):
    """What monitors and the supervisor ask."""

    name = "config.health"
    label = "health"
    verbose_name = _("Health")

    def ready(self) -> None:
        """Makes our Celery app the one that tasks are sent with, in every process."""
        from config import celery  # noqa: F401  sets the current app on import
