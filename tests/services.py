"""The real PostgreSQL and Redis of the services tier: a database and a Redis number for each who asks."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis

from tests import templates
from tests.live import HANGS_AFTER_S

POSTGRESQL = os.environ.get("AFORO_TEST_POSTGRESQL_URL", "postgres://postgres@127.0.0.1:5432/postgres")
REDIS = os.environ.get("AFORO_TEST_REDIS_URL", "redis://127.0.0.1:6379")
_CLAIM_KEY = "aforo:test:claimed"
_CLAIM_S = 900


@cache
def missing() -> str | None:
    """Why the services tier cannot run here; None if it can."""
    try:
        psycopg.connect(POSTGRESQL, connect_timeout=int(HANGS_AFTER_S)).close()
        redis.Redis.from_url(f"{REDIS}/0", socket_connect_timeout=HANGS_AFTER_S).ping()
    except (psycopg.OperationalError, redis.RedisError) as error:
        return f"the services tier needs PostgreSQL and Redis: {error}"
    return None


@contextmanager
def postgresql_database(kind: templates.Kind | None = None) -> Iterator[str]:
    """Address of a new database, empty or a copy; dropped at the end with whoever is still connected."""
    name = f"test_aforo_{uuid.uuid4().hex[:12]}"
    template = "template1" if kind is None else templates.postgresql_database(kind, POSTGRESQL)
    with psycopg.connect(POSTGRESQL, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    try:
        yield urlunsplit(urlsplit(POSTGRESQL)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(POSTGRESQL, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@contextmanager
def redis_database() -> Iterator[str]:
    """Address of an empty Redis number that nobody else uses; emptied at the end, and only that one."""
    for number in range(15, 0, -1):
        url = f"{REDIS}/{number}"
        client = redis.Redis.from_url(url)
        if client.dbsize() == 0 and client.set(_CLAIM_KEY, "1", nx=True, ex=_CLAIM_S):
            try:
                yield url
            finally:
                client.flushdb()
                client.close()
            return
        client.close()
    raise RuntimeError("No Redis number is free for a test.")
