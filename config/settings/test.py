"""Settings of the test suite."""

import os
import tempfile
from pathlib import Path

from config import env
from config.settings.api import THROTTLE_RATES
from config.settings.base import *  # noqa: F403  settings modules are layered by star import

# A busy machine is no reason for a test to fail.
os.environ.setdefault("AFORO_STATEMENT_WITHIN_S", "0")

DEBUG = False
SECRET_KEY = "tests-only-not-a-secret"
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
# The services tier runs on PostgreSQL: AFORO_TEST_DATABASE_URL=postgres://postgres@127.0.0.1:5432/aforo
DATABASES = {"default": env.database("AFORO_TEST_DATABASE_URL", "sqlite:///:memory:")}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# Removed when the process ends.
_data_dir = tempfile.TemporaryDirectory(prefix="aforo-test-")
DATA_DIR = Path(_data_dir.name)
AFORO_SCRATCH_DIR = DATA_DIR / "scratch"
AFORO_BROKER_URL = (DATA_DIR / "broker").as_uri()
AFORO_ENVIRONMENT = "test"
AFORO_ALLOW_ANONYMOUS = True
AFORO_TEST_PAUSE_AFTER_CHUNK = ""
THROTTLE_RATES.update(dict.fromkeys(THROTTLE_RATES, "1000000/min"))
# Tests sign people in without a request; those of the lock-out turn it on.
AXES_ENABLED = False
WHITENOISE_USE_FINDERS = True
