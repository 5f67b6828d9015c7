"""Development and `make run`: embedded defaults, bound to this machine."""

from config.settings.base import *  # noqa: F403  settings modules are layered by star import
from config.settings.base import DATA_DIR

DEBUG = True
SECRET_KEY = "development-only-not-a-secret"
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DATA_DIR / "aforo.sqlite3"}}
