"""How long a large report takes with one, two and four worker processes, all alike; printed by `make bench`."""

import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.live import LiveService
from tests.reports.live import descendants, order, wait_done

MILLION: dict[str, Any] = {
    "models": [
        "llama-3.1-8b", "llama-3.1-70b", "llama-3-8b", "llama-3-70b", "llama-3.2-1b", "llama-3.2-3b",
        "mixtral-8x7b-v0.1", "llama-3.1-405b", "codellama-34b", "baichuan-7b",
    ],
    "gpus": [
        "h100-sxm5-80gb", "a100-sxm4-80gb", "h200-sxm-141gb", "l40s", "h100-pcie-80gb", "a100-pcie-80gb",
        "a100-sxm4-40gb", "h100-nvl-94gb", "l4", "a100-pcie-40gb",
    ],
    "precisions": [{"weights": "bf16"}, {"weights": "fp8", "kv_cache": "fp8"}],
    "workloads": [
        {"input_tokens": tokens, "output_tokens": 200} for tokens in (200, 500, 1000, 1500, 1800)
    ],
    "batch_sizes": {"from": 1, "to": 1000, "scale": "linear"},
}  # fmt: skip
NINE_THOUSAND: dict[str, Any] = {
    "models": ["llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b-v0.1"],
    "gpus": ["h100-sxm5-80gb", "a100-sxm4-80gb", "h200-sxm-141gb", "l40s"],
    "precisions": [{"weights": "bf16"}, {"weights": "fp8", "kv_cache": "fp8"}, {"weights": "int4"}],
    "workloads": [{"input_tokens": tokens, "output_tokens": 300} for tokens in (200, 1000, 4000, 8000)],
    "batch_sizes": {"from": 1, "to": 64, "scale": "linear"},
}


def peak_rss_mib(service: LiveService) -> float:
    """Largest peak RSS of the worker's processes, MiB."""
    peaks = []
    for pid in descendants(service.pid_of("worker")):
        status = Path(f"/proc/{pid}/status").read_text()
        peaks.append(int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024)  # type: ignore[union-attr]
    return max(peaks)


def timed(service: LiveService, name: str, sweep: dict[str, Any], within_s: float = 300) -> tuple[float, str, Any]:
    """Seconds from the order to complete, path, and the version."""
    began = time.monotonic()
    path = order(service, name, **sweep)
    version = wait_done(service, path, within_s, every_s=0.2)
    assert version["state"] == "complete", version["error"]
    return time.monotonic() - began, path, version


def download(service: LiveService, path: str, file_format: str) -> tuple[float, int]:
    """Seconds until the file is there, and its bytes."""
    began = time.monotonic()
    while True:
        status, content = service.call("GET", f"{path}download/?format={file_format}")
        if status == 200:
            return time.monotonic() - began, len(content) if isinstance(content, bytes) else 0
        assert status == 202, content
        time.sleep(0.2)


@pytest.mark.bench
@pytest.mark.timeout(1200)
def test_a_million_rows_with_one_two_and_four_worker_processes(live_service, tmp_path, capsys):
    hashes, lines = set(), []
    for processes in (1, 2, 4):
        service = live_service(AFORO_WORKER_PROCESSES=str(processes), AFORO_DATA_DIR=str(tmp_path / str(processes)))
        small_s, _path, small = timed(service, "small", NINE_THOUSAND)
        assert small["summary"]["rows"] == 9_216
        seconds, path, version = timed(service, "million", MILLION)
        assert version["summary"]["rows"] == 1_000_000
        hashes.add(version["content_sha256"])
        csv_s, csv_bytes = download(service, path, "csv")
        began = time.monotonic()
        status, page = service.call("GET", f"{path}rows/?gpu=l4&ordering=-tokens_per_s_total_mid&page_size=100")
        page_s = time.monotonic() - began
        assert (status, page["count"]) == (200, 100_000)
        lines.append(
            f"reports: {processes} worker process(es): 9,216 rows {small_s:.2f} s; 1,000,000 rows {seconds:.1f} s; "
            f"CSV {csv_s:.1f} s ({csv_bytes / 1e6:.0f} MB); filtered, ordered page {page_s * 1000:.0f} ms; "
            f"peak RSS {peak_rss_mib(service):.0f} MiB"
        )
        service.stop()
    assert len(hashes) == 1
    with capsys.disabled():
        print("\n" + "\n".join(lines))  # noqa: T201  the bench is read by people
