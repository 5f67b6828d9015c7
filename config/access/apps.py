"""App of users, groups and API tokens."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccessConfig(AppConfig):
    """Users and tokens live inside config because the top level of the repository is fixed."""

    name = "config.access"
    label = "access"
    verbose_name = _("Access")

    def ready(self) -> None:
        """Registers the system checks, how the schema describes authentication, and what forgets kept tokens."""
        from config import checks  # noqa: F401  registers on import
        from config.access import (
            kept_tokens,
            schema,  # noqa: F401  registers on import
        )

        kept_tokens.connect()
