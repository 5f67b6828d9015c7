"""Typed readers of environment variables that fail loudly, naming the variable and what is allowed."""

import os
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}
_RATE = re.compile(r"[1-9][0-9]{0,8}/(s|min|h|day)")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_POSTGRESQL_OPTIONS = {"sslmode", "sslrootcert", "connect_timeout", "application_name"}

# WAL lets readers go on beside one writer. IMMEDIATE takes the write lock when a transaction starts: a deferred one
# that turns from reading to writing fails at once if another wrote in between, whatever the timeout (s).
SQLITE_OPTIONS = {
    "timeout": 20,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL;",
}


def text(name: str, default: str | None = None) -> str:
    """The variable as text; without a default it is required."""
    value = os.environ.get(name)
    if value is None or value == "":
        if default is None:
            raise ImproperlyConfigured(f"{name} is required and is not set.")
        return default
    return value


def boolean(name: str, default: bool) -> bool:
    """The variable as a switch: 1/true/yes/on or 0/false/no/off."""
    value = os.environ.get(name)
    if value is None or value == "":
        return default
    if value.lower() in _TRUE:
        return True
    if value.lower() in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name}={value!r} is not a switch: use 1 or 0.")


def integer(name: str, default: int, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """The variable as a whole number within the given bounds."""
    value = os.environ.get(name)
    if value is None or value == "":
        return default
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number.") from None
    if at_least is not None and number < at_least:
        raise ImproperlyConfigured(f"{name}={number} is below the least allowed, {at_least}.")
    if at_most is not None and number > at_most:
        raise ImproperlyConfigured(f"{name}={number} is above the most allowed, {at_most}.")
    return number


def words(name: str, default: Sequence[str] = ()) -> list[str]:
    """The variable as a comma-separated list without empty parts."""
    value = os.environ.get(name)
    if value is None:
        return list(default)
    return [part.strip() for part in value.split(",") if part.strip()]


def choice(name: str, default: str, allowed: Sequence[str]) -> str:
    """The variable as one of the allowed words."""
    value = text(name, default)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name}={value!r} is not one of {', '.join(allowed)}.")
    return value


def rate(name: str, default: str) -> str:
    """The variable as a rate of requests, as 600/min; the period is s, min, h or day."""
    value = text(name, default)
    if not _RATE.fullmatch(value):
        raise ImproperlyConfigured(f"{name}={value!r} is not a rate: write it as 600/min (s, min, h or day).")
    return value


def database(name: str, default: str | None = None) -> dict[str, Any]:
    """The variable, an address as postgres://user:password@host:5432/name or sqlite:///path, as Django's settings.

    The query string of a PostgreSQL address may set sslmode, sslrootcert, connect_timeout and application_name. Parts
    are percent-decoded. What is not understood is refused, never ignored.
    """
    url = text(name, default)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is not an address: {error}.") from None
    if parts.fragment:
        raise ImproperlyConfigured(f"{name} holds a '#': write it as %23.")
    if parts.scheme == "sqlite":
        return _sqlite(name, parts)
    if parts.scheme in {"postgres", "postgresql"}:
        return _postgresql(name, parts, port)
    raise ImproperlyConfigured(f"{name} must start with postgres:// or sqlite:///, not {parts.scheme!r}.")


def _sqlite(name: str, parts: SplitResult) -> dict[str, Any]:
    path = unquote(parts.path)
    if parts.netloc or parts.query or len(path) < 2 or "\0" in path:
        raise ImproperlyConfigured(
            f"{name} must be sqlite:///relative/path, sqlite:////absolute/path or sqlite:///:memory:."
        )
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": path[1:], "OPTIONS": dict(SQLITE_OPTIONS)}


def _postgresql(name: str, parts: SplitResult, port: int | None) -> dict[str, Any]:
    database_name = unquote(parts.path.removeprefix("/"))
    if not parts.hostname or not database_name or "/" in database_name or "\0" in unquote(parts.geturl()):
        raise ImproperlyConfigured(f"{name} must be postgres://user:password@host:port/name.")
    try:
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise ImproperlyConfigured(f"{name} has a query string that cannot be read.") from None
    if unknown := sorted(set(options) - _POSTGRESQL_OPTIONS):
        raise ImproperlyConfigured(
            f"{name} has unknown options {', '.join(unknown)}; allowed: {', '.join(sorted(_POSTGRESQL_OPTIONS))}."
        )
    return {
        "ENGINE": "config.postgresql",
        "NAME": database_name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname),
        "PORT": str(port or 5432),
        "OPTIONS": {**_postgresql_deadlines(), **options},
    }


