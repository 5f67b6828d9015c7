"""App configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EstimatorConfig(AppConfig):
    """See docs/ for what lives here."""

    name = "estimator"
    verbose_name = _("Estimator")
