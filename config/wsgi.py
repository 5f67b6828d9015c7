"""Django as a WSGI application; `config.rsgi` stands in front of it."""

import os

from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.prod")
application = get_wsgi_application()

if settings.AFORO_ENVIRONMENT == "production":
    # Management commands and workers run the system checks by themselves, a web server does not.
    call_command("check")
