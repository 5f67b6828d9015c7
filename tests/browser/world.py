"""What people find in a service that is in use: reports that are finished, failed and building, public measurements."""

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live import HANGS_AFTER_S, LiveService
from tests.receipts.conftest import SETTING, bench

GPUS = ["h100-sxm5-80gb", "a100-sxm4-80gb", "l40s", "h200-sxm-141gb", "mi300x"]
SWEEP = {
    "models": ["llama-3.1-8b"],
    "gpus": GPUS,
    "engines": ["vllm"],
    "precisions": [{"weights": "bf16"}, {"weights": "fp8", "kv_cache": "fp8"}],
    "workloads": [
        {"name": "chat", "input_tokens": 1000, "output_tokens": 300},
        {
            "name": "documents",
            "mode": "open_loop",
            "input_tokens": 8000,
            "output_tokens": 500,
            "requests_per_s": [1, 4],
        },
    ],
    "batch_sizes": {"from": 1, "to": 256, "scale": "powers_of_two"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Ids of reports, and the address of a link to the finished one."""

    finished: str
    failed: str
    building: str
    link: str


def finished_report(service: LiveService, **sweep: Any) -> str:
    """Address of the version of a report that is finished."""
    address = _order(service, "Which GPU for chat and for documents?", **sweep)
    service.wait_for(lambda: service.call("GET", address)[1]["state"] == "complete")
    return address


def link_to(service: LiveService, address: str, file_format: str) -> str:
    """A share link to a version."""
    status, link = service.call("POST", f"{address}links/", {"format": file_format, "expires_in_days": 7})
    assert status == 201, link
    return str(link["url"])


@contextmanager
def world_of(service: LiveService) -> Iterator[World]:
    """The service with content; nobody works in it until the end of the block, so that a building report stays so."""
    finished = finished_report(service)
    link = link_to(service, finished, "html")
    measure(service)
    worker = service.pid_of("worker")
    os.kill(worker, signal.SIGSTOP)
    try:
        failed, building = (_order(service, name, gpus=GPUS[:1]) for name in ("No room on the disk", "Still building"))
        with closing(sqlite3.connect(database_of(service), timeout=HANGS_AFTER_S)) as rows, rows:
            _set(rows, failed, "failed", "error_code = 'disk_full', error = 'The disk for report files is full.'")
            _set(rows, building, "running", "started_at = CURRENT_TIMESTAMP")
        yield World(finished=_report(finished), failed=_report(failed), building=_report(building), link=link)
    finally:
        os.kill(worker, signal.SIGCONT)


def database_of(service: LiveService) -> Path:
    """The file of its database."""
    return Path(service.environment["AFORO_DATA_DIR"]) / "aforo.sqlite3"


def measure(service: LiveService) -> None:
    """Public measurements of runs that took longer than said."""
    for users, slower in ((4, 1.1), (64, 1.4)):
        load = {"mode": "closed_loop", "input_tokens": 1000, "output_tokens": 200, "concurrency": users}
        said = service.call("POST", "/api/v1/estimates/throughput/", SETTING | {"workload": load})[1]["expected"]
        times = {name: said[name]["mid"] for name in ("ttft_s", "tpot_s")}
        text = bench(times, concurrency=users, slower=slower)
        status, answer = service.call("POST", "/api/v1/measurements/", SETTING | {"text": text, "public": True})
        assert status == 201, answer


def _order(service: LiveService, name: str, **sweep: Any) -> str:
    body = {"name": name, "sweep": SWEEP | sweep, "slo": {"ttft_s": 2.0, "tpot_s": 0.05}}
    status, version = service.call("POST", "/api/v1/reports/", body)
    assert status == 202, version
    return str(version["url"]).removeprefix(service.base)


def _report(address: str) -> str:
    return address.split("/reports/")[1].split("/")[0]


def _set(rows: sqlite3.Connection, address: str, state: str, more: str) -> None:
    report = _report(address).replace("-", "")
    rows.execute(f"UPDATE reports_reportversion SET state = ?, {more} WHERE report_id = ?", (state, report))
