"""A live service with reports: order, wait, and the processes of its worker."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from tests.live import HANGS_AFTER_S, LiveService

SWEEP: dict[str, Any] = {
    "models": ["llama-3.1-8b"],
    "gpus": ["h100-sxm5-80gb", "a100-sxm4-80gb"],
    "precisions": [{"weights": "bf16"}, {"weights": "fp8", "kv_cache": "fp8"}],
    "workloads": [{"input_tokens": 1000, "output_tokens": 300}],
    "batch_sizes": {"from": 1, "to": 80, "scale": "linear"},
}
PRICING = {"currency": "USD", "price_per_gpu_hour": {"h100-sxm5-80gb": "2.0", "a100-sxm4-80gb": "1.1"}}


def order(service: LiveService, name: str = "live", **changes: Any) -> str:
    """Path of version 1 of a new report."""
    status, answer = service.call(
        "POST", "/api/v1/reports/", {"name": name, "sweep": SWEEP | changes, "pricing": PRICING}
    )
    assert status == 202, answer
    return f"/api/v1/reports/{answer['report']}/versions/1/"


def wait_done(
    service: LiveService, path: str, within_s: float = HANGS_AFTER_S, every_s: float = 0.05
) -> dict[str, Any]:
    """The version once it is neither queued nor running."""
    deadline = time.monotonic() + within_s
    while True:
        status, answer = service.call("GET", path)
        assert status == 200, answer
        if answer["state"] not in ("queued", "running"):
            return answer
        assert time.monotonic() < deadline, f"{answer['state']} {answer['progress']}\n{service.text()[-3000:]}"
        time.sleep(every_s)


def descendants(pid: int) -> list[int]:
    """A process and all below it, children first."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found[::-1]


def kill_worker(service: LiveService) -> None:
    """SIGKILL to the worker and its pool, as a machine that goes away would."""
    for pid in reversed(descendants(service.pid_of("worker"))):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
