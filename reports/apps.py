"""App configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ReportsConfig(AppConfig):
    """See docs/ for what lives here."""

    name = "reports"
    verbose_name = _("Reports")
