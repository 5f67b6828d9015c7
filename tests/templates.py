"""Databases made once and copied: migrated, and with the shipped catalog loaded.

Migrating and `load_catalog` take seconds each; tests of other things only need their outcome. Each is run once per
state of the code: into SQLite files under var/, and into PostgreSQL databases that others are made of.
"""

import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.live import ROOT, embedded_environment

# No rows; the catalog of our own files; with the prices of the package genai-prices too, as `make run` has it.
Kind = Literal["migrated", "own", "whole"]
_STEPS: dict[Kind, list[list[str]]] = {
    "migrated": [],
    "own": [["load_catalog", "-v0", "--without-genai-prices"]],
    "whole": [["load_catalog", "-v0"]],
}
_CACHE = ROOT / "var" / "test-databases"
# Whatever decides what the tables and rows are.
_SOURCES = (
    "catalog/**/*.*",
    "estimator/constants/**/*.*",
    "estimator/engine/specs.py",
    "estimator/engine/model/**/*.py",
    "estimator/engine/formats/**/*.py",
    "estimator/engine/reading/**/*.*",
    "config/**/migrations/*.py",
    "reports/migrations/*.py",
    "requirements/base.txt",
)


def sqlite_file(kind: Kind) -> Path:
    """A database to be copied and never written."""
    path = _CACHE / f"{state_of_code()}-{kind}.sqlite3"

    def make() -> None:
        for other in _CACHE.glob("*.sqlite3"):
            if not other.name.startswith(state_of_code()):
                other.unlink()
        base = None if kind == "migrated" else sqlite_file("migrated")
        with tempfile.TemporaryDirectory() as folder:
            environment = embedded_environment(Path(folder))
            database = Path(environment["AFORO_DATA_DIR"]) / "aforo.sqlite3"
            database.parent.mkdir()
            if base is not None:
                shutil.copyfile(base, database)
            _manage(kind, environment)
            made = path.with_suffix(f".{os.getpid()}")
            with sqlite3.connect(database) as source:
                source.execute("VACUUM INTO ?", [str(made)])
            made.replace(path)

    _once(kind, path.exists, make)
    return path


def sqlite_rows(kind: Kind) -> Path:
    """The same without triggers, to be attached: `DROP TRIGGER IF EXISTS` looks into attached databases too."""
    whole = sqlite_file(kind)
    path = whole.with_name(f"{whole.stem}-rows.sqlite3")

    def make() -> None:
        made = path.with_suffix(f".{os.getpid()}")
        shutil.copyfile(whole, made)
        with closing(sqlite3.connect(made)) as copy:
            for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                copy.execute(f'DROP TRIGGER "{name}"')
        made.replace(path)

    _once(f"{kind}-rows", path.exists, make)
    return path


def postgresql_database(kind: Kind, server: str) -> str:
    """The name of a database of this server that nobody connects to; `CREATE DATABASE … TEMPLATE` copies it."""
    here = f"template_aforo_{hashlib.sha256(str(ROOT).encode()).hexdigest()[:6]}_"
    name = f"{here}{state_of_code()}_{kind}"
    unfinished = f"{name}_unfinished"

    def names() -> list[str]:
        with psycopg.connect(server, autocommit=True) as connection:
            found = connection.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [here])
            return [each for (each,) in found]

    def make() -> None:
        base = "template0" if kind == "migrated" else postgresql_database("migrated", server)
        with psycopg.connect(server, autocommit=True) as connection:
            for other in names():
                if state_of_code() not in other or other == unfinished:
                    connection.execute(f'DROP DATABASE IF EXISTS "{other}" WITH (FORCE)')
            connection.execute(f'CREATE DATABASE "{unfinished}" TEMPLATE "{base}"')
            with tempfile.TemporaryDirectory() as folder:
                address = urlunsplit(urlsplit(server)._replace(path=f"/{unfinished}"))
                _manage(kind, embedded_environment(Path(folder)) | {"DATABASE_URL": address})
            connection.execute(f'ALTER DATABASE "{unfinished}" RENAME TO "{name}"')

    _once(f"postgresql-{kind}", lambda: name in names(), make)
    return name


def _manage(kind: Kind, environment: dict[str, str]) -> None:
    for command in _STEPS[kind] or [["migrate", "-v0"]]:
        subprocess.run(
            [sys.executable, "manage.py", *command], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL
        )


def _once(name: str, there: Callable[[], bool], make: Callable[[], None]) -> None:
    if not there():
        with _lock(name):
            if not there():
                make()


@contextmanager
def _lock(name: str) -> Iterator[None]:
    """One process makes it; the others wait."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / f".{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def state_of_code() -> str:
    """A hash of whatever decides what the tables and rows are."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _SOURCES for path in ROOT.glob(pattern)}):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
