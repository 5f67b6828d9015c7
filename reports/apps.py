"""App configuration."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class ReportsConfig(AppConfig):
    """Saved, versioned, downloadable sweeps."""

    name = "reports"
    verbose_name = _("Reports")

    def ready(self) -> None:
        """Keep the triggers of frozen versions in place after every migrate; tell the catalog what reports use."""
        from catalog.review import register_question
        from catalog.usage import register_usage
        from reports import triggers
        from reports.review import failed_reports
        from reports.usage import versions_with

        register_usage("reports", versions_with)
        register_question("failed-reports", failed_reports)
        post_migrate.connect(triggers.on_post_migrate, sender=self, dispatch_uid="reports.triggers")
