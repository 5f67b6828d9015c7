"""Settings of the test suite."""

from config.settings.base import *  # noqa: F403  settings modules are layered by star import

DEBUG = False
SECRET_KEY = "tests-only-not-a-secret"
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
