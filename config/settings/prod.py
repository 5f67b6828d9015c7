"""Production: nothing has a convenient default, what is missing stops the start."""

from pathlib import Path

from config import env
from config.settings.base import *  # noqa: F403  settings modules are layered by star import
from config.settings.base import DATA_DIR, DATABASE_PERSISTENCE, LOGGING

AFORO_ENVIRONMENT = "production"
DEBUG = False
SECRET_KEY = env.text("AFORO_SECRET_KEY")
ALLOWED_HOSTS = env.words("AFORO_ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = env.words("AFORO_CSRF_TRUSTED_ORIGINS")
DATABASES = {"default": env.database("DATABASE_URL") | DATABASE_PERSISTENCE}
AFORO_BROKER_URL = env.broker("AFORO_BROKER_URL")
LOGGING["handlers"]["stderr"]["formatter"] = env.choice("AFORO_LOG_FORMAT", "json", ["text", "json"])

STATIC_ROOT = Path(env.text("AFORO_STATIC_DIR", str(DATA_DIR / "static")))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# Off only where something in front speaks TLS to people and plain HTTP on a private network to us.
AFORO_TLS = env.boolean("AFORO_TLS", True)
SECURE_SSL_REDIRECT = AFORO_TLS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SESSION_COOKIE_SECURE = AFORO_TLS
CSRF_COOKIE_SECURE = AFORO_TLS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if AFORO_TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = AFORO_TLS
SECURE_HSTS_PRELOAD = AFORO_TLS
if env.integer("AFORO_TRUSTED_PROXIES", 0, at_least=0, at_most=10):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
