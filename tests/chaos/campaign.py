"""The fault campaign: reports in flight while everything breaks; none lost, doubled, changed or half served.

`python -m tests.chaos.campaign --reports 100 --stack services` (or `embedded`); `make chaos` runs both.
"""

import argparse
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.chaos.compose import ComposeService
from tests.chaos.faults import OTHER_ESTIMATOR, Faults, strike
from tests.chaos.half_open import HalfOpenProxy
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
        self.anew = 0

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """A call that is repeated while the web process is away or says to come back later.

        That is what the Idempotency-Key is for.
        """
        deadline = time.monotonic() + 300
        while True:
            try:
                status, answer = self.service.call(method, path, body, headers=headers)
                if status < 500 and status != 429:
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
            told = " ".join(version["snapshot"]["warnings"])
            anew = f"Ordered with estimator {OTHER_ESTIMATOR}" in told
            self.anew += anew
            if not anew:  # the warning that says so belongs to the content
                by_size.setdefault(self.sizes[report], set()).add(content)
            found["wrong rows"] += version["summary"]["rows"] != self.sizes[report]
            found["half"] += not self._whole(report)
        found["different content of equal inputs"] = sum(len(contents) - 1 for contents in by_size.values())
        for report in self.cancelled:
            _status, version = self.call("GET", f"{_URL}{report}/versions/1/")
            found["changed"] += version["state"] != "cancelled"
        found["claimed twice at once"] = self.faults.claimed_twice
        unstruck = self.begun_again() - self.faults.struck
        found["begun again though the worker lived"] = len(unstruck)
        if unstruck:
            told = "\n".join(line[:1000] for line in self.service.text().splitlines() if "failed, reference" in line)
            say(f"begun again though the worker lived: chunks {sorted(unstruck)}\n{told}")
        return found

    def begun_again(self) -> set[int]:
        """Chunks of complete versions that were not begun exactly once."""
        chunks = self.faults.rows(
            "SELECT chunk.id FROM reports_reportchunk chunk JOIN reports_reportversion version"
            " ON version.id = chunk.version_id WHERE version.state = 'complete' AND chunk.attempts <> 1"
        )
        return {row[0] for row in chunks}

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
    with _stack(stack, folder) as (service, faults):
        faults.start_second()
        campaign = Campaign(service, faults)
        stop = threading.Event()
        striker = threading.Thread(target=strike, args=(faults, stop, every_s, say), daemon=True)
        try:
            if stack == "embedded":
                _web_killed_between_commit_and_publish(campaign)
            striker.start()
            kinds = len(faults.every())
            for number in range(len(campaign.ordered), reports):
                campaign.order(number)
                # Spread over the first round of faults, so that each finds reports in flight.
                _wait_for_faults(faults, striker, number * kinds // reports)
            ids = list(campaign.ordered.values())
            campaign.cancel_some(random.sample(ids, max(1, reports // 10)))
            campaign.rebuild_at_once(random.choice(ids))
            _wait_for_faults(faults, striker, kinds)
        finally:
            stop.set()
            if striker.is_alive():
                striker.join(120)
        faults.striking(faults.start_second)()
        campaign.watch(900)
        result = campaign.check()
        say(
            f"{stack}: {reports} reports, {len(campaign.cancelled)} cancelled, {campaign.retried} retried, "
            f"{campaign.anew} ordered anew, {faults.herd_claims} claims of herds, "
            f"{len(campaign.begun_again())} chunks begun again after their worker was struck: {result}"
        )
        return result


def _wait_for_faults(faults: Faults, striker: threading.Thread, number: int) -> None:
    """Until so many faults have struck; an error of one ends the campaign."""
    while faults.done < number:
        assert striker.is_alive(), "a fault could not be done: see above"
        time.sleep(0.2)


@contextmanager
def _stack(stack: str, folder: Path) -> Iterator[tuple[LiveService, Faults]]:
    """The running service and what can be done to it: as compose runs it, or on the embedded defaults."""
    with ExitStack() as ends:
        if stack == "services":
            data = folder / "data"
            disk = _small_disk(data / "artifacts", ends)
            postgres, redis = Postgres(folder), Redis(folder)
            ends.callback(postgres.stop)
            ends.callback(redis.kill)
            proxy = HalfOpenProxy(postgres.port)
            ends.callback(proxy.close)
            addresses = {"postgres:5432": f"127.0.0.1:{proxy.port}", "redis:6379": f"127.0.0.1:{redis.port}"}
            service: LiveService = ComposeService(folder, addresses, OPERATOR)
            faults = Faults(service, disk, postgres, redis, proxy)
        else:
            environment = embedded_environment(folder) | EMBEDDED
            disk = _small_disk(Path(environment["AFORO_DATA_DIR"]) / "artifacts", ends)
            service = LiveService(environment, folder / "supervisor.log")
            faults = Faults(service, disk)
        ends.callback(service.stop)
        ends.callback(faults.kill_second)
        service.start()
        yield service, faults


# What the operator of the compose file sets: chunks so small that there are many, and leftovers ordered anew soon.
OPERATOR = {"AFORO_SWEEP_CHUNK_ROWS": "40", "AFORO_LEFTOVERS_AFTER_S": "20"}
# What the embedded default is told: small chunks and short leases, so that there is much to break.
EMBEDDED = {
    "AFORO_SWEEP_CHUNK_ROWS": "40",
    "AFORO_LEASE_S": "10",
    "AFORO_LEFTOVERS_AFTER_S": "20",
    "AFORO_TEST_PAUSE_AFTER_CHUNK": "publish",
    "AFORO_THROTTLE_REPORTS_CREATE": "60000/min",
}


def _small_disk(place: Path, ends: ExitStack) -> Path | None:
    """A file system of its own for the report files, small enough to be filled; None where this user may mount none."""
    place.mkdir(parents=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", str(place)], capture_output=True)
    if done.returncode:
        say("no disk to fill: only root may mount one")
        return None
    ends.callback(lambda: subprocess.run(["umount", "--lazy", str(place)], check=True))
    return place


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
