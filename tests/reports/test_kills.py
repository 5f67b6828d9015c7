"""A worker killed at the worst moments: the report completes after its restart, once, with the same content."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.live import LiveService
from tests.reports.live import kill_worker, order, wait_done

CHUNK_ROWS, ROWS = "64", 320  # chunks 0 … 4
SETTINGS = {"AFORO_SWEEP_CHUNK_ROWS": CHUNK_ROWS, "AFORO_LEASE_S": "3", "AFORO_WORKER_PROCESSES": "1"}
PARTS = -(-ROWS // int(CHUNK_ROWS))
MOMENTS = ["0", "2", "4", "part:2", "final"]


def killed_at(service: LiveService, moment: str) -> dict[str, Any]:
    path = order(service)
    mark = Path(service.environment["AFORO_DATA_DIR"]) / "artifacts" / "paused"
    service.wait_for(mark.exists)
    assert mark.read_text() == moment
    kill_worker(service)
    return wait_done(service, path)


def check(service: LiveService, killed: dict[str, Any]) -> None:
    assert killed["state"] == "complete", killed["error"]
    assert killed["progress"]["done"] == killed["summary"]["rows"] == ROWS
    undisturbed = wait_done(service, order(service))
    assert undisturbed["content_sha256"] == killed["content_sha256"]
    status, reports = service.call("GET", "/api/v1/reports/")
    assert (status, reports["count"]) == (200, 2)
    rows = Path(service.environment["AFORO_DATA_DIR"]) / "artifacts" / "rows"
    finished = [file for file in rows.rglob("*.parquet") if file.stat().st_size]
    # The parts of two versions; one that was kept and not recorded stays until it is a day old.
    assert len(finished) - 2 * PARTS in (0, 1)


@pytest.mark.long
@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_worker_on_the_embedded_default(live_service, moment):
    service = live_service(**SETTINGS, AFORO_TEST_PAUSE_AFTER_CHUNK=moment)
    check(service, killed_at(service, moment))


@pytest.mark.services
@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_worker_on_postgresql_and_redis(live_service, services_environment, moment):
    service = live_service(services_environment, **SETTINGS, AFORO_TEST_PAUSE_AFTER_CHUNK=moment)
    check(service, killed_at(service, moment))


@pytest.mark.long
def test_a_graceful_stop_gives_the_attempt_back(live_service):
    service = live_service(**SETTINGS, AFORO_TEST_PAUSE_AFTER_CHUNK="part:2")
    order(service)
    data = Path(service.environment["AFORO_DATA_DIR"])
    service.wait_for((data / "artifacts" / "paused").exists)
    service.stop()
    with closing(sqlite3.connect(data / "aforo.sqlite3")) as database:
        chunks = database.execute('SELECT state, attempts FROM reports_reportchunk ORDER BY "index"').fetchall()
    assert chunks == [("complete", 1), ("complete", 1), ("queued", 0), ("queued", 0), ("queued", 0)]
    assert list((data / "artifacts" / "rows").rglob("*000002-*")) == []
