"""Settings that hold everywhere; dev, test and prod say what differs."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

from config import env
from config.settings.api import REST_FRAMEWORK, SPECTACULAR_SETTINGS  # noqa: F401  settings
from config.settings.csp import CONTENT_SECURITY_POLICY  # noqa: F401  settings
from config.settings.unfold import UNFOLD  # noqa: F401  settings

BASE_DIR = Path(__file__).resolve().parents[2]
DATA_DIR = Path(env.text("AFORO_DATA_DIR", str(BASE_DIR / "var"))).absolute()

INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "unfold.contrib.import_export",
    "unfold.contrib.simple_history",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "simple_history",
    "import_export",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    "config.access",
    "config.health",
    "catalog",
    "estimator",
    "reports",
    "receipts",
    "pages",
]

MIDDLEWARE = [
    "config.middleware.RequestIdMiddleware",
    "config.middleware.AccessLogMiddleware",
    "config.middleware.ProbesMiddleware",
    "config.middleware.ContentSecurityPolicyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.ApiProblemMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "simple_history.middleware.HistoryRequestMiddleware",
    "axes.middleware.AxesMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "config" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
AUTH_USER_MODEL = "access.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
# People log in at the admin alone; an address to go on to that is unsafe, or none, leads there too.
LOGIN_URL = "log-in"
LOGIN_REDIRECT_URL = "admin:index"
AXES_HANDLER = "config.access.lockout.LockoutHandler"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "username", "ip_address"]
AXES_FAILURE_LIMIT = env.integer("AFORO_LOGIN_FAILURES", 5, at_least=1, at_most=100)
AXES_COOLOFF_TIME = timedelta(minutes=env.integer("AFORO_LOGIN_LOCKED_MINUTES", 15, at_least=1, at_most=1440))
# Who goes on trying while shut out does not prolong it, for then anybody could shut a user out for ever.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "config.access.lockout.address_of"
AXES_LOCKOUT_CALLABLE = "config.access.lockout.locked_out"
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

USE_TZ = True
TIME_ZONE = "UTC"
# No catalogue of translations is shipped yet (docs/adr/0012): one language whole, and not Django's half of another.
# Nothing is looked up then; a look-up in an empty catalogue cost up to a tenth of an answer's time.
USE_I18N = False
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English"))]

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "config" / "static"]

# Seconds within which Redis must let in and answer: longer than a worker's wait for a message (1 s).
AFORO_REDIS_WITHIN_S = env.integer("AFORO_REDIS_WITHIN_S", 2, at_least=2, at_most=60)

CACHES: dict[str, Any] = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 20_000},
    }
}
if _cache_url := env.cache("AFORO_CACHE_URL"):
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": _cache_url,
            "OPTIONS": {
                "socket_connect_timeout": AFORO_REDIS_WITHIN_S,
                "socket_timeout": AFORO_REDIS_WITHIN_S,
                "socket_keepalive": True,
            },
        }
    }

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"

AFORO_ENVIRONMENT = "development"
AFORO_ALLOW_ANONYMOUS = env.boolean("AFORO_ALLOW_ANONYMOUS", False)
AFORO_TOKEN_DAYS = env.integer("AFORO_TOKEN_DAYS", 90, at_least=1, at_most=3650)
AFORO_TOKEN_KEPT_S = env.integer("AFORO_TOKEN_KEPT_S", 5, at_least=0, at_most=300)
AFORO_MAX_BODY_BYTES = env.integer("AFORO_MAX_BODY_BYTES", 2 * 1024 * 1024, at_least=1024)
AFORO_MAX_UPLOAD_BYTES = env.integer("AFORO_MAX_UPLOAD_BYTES", 10 * 1024 * 1024, at_least=1024)
# Usage billed by the file: its bytes, its lines, how many files at once, and how long one may take to come.
AFORO_MAX_BATCH_BYTES = env.integer("AFORO_MAX_BATCH_BYTES", 1024 * 1024 * 1024, at_least=1024)
AFORO_MAX_BATCH_LINES = env.integer("AFORO_MAX_BATCH_LINES", 1_000_000, at_least=1, at_most=20_000_000)
AFORO_MAX_BATCH_QUESTIONS = env.integer("AFORO_MAX_BATCH_QUESTIONS", 500, at_least=1, at_most=10_000)
AFORO_BATCHES_AT_ONCE = env.integer("AFORO_BATCHES_AT_ONCE", 2, at_least=1, at_most=64)
AFORO_UPLOAD_WITHIN_S = env.integer("AFORO_UPLOAD_WITHIN_S", 600, at_least=1, at_most=86_400)
AFORO_MAX_HELD_BODY_BYTES = env.integer("AFORO_MAX_HELD_BODY_BYTES", 64 * 1024 * 1024, at_least=1024)
AFORO_MAX_WAITING_BODIES = env.integer("AFORO_MAX_WAITING_BODIES", 256, at_least=1, at_most=10_000)
AFORO_BODY_WITHIN_S = env.integer("AFORO_BODY_WITHIN_S", 20, at_least=1, at_most=600)
AFORO_SEND_WITHIN_S = env.integer("AFORO_SEND_WITHIN_S", 60, at_least=1, at_most=3600)
# Requests that wait for a report (Prefer: wait): the longest wait, and how many may wait in a web process.
AFORO_MAX_WAIT_S = env.integer("AFORO_MAX_WAIT_S", 60, at_least=0, at_most=600)
AFORO_MAX_WAITING_REQUESTS = env.integer("AFORO_MAX_WAITING_REQUESTS", 1000, at_least=0, at_most=100_000)
AFORO_SWEEP_CHUNK_ROWS = env.integer("AFORO_SWEEP_CHUNK_ROWS", 50_000, at_least=1, at_most=200_000)
AFORO_LEASE_S = env.integer("AFORO_LEASE_S", 60, at_least=2, at_most=600)
AFORO_ARTIFACT_DIR = Path(env.text("AFORO_ARTIFACT_DIR", str(DATA_DIR / "artifacts"))).absolute()
AFORO_SCRATCH_DIR = Path(env.text("AFORO_SCRATCH_DIR", str(DATA_DIR / "scratch"))).absolute()
# Empty: the folder keeps report files; else a bucket of an S3 service (docs/reports.md).
AFORO_ARTIFACT_STORE = env.bucket("AFORO_ARTIFACT_STORE")
AFORO_ARTIFACT_CACHE_BYTES = env.integer("AFORO_ARTIFACT_CACHE_BYTES", 10_000_000_000, at_least=0)
AFORO_REDIRECT_DOWNLOADS = env.boolean("AFORO_REDIRECT_DOWNLOADS", False)
AFORO_S3_ADDRESSING = env.choice("AFORO_S3_ADDRESSING", "auto", ["auto", "path", "virtual"])
AFORO_STORE_WAIT_S = env.integer("AFORO_STORE_WAIT_S", 90, at_least=0, at_most=1800)
AFORO_ARTIFACT_RETENTION_DAYS = env.integer("AFORO_ARTIFACT_RETENTION_DAYS", 30, at_least=1)
# Set where nginx (or alike) serves the files: its internal location, as in docs/reports.md.
AFORO_X_ACCEL_PREFIX = env.text("AFORO_X_ACCEL_PREFIX", "")
# Limits of one owner: what waits or runs, and what is stored.
AFORO_MAX_VERSIONS_IN_FLIGHT = env.integer("AFORO_MAX_VERSIONS_IN_FLIGHT", 120, at_least=1)
AFORO_MAX_ROWS_IN_FLIGHT = env.integer("AFORO_MAX_ROWS_IN_FLIGHT", 10_000_000, at_least=1)
AFORO_MAX_STORED_BYTES = env.integer("AFORO_MAX_STORED_BYTES", 20_000_000_000, at_least=1)
AFORO_DISK_FULL_RETRY_S = env.integer("AFORO_DISK_FULL_RETRY_S", 900, at_least=0)
AFORO_LEFTOVERS_AFTER_S = env.integer("AFORO_LEFTOVERS_AFTER_S", 900, at_least=0)
AFORO_MAX_SWEEP_ROWS = env.integer("AFORO_MAX_SWEEP_ROWS", 2_000_000, at_least=1)
AFORO_BROKER_URL = env.broker("AFORO_BROKER_URL", (DATA_DIR / "broker").as_uri())

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "config.log_format.TextFormatter"},
        "json": {"()": "config.log_format.JsonFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": env.choice("AFORO_LOG_FORMAT", "text", ["text", "json"]),
        },
    },
    "root": {
        "handlers": ["stderr"],
        "level": env.choice("AFORO_LOG_LEVEL", "INFO", ["DEBUG", "INFO", "WARNING", "ERROR"]),
    },
    "loggers": {
        # Our access log says the same with the request id; this one would say it again without.
        "django.request": {"level": "ERROR"},
        "django.server": {"handlers": [], "propagate": False},
        # It says at each start where it found its keys.
        "botocore": {"level": "WARNING"},
    },
}
