"""App configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CatalogConfig(AppConfig):
    """See docs/ for what lives here."""

    name = "catalog"
    verbose_name = _("Catalog")
