"""An edit by one process is seen by the next request of every other: on an SQLite file, and on PostgreSQL."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import services, templates
from tests.live import HANGS_AFTER_S

ROOT = Path(__file__).resolve().parents[2]

# A process that serves: for every line it is sent it answers one request and prints what it saw.
SERVER = """
import sys, django
django.setup()
from django.test import Client
client = Client(SERVER_NAME="127.0.0.1")
from catalog import snapshot
for line in sys.stdin:
    slug = line.strip()
    facts = snapshot.gpu_facts(slug)
    shown = client.get(f"/api/v1/gpus/{slug}/").json()
    assert shown["tdp_w"] == facts["tdp_w"], (shown["tdp_w"], facts["tdp_w"])
    print(facts["tdp_w"], snapshot.current().revision.number, flush=True)
"""

# A process that edits a row as a person in the admin does.
EDIT = """
import sys, django
django.setup()
from catalog.models import Gpu
from catalog.services.people import save_by_person
row = Gpu.objects.get(slug=sys.argv[1])
row.tdp_w = int(sys.argv[2])
save_by_person(row, user=None, reason="two processes")
"""


def environment(database_url: str, data_dir: Path) -> dict[str, str]:
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings.dev",
        "DATABASE_URL": database_url,
        "AFORO_DATA_DIR": str(data_dir),
        "AFORO_LOG_LEVEL": "ERROR",
    }


def run(env: dict[str, str], *arguments: str) -> None:
    subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=env, check=True, capture_output=True, timeout=HANGS_AFTER_S
    )


def edits_are_seen_by_every_process(env: dict[str, str]) -> None:
    servers = [
        subprocess.Popen([sys.executable, "-c", SERVER], cwd=ROOT, env=env, text=True, stdin=-1, stdout=-1)
        for _ in range(2)
    ]
    try:
        for tdp, revision in ((70, 1), (71, 2), (72, 3)):
            if tdp != 70:
                run(env, "-c", EDIT, "t4", str(tdp))
            for server in servers:
                assert server.stdin
                assert server.stdout
                server.stdin.write("t4\n")
                server.stdin.flush()
                assert server.stdout.readline().split() == [str(tdp), str(revision)]
    finally:
        for server in servers:
            server.kill()
            server.communicate()


def test_on_an_sqlite_file(tmp_path):
    shutil.copyfile(templates.sqlite_file("own"), tmp_path / "catalog.sqlite3")
    edits_are_seen_by_every_process(environment(f"sqlite:///{tmp_path / 'catalog.sqlite3'}", tmp_path))


@pytest.mark.services
def test_on_postgresql(tmp_path):
    with services.postgresql_database("own") as database_url:
        edits_are_seen_by_every_process(environment(database_url, tmp_path))


@pytest.mark.services
def test_two_writers_at_once_both_count(tmp_path):
    with services.postgresql_database("own") as database_url:
        env = environment(database_url, tmp_path)
        edit_many = EDIT + "\nfor n in range(20):\n    row.tdp_w = n + 1\n    save_by_person(row, user=None)\n"
        writers = [
            subprocess.Popen([sys.executable, "-c", edit_many, slug, "100"], cwd=ROOT, env=env) for slug in ("t4", "l4")
        ]
        assert [writer.wait(120) for writer in writers] == [0, 0]
        look = "import django; django.setup()\nfrom catalog.revisions import current_revision\n"
        look += "assert current_revision().number == 1 + 2 * 21, current_revision()"
        run(env, "-c", look)
