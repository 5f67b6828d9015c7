"""People who download slowly do not slow the others, and the web process does not grow with what it sends."""

import re
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.bench.test_report_scale import MILLION
from tests.live import LiveService
from tests.reports.live import descendants, order, wait_done

CLIENTS, BYTES_PER_S = 20, 100_000
FIT = {
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm5-80gb",
    "workload": {"input_tokens": 1000, "output_tokens": 300, "concurrency": 16},
}


def p99_s(service: LiveService, calls: int = 200) -> float:
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        status, _answer = service.call("POST", "/api/v1/estimates/memory-fit/", FIT)
        times.append(time.perf_counter() - began)
        assert status == 200
    return sorted(times)[int(calls * 0.99) - 1]


def slow_reader(service: LiveService, path: str, stop: threading.Event, got: list[int]) -> None:
    address = urlsplit(service.base)
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        request = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {service.token}\r\n\r\n"
        connection.sendall(request.encode())
        total = 0
        while not stop.is_set():
            total += len(connection.recv(BYTES_PER_S // 10))
            stop.wait(0.1)
        got.append(total)


def web_rss_mib(service: LiveService) -> float:
    total = 0
    for pid in descendants(service.pid_of("web")):
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        total += int(found.group(1)) if found else 0
    return total / 1024


@pytest.mark.bench
@pytest.mark.timeout(900)
def test_twenty_slow_downloads_leave_the_estimates_quick_and_the_memory_flat(live_service: Any) -> None:
    service = live_service()
    path = order(service, **{**MILLION, "batch_sizes": {"from": 1, "to": 200, "scale": "linear"}})
    assert wait_done(service, path, 200, 0.3)["state"] == "complete"
    url = f"{path}download/?format=csv"
    while service.call("GET", url, headers={"Range": "bytes=0-99"})[0] != 206:
        time.sleep(0.5)
    ratios: list[float] = []
    growths: list[float] = []  # the first round makes threads and their connections; the file is no part of it
    lines: list[str] = []
    for _attempt in range(3):
        idle = p99_s(service)
        before = web_rss_mib(service)
        stop, got = threading.Event(), []
        readers = [
            threading.Thread(target=slow_reader, args=(service, url, stop, got), daemon=True) for _ in range(CLIENTS)
        ]
        for reader in readers:
            reader.start()
        time.sleep(2)
        loaded = p99_s(service)
        grown = web_rss_mib(service) - before
        stop.set()
        for reader in readers:
            reader.join(10)
        assert min(got) > 50_000
        growths.append(grown)
        ratios.append(loaded / idle)
        lines.append(f"p99 idle {idle * 1e3:.1f} ms, loaded {loaded * 1e3:.1f} ms, RSS +{grown:.0f} MiB")
    assert min(ratios) <= 3, lines
    assert min(growths) < 40, lines
    Path(service.log).with_name("slow-downloads.txt").write_text("\n".join(lines))
