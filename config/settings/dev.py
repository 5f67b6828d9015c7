"""Development and `make run`: embedded defaults, bound to this machine."""

from urllib.parse import quote

from config import env
from config.settings.api import THROTTLE_RATES
from config.settings.base import *  # noqa: F403  settings modules are layered by star import
from config.settings.base import DATA_DIR

DATA_DIR.mkdir(parents=True, exist_ok=True)

# Off unless asked for: with it on, every query is kept in memory and errors show pages instead of problems.
DEBUG = env.boolean("AFORO_DEBUG", False)
SECRET_KEY = env.text("AFORO_SECRET_KEY", "development-only-not-a-secret")
SECRET_KEY_FALLBACKS = env.words("AFORO_SECRET_KEY_FALLBACKS")
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", *env.words("AFORO_ALLOWED_HOSTS")]
DATABASES = {"default": env.held(env.database("DATABASE_URL", f"sqlite:///{quote(str(DATA_DIR / 'aforo.sqlite3'))}"))}

AFORO_ALLOW_ANONYMOUS = env.boolean("AFORO_ALLOW_ANONYMOUS", True)
THROTTLE_RATES["anon"] = env.rate("AFORO_THROTTLE_ANON", "60000/min")

# Static files straight from the packages: no collectstatic before the first page.
WHITENOISE_USE_FINDERS = True

# Set by tests of failures, refused in production (config/checks.py).
AFORO_TEST_PAUSE_AFTER_CHUNK = env.text("AFORO_TEST_PAUSE_AFTER_CHUNK", "")
