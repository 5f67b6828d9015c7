"""WSGI entry point."""

import os

from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application

from config.chunked_body import ChunkedBodies

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.prod")
application = ChunkedBodies(get_wsgi_application())

if settings.AFORO_ENVIRONMENT == "production":
    # Management commands and workers run the system checks by themselves, a WSGI server does not.
    call_command("check")
