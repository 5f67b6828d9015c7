"""How the OpenAPI schema describes our authentication."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class BearerScheme(OpenApiAuthenticationExtension):
    """The bearer token."""

    target_class = "config.access.authentication.BearerAuthentication"
    name = "bearerAuth"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The security scheme object."""
        return {"type": "http", "scheme": "bearer", "description": "An API token, `afo_…`."}
