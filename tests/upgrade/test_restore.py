"""The drill of docs/operations.md: back up, wipe, restore with its own commands; every hash is as it was."""

import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.live import HANGS_AFTER_S, ROOT, embedded_environment
from tests.upgrade.releases import RELEASES

BLOCK = re.compile(r"<!-- (backup|restore) (services|embedded) -->\n```sh\n(.*?)```", re.S)
COMMANDS = {(what, where): script for what, where, script in BLOCK.findall((ROOT / "docs/operations.md").read_text())}


def shell(script: str, environment: dict[str, str]) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=ROOT,
        env=environment | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def files(folder: Path) -> dict[str, str]:
    """sha256 of every report file that is not a part."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] != "parts"
    }


def test_the_document_has_all_four():
    assert len(COMMANDS) == 4


def test_restore_on_embedded_defaults(tmp_path):
    environment = embedded_environment(tmp_path) | {"BACKUP": str(tmp_path / "backup")}
    data = Path(environment["AFORO_DATA_DIR"])
    data.mkdir()
    (tmp_path / "backup").mkdir()
    RELEASES[-1].unpack(data)
    shell("python manage.py migrate", environment)
    stored, rows = files(data / "artifacts"), sqlite_rows(data / "aforo.sqlite3")
    shell(COMMANDS["backup", "embedded"], environment)
    shutil.rmtree(data)
    shell(COMMANDS["restore", "embedded"], environment)
    assert (files(data / "artifacts"), sqlite_rows(data / "aforo.sqlite3")) == (stored, rows)
    assert len(stored) >= 30


def sqlite_rows(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


@pytest.mark.services
def test_restore_on_postgresql(tmp_path, empty_services_environment):
    url = empty_services_environment["DATABASE_URL"]
    artifacts = tmp_path / "var" / "artifacts"
    folders = {"BACKUP": str(tmp_path / "backup"), "AFORO_ARTIFACT_DIR": str(artifacts)}
    environment = empty_services_environment | folders
    (tmp_path / "backup").mkdir()
    RELEASES[-1].load_postgresql(url)
    shutil.copytree(RELEASES[-1].folder / "artifacts", artifacts)
    shell("python manage.py migrate", environment)
    stored, rows = files(artifacts), postgresql_rows(url)
    shell(COMMANDS["backup", "services"], environment)
    shutil.rmtree(artifacts)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        for (name,) in connection.execute("SELECT extname FROM pg_extension WHERE extname <> 'plpgsql'").fetchall():
            connection.execute(f"DROP EXTENSION {name}")
    shell(COMMANDS["restore", "services"], environment)
    assert (files(artifacts), postgresql_rows(url)) == (stored, rows)
    assert len(rows) > 30


def postgresql_rows(url: str) -> dict[str, list[str]]:
    """All rows of all tables as text, by table."""
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return {
            table: sorted(row for (row,) in connection.execute(f'SELECT t::text FROM "{table}" t').fetchall())
            for (table,) in tables
        }
