"""What every test may use; see CONTRIBUTING.md, "Tests"."""

import gzip
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.http import HttpResponseBase
from django.test.client import ClientHandler

from tests import services, templates
from tests.live import LiveService, embedded_environment
from tests.published_schema import hold
from tests.starts import started_in

REQUIRE_SERVICES = os.environ.get("AFORO_REQUIRE_SERVICES") == "1"
REQUIRE_SHARED = os.environ.get("AFORO_REQUIRE_SHARED") == "1"
_MUST_RUN = ("services", "browser")
# A condition in a subquery is not checked again after waiting for a row lock (READ COMMITTED), and Django makes a
# subquery of every filter that joins: the guards of a write stand in its own WHERE.
_GUARD_IN_A_SUBQUERY = re.compile(
    r"(UPDATE|DELETE FROM) \"(reports|catalog|access|health)_.* WHERE .*\bIN \(SELECT ", re.S
)


def refuse_guards_in_subqueries(execute: Any, sql: str, *rest: Any) -> Any:
    assert not _GUARD_IN_A_SUBQUERY.match(sql), f"the guards of this write are in a subquery: {sql}"
    return execute(sql, *rest)


@receiver(connection_created)
def watch_writes(connection: Any, **_: Any) -> None:
    """Every write of every test, in any thread."""
    connection.execute_wrappers.append(refuse_guards_in_subqueries)


@receiver(connection_created)
def fill_with_tables(connection: Any, **_: Any) -> None:
    """The database in memory begins as a copy of a migrated one: `migrate` then finds nothing to do."""
    if connection.vendor == "sqlite" and connection.is_in_memory_db():
        here = connection.connection
        if not here.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            with sqlite3.connect(templates.sqlite_file("migrated")) as made:
                made.backup(here)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """So does the one on PostgreSQL."""
    if settings.DATABASES["default"]["ENGINE"].endswith("postgresql") and services.missing() is None:
        from django.db import connection

        connection.settings_dict["TEST"]["TEMPLATE"] = templates.postgresql_database("migrated", services.POSTGRESQL)


_answer = ClientHandler.__call__


def published_answer(handler: ClientHandler, environ: dict[str, Any]) -> HttpResponseBase:
    """What the service answers to a test's client, held against the published schema."""
    response = _answer(handler, environ)
    request: WSGIRequest = response.wsgi_request
    # Other addresses than the service's own are other APIs; a stream has no body yet.
    if settings.ROOT_URLCONF == "config.urls" and getattr(request, "urlconf", None) is None:
        body = b"" if response.streaming else response.content
        if response.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        content_type = response.headers.get("Content-Type", "").partition(";")[0]
        hold(request.method, request.path, response.status_code, content_type, body, response.headers)
    return response


ClientHandler.__call__ = published_answer


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("services") and (reason := services.missing()):
        pytest.skip(reason)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Where everything is there (CI), a skip of what needs it is a failure: a test that never runs protects nothing."""
    outcome: Any = yield
    report = outcome.get_result()
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    needs_services = REQUIRE_SERVICES and any(item.get_closest_marker(name) for name in _MUST_RUN)
    needs_shared = REQUIRE_SHARED and "shared" in str(report.longrepr)
    if needs_services or needs_shared:
        report.outcome = "failed"
        report.longrepr = f"skipped where it must run: {report.longrepr}"


@pytest.fixture
def live_service(tmp_path: Path) -> Iterator[Callable[..., LiveService]]:
    """Starts `make run`'s supervisor in a data folder of its own: `live_service(AFORO_SWEEP_CHUNK_ROWS="64")`."""
    with started_in(tmp_path) as start:
        yield start


@pytest.fixture
def services_environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Environment of a process on real PostgreSQL (the catalog loaded) and Redis, each of its own."""
    with services.postgresql_database("whole") as database_url, services.redis_database() as redis_url:
        yield embedded_environment(tmp_path) | {"DATABASE_URL": database_url, "AFORO_BROKER_URL": redis_url}


@pytest.fixture
def empty_services_environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The same on an empty database."""
    with services.postgresql_database() as database_url, services.redis_database() as redis_url:
        yield embedded_environment(tmp_path) | {"DATABASE_URL": database_url, "AFORO_BROKER_URL": redis_url}