def held(database: dict[str, Any]) -> dict[str, Any]:
    """The database's settings with who holds its connections.

    Each thread keeps its own for ten minutes; or the process has a pool, from which a request takes one for as long as
    it lasts. One made for each request would cost more than most requests do (2 ms).
    """
    keeps = {"CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True}
    if database["ENGINE"] != "config.postgresql":
        return database | keeps
    # A pooler in between gives a server's connection to another client after each transaction.
    keeps["DISABLE_SERVER_SIDE_CURSORS"] = bool(integer("AFORO_DATABASE_POOLER", 0, at_least=0, at_most=1))
    options = dict(database["OPTIONS"])
    if keeps["DISABLE_SERVER_SIDE_CURSORS"]:
        options.pop("options", None)
    if size := integer("AFORO_DATABASE_POOL", 0, at_least=0, at_most=1000):
        wait_s = integer("AFORO_DATABASE_POOL_WAIT_S", 3, at_least=1, at_most=60)
        options["pool"] = {"min_size": 1, "max_size": size, "timeout": wait_s, "max_idle": 60, "name": "aforo"}
        keeps["CONN_MAX_AGE"] = 0
    return database | keeps | {"OPTIONS": options}


def _postgresql_deadlines() -> dict[str, Any]:
    """Deadlines of a connection: to be made, for each statement, and for noticing that the server is gone.

    Keepalives find a dead peer after idle + count × interval = 25 s; tcp_user_timeout (ms) one that takes no data. A
    server that lives and does not answer is left to `config.postgresql`, which waits a little longer than the server
    gives a statement.
    """
    connect_s = integer("AFORO_DATABASE_CONNECT_WITHIN_S", 5, at_least=2, at_most=60)
    statement_s = integer("AFORO_STATEMENT_WITHIN_S", 20, at_least=0, at_most=3600)
    limits = {"options": f"-c statement_timeout={statement_s}s", "answer_within_s": statement_s + 2}
    return {
        "connect_timeout": connect_s,
        "keepalives": 1,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 15_000,
        **(limits if statement_s else {}),
    }


def broker(name: str, default: str | None = None) -> str:
    """The variable as the address of a broker: redis://…, rediss://…, redis+socket:///path, or file:///folder.

    The last is the embedded default.
    """
    url = text(name, default)
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is not an address: {error}.") from None
    if parts.scheme in {"redis", "rediss"}:
        if not parts.hostname or not (parts.path in {"", "/"} or parts.path[1:].isdigit()):
            raise ImproperlyConfigured(f"{name} must be redis://user:password@host:port/number.")
        return url
    if parts.scheme == "redis+socket":
        if parts.netloc or len(parts.path) < 2:
            raise ImproperlyConfigured(f"{name} must be redis+socket:///path of the socket.")
        return url
    if parts.scheme == "file":
        if parts.netloc or len(parts.path) < 2:
            raise ImproperlyConfigured(f"{name} must be file:///folder.")
        return url
    raise ImproperlyConfigured(
        f"{name} must start with redis://, rediss://, redis+socket:/// or file:///, not {parts.scheme!r}."
    )


def bucket(name: str) -> str:
    """The variable as the address of a bucket, s3://bucket or s3://bucket/prefix; empty where none is set."""
    url = text(name, "")
    if not url:
        return ""
    parts = urlsplit(url)
    if parts.scheme != "s3" or not _BUCKET.fullmatch(parts.netloc) or parts.query or parts.fragment:
        raise ImproperlyConfigured(f"{name} must be s3://bucket or s3://bucket/prefix.")
    return url


def cache(name: str) -> str:
    """The variable as the address of a Redis cache, as Django's backend reads it; empty where none is set.

    The schemes are those of a broker, so that one address serves for both.
    """
    if not text(name, ""):
        return ""
    url = broker(name)
    if url.startswith("file:"):
        raise ImproperlyConfigured(f"{name} must start with redis://, rediss:// or redis+socket:///.")
    return url.replace("redis+socket://", "unix://", 1)
