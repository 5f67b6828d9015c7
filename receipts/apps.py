"""App configuration."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class ReceiptsConfig(AppConfig):
    """Predictions kept, measurements held against them, calibrations from a few of them."""

    name = "receipts"
    verbose_name = _("Receipts")

    def ready(self) -> None:
        """Keep the triggers in place after every migrate; tell the estimates what runs say."""
        from catalog.usage import register_usage
        from estimator.resolvers.calibrations import register
        from receipts import triggers
        from receipts.services.calibrations import switched_on
        from receipts.usage import calibrations_of, measurements_of

        register(switched_on)
        register_usage("calibrations", calibrations_of)
        register_usage("measurements", measurements_of)
        post_migrate.connect(triggers.on_post_migrate, sender=self, dispatch_uid="receipts.triggers")
