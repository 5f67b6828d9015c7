"""The catalog as shipped, in a test's database within a fraction of a second.

`load_catalog` reads, checks and compares everything, which takes seconds; tests of other things only need its outcome.
It is run once per state of the code into a file under var/, whose rows are then copied.
"""

import fcntl
import hashlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from django.core.management import call_command
from django.db import connection

from tests.live import ROOT, embedded_environment

_CACHE = ROOT / "var" / "test-catalog"
# Whatever decides what the rows are.
_SOURCES = (
    "catalog/**/*.*",
    "estimator/engine/model/**/*.py",
    "estimator/engine/formats/**/*.py",
    "estimator/engine/reading/**/*.*",
    "requirements/base.txt",
    "config/**/migrations/*.py",
)


def load_shipped_catalog(*, with_genai_prices: bool = True) -> None:
    """Does what `manage.py load_catalog` does to an empty catalog."""
    if connection.vendor != "sqlite":
        call_command("load_catalog", without_genai_prices=not with_genai_prices, verbosity=0)
        return
    with connection.cursor() as cursor:
        for table, columns, rows in _tables(with_genai_prices):
            names = ", ".join(f'"{column}"' for column in columns)
            places = ", ".join(["%s"] * len(columns))
            cursor.executemany(f'INSERT OR REPLACE INTO "{table}" ({names}) VALUES ({places})', rows)


def database_file(*, with_genai_prices: bool = True) -> Path:
    """A migrated SQLite database with the catalog loaded; made once, to be copied and never written."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    path = _CACHE / f"{_state_of_code()}{'' if with_genai_prices else '-own'}.sqlite3"
    with (_CACHE / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            for other in _CACHE.glob("*.sqlite3"):
                if not other.name.startswith(_state_of_code()):
                    other.unlink()
            _make(path, with_genai_prices)
    return path


def _make(path: Path, with_genai_prices: bool) -> None:
    options = [] if with_genai_prices else ["--without-genai-prices"]
    with tempfile.TemporaryDirectory() as folder:
        environment = embedded_environment(Path(folder))
        for command in (["migrate", "-v0"], ["load_catalog", "-v0", *options]):
            subprocess.run(
                [sys.executable, "manage.py", *command],
                cwd=ROOT,
                env=environment,
                check=True,
                stdout=subprocess.DEVNULL,
            )
        made = path.with_suffix(f".{os.getpid()}")
        with sqlite3.connect(Path(environment["AFORO_DATA_DIR"]) / "aforo.sqlite3") as source:
            source.execute("VACUUM INTO ?", [str(made)])
        made.replace(path)


@cache
def _state_of_code() -> str:
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _SOURCES for path in ROOT.glob(pattern)}):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:20]


@cache
def _tables(with_genai_prices: bool) -> list[tuple[str, list[str], list[tuple[object, ...]]]]:
    with sqlite3.connect(database_file(with_genai_prices=with_genai_prices)) as source:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'catalog\\_%' ESCAPE '\\'"
        tables = [name for (name,) in source.execute(query)]
        found = []
        for table in sorted(tables):
            rows = source.execute(f'SELECT * FROM "{table}"')
            found.append((table, [column[0] for column in rows.description], rows.fetchall()))
        return found
