"""App configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CatalogConfig(AppConfig):
    """See docs/catalog.md for what lives here."""

    name = "catalog"
    verbose_name = _("Catalog")

    def ready(self) -> None:
        """Connect the signals once all models are loaded."""
        from catalog import price_facts, signals  # models can be imported only now

        signals.connect(self)
        price_facts.register_price_kinds()
