"""The fault campaign: reports in flight while everything breaks; none lost, doubled, changed or half served.

`python -m tests.chaos.campaign --reports 100 --stack services` (or `embedded`); `make chaos` runs both.
"""

import argparse
import hashlib
import json
import random
import sys
import tempfile
import threading
import time
import urllib.error
from pathlib import Path
from typing import Any

from tests.chaos.faults import Faults, strike
from tests.chaos.services import Postgres, Redis
from tests.live import LiveService, embedded_environment
from tests.reports.live import PRICING, SWEEP

_URL = "/api/v1/reports/"


def say(text: str) -> None:
    sys.stdout.write(f"chaos: {text}\n")
    sys.stdout.flush()


class Campaign:
    """Orders reports, watches them, and holds what it saw against what is there at the end."""

    def __init__(self, service: LiveService, faults: Faults) -> None:
        self.service = service
        self.faults = faults
        self.ordered: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        self.seen_complete: dict[str, tuple[str, str]] = {}
        self.cancelled: set[str] = set()
        self.retried = 0

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """A call that is repeated while the web process is away: that is what the Idempotency-Key is for."""
        deadline = time.monotonic() + 120
        while True:
            try:
                status, answer = self.service.call(method, path, body, headers=headers)
                if status < 500:
                    return status, answer
            except (urllib.error.URLError, ConnectionError, TimeoutError, json.JSONDecodeError, OSError):
                pass
            assert time.monotonic() < deadline, f"{method} {path} got no answer"
            time.sleep(0.2)

    def order(self, number: int) -> None:
        """One report of 40 to 400 rows, under a key of its own."""
        batches = {"from": 1, "to": 10 * (1 + number % 10), "scale": "linear"}
        body = {"name": f"chaos {number}", "sweep": SWEEP | {"batch_sizes": batches}, "pricing": PRICING}
        status, answer = self.call("POST", _URL, body, **{"Idempotency-Key": f"chaos-{number}"})
        assert status == 202, answer
        self.ordered[f"chaos {number}"] = answer["report"]
        self.sizes[answer["report"]] = 4 * batches["to"]

    def cancel_some(self, ids: list[str]) -> None:
        """Cancel against finish: either answer is right, both is not."""
        for report in ids:
            status, _answer = self.call("POST", f"{_URL}{report}/versions/1/cancel/")
            assert status in (200, 409)
            if status == 200:
                self.cancelled.add(report)

    def rebuild_at_once(self, report: str) -> None:
        """Two rebuilds at the same moment get two numbers."""
        numbers: list[int] = []
        threads = [
            threading.Thread(
                target=lambda: numbers.append(self.call("POST", f"{_URL}{report}/versions/")[1]["version"])
            )
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # A rebuild without a key may be repeated by our own client when the web was killed: never the same number.
        assert len(set(numbers)) == 2, numbers

    def watch(self, within_s: float) -> None:
        """Until every version has come to an end; failed ones are retried, as a person would."""
        deadline = time.monotonic() + within_s
        while True:
            open_ones = 0
            for report in self.ordered.values():
                if report in self.seen_complete or report in self.cancelled:
                    continue
                _status, version = self.call("GET", f"{_URL}{report}/versions/1/")
                if version["state"] == "complete":
                    self.seen_complete[report] = (version["content_sha256"], version["completed_at"])
                    continue
                open_ones += 1
                if version["state"] == "failed":
                    assert version["error"]["detail"], version
                    say(f"failed and tells why: {version['error']['detail']}")
                    self.retried += 1
                    self.call("POST", f"{_URL}{report}/versions/1/retry/")
            if not open_ones:
                return
            assert time.monotonic() < deadline, f"{open_ones} reports are not done\n{self.service.text()[-4000:]}"
            time.sleep(0.5)

    def check(self) -> dict[str, int]:
        """What is lost, doubled, changed or half; all must be 0."""
        status, page = self.call("GET", f"{_URL}?page_size=500&search=chaos")
        assert status == 200
        names = [report["name"] for report in page["results"]]
        found = {"lost": len(set(self.ordered) - set(names)), "doubled": len(names) - len(set(names))}
        found["changed"] = found["half"] = found["wrong rows"] = 0
        by_size: dict[int, set[str]] = {}
        for report, (content, completed) in self.seen_complete.items():
            _status, version = self.call("GET", f"{_URL}{report}/versions/1/")
            found["changed"] += (version["content_sha256"], version["completed_at"]) != (content, completed)
            by_size.setdefault(self.sizes[report], set()).add(content)
            found["wrong rows"] += version["summary"]["rows"] != self.sizes[report]
            found["half"] += not self._whole(report)
        found["different content of equal inputs"] = sum(len(contents) - 1 for contents in by_size.values())
        for report in self.cancelled:
            _status, version = self.call("GET", f"{_URL}{report}/versions/1/")
            found["changed"] += version["state"] != "cancelled"
        return found

    def _whole(self, report: str) -> bool:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            status, content = self.call("GET", f"{_URL}{report}/versions/1/download/?format=csv")
            if status == 200:
                _status, version = self.call("GET", f"{_URL}{report}/versions/1/")
                stored = next(file for file in version["files"] if file["format"] == "csv")
                return (
                    hashlib.sha256(content).hexdigest() == stored["sha256"]
                    and content.count(b"\r\n") == self.sizes[report] + 1
                )
            time.sleep(0.3)
        return False


def run(stack: str, reports: int, every_s: float, folder: Path) -> dict[str, int]:
    """The campaign on one stack; the counts of what went wrong."""
    environment = embedded_environment(folder) | {
        "AFORO_SWEEP_CHUNK_ROWS": "40",
        "AFORO_LEASE_S": "5",
        "AFORO_TEST_PAUSE_AFTER_CHUNK": "publish",
        "AFORO_THROTTLE_REPORTS_CREATE": "60000/min",
    }
    postgres = redis = None
    if stack == "services":
        postgres, redis = Postgres(folder), Redis(folder)
        environment |= {"DATABASE_URL": postgres.url, "AFORO_BROKER_URL": redis.url, "AFORO_CACHE_URL": redis.url}
    service = LiveService(environment, folder / "supervisor.log")
    faults = Faults(service, folder, postgres, redis)
    stop = threading.Event()
    try:
        service.start()
        faults.start_second()
        campaign = Campaign(service, faults)
        _web_killed_between_commit_and_publish(campaign)
        striker = threading.Thread(target=strike, args=(faults, stop, every_s, say), daemon=True)
        for number in range(1, reports):
            campaign.order(number)
            if number == 5:
                striker.start()
        ids = list(campaign.ordered.values())
        campaign.cancel_some(random.sample(ids, max(1, reports // 10)))
        campaign.rebuild_at_once(random.choice(ids))
        struck_until = time.monotonic() + len(faults.every()) * (every_s + 2)
        while time.monotonic() < struck_until:
            time.sleep(0.5)
        stop.set()
        striker.join(60)
        faults.start_second()
        campaign.watch(300)
        result = campaign.check()
        say(f"{stack}: {reports} reports, {len(campaign.cancelled)} cancelled, {campaign.retried} retried: {result}")
        return result
    finally:
        stop.set()
        faults.kill_second()
        service.stop()
        if redis is not None:
            redis.kill()
        if postgres is not None:
            postgres.stop()


def _web_killed_between_commit_and_publish(campaign: Campaign) -> None:
    """The web process dies after the commit, before any message: the reconciler finds the report."""
    mark = Path(campaign.service.environment["AFORO_DATA_DIR"]) / "artifacts" / "paused"
    thread = threading.Thread(target=campaign.order, args=(0,))
    thread.start()
    campaign.service.wait_for(mark.exists, 60)
    campaign.service.kill("web")
    thread.join(120)
    assert "chaos 0" in campaign.ordered


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=100)
    parser.add_argument("--stack", choices=("services", "embedded"), default="services")
    parser.add_argument("--every", type=float, default=3.0, help="seconds between faults")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="aforo-chaos-") as folder:
        Path(folder).chmod(0o755)
        result = run(options.stack, options.reports, options.every, Path(folder))
    return 1 if any(result.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
