"""Production: nothing has a convenient default, what is missing stops the start."""

from pathlib import Path

from config import env
from config.settings.base import *  # noqa: F403  settings modules are layered by star import
from config.settings.base import DATA_DIR, LOGGING

AFORO_ENVIRONMENT = "production"
DEBUG = False
SECRET_KEY = env.text("AFORO_SECRET_KEY")
# Former keys: what they signed (sessions, share links) stays good.
SECRET_KEY_FALLBACKS = env.words("AFORO_SECRET_KEY_FALLBACKS")
ALLOWED_HOSTS = env.words("AFORO_ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = env.words("AFORO_CSRF_TRUSTED_ORIGINS")
DATABASES = {"default": env.held(env.database("DATABASE_URL"))}
AFORO_BROKER_URL = env.broker("AFORO_BROKER_URL")
LOGGING["handlers"]["stderr"]["formatter"] = env.choice("AFORO_LOG_FORMAT", "json", ["text", "json"])

STATIC_ROOT = Path(env.text("AFORO_STATIC_DIR", str(DATA_DIR / "static")))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# 1 where this service itself is reached by HTTPS only; 0 where something in front turns people to HTTPS.
SECURE_SSL_REDIRECT = env.boolean("AFORO_HTTPS_REDIRECT", True)
# Browsers send cookies by HTTPS alone, whoever speaks it; 0 only where people come by plain HTTP.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.boolean("AFORO_SECURE_COOKIES", True)
# For as long as it says browsers use HTTPS for this host, so it is tried with a short time first; preload is for ever.
SECURE_HSTS_SECONDS = env.integer("AFORO_HSTS_S", 365 * 24 * 3600, at_least=0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.boolean("AFORO_HSTS_SUBDOMAINS", False)
SECURE_HSTS_PRELOAD = env.boolean("AFORO_HSTS_PRELOAD", False)
# What the switches above leave out is left out on purpose.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
if env.integer("AFORO_TRUSTED_PROXIES", 0, at_least=0, at_most=10):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
