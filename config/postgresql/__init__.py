"""Django's PostgreSQL backend with a deadline for every answer of the server."""
