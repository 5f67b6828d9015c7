"""The faults of the campaign, each by name; they strike only processes that the campaign started."""

import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.chaos.services import Postgres, Redis
from tests.live import ROOT, LiveService
from tests.reports.live import descendants


class Faults:
    """What can be done to a running service, its second worker, its database and its broker."""

    def __init__(self, service: LiveService, folder: Path, postgres: Postgres | None, redis: Redis | None) -> None:
        self.service = service
        self.folder = folder
        self.postgres = postgres
        self.redis = redis
        self.second: subprocess.Popen[bytes] | None = None

    def every(self) -> list[tuple[str, Callable[[], None]]]:
        """All faults that this stack can have."""
        found: list[tuple[str, Callable[[], None]]] = [
            ("worker killed", self.kill_worker),
            ("pool child killed", self.kill_pool_child),
            ("second worker with a full disk", lambda: self.start_second("full disk")),
            ("leases moved", self.move_leases),
            ("messages thrice", self.ring_thrice),
            ("orphans cleaned while writing", self.clean_orphans),
            ("web killed", self.kill_web),
            ("second worker with a file limit", lambda: self.start_second("file limit")),
            ("second worker killed", self.kill_second),
        ]
        if self.redis is not None:
            found += [("redis flushed", self.redis.flush), ("redis killed", self.restart_redis)]
        if self.postgres is not None:
            found.append(("postgresql restarted", self.restart_postgres))
        return found

    def kill_worker(self) -> None:
        self.service.kill("worker")

    def kill_pool_child(self) -> None:
        children = descendants(self.service.pid_of("worker"))[:-1]
        if children:
            _kill(random.choice(children))

    def kill_web(self) -> None:
        self.service.kill("web")

    def start_second(self, weakness: str = "") -> None:
        """Another worker; weak by a storage that fills up, or by a limit of the size of its files."""
        self.kill_second()
        environment = dict(self.service.environment)
        limit = None
        if weakness == "full disk":
            environment["AFORO_ARTIFACT_STORAGE"] = "tests.chaos.full_disk.FullDisk"
        if weakness == "file limit":
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))  # noqa: E731
        command = [sys.executable, "-m", "celery", "--app", "config.celery", "worker", "--pool", "prefork"]
        command += ["--concurrency", "1", "--hostname", f"second-{time.time_ns()}@%h", "--without-gossip"]
        log = subprocess.DEVNULL  # a log file would hit the limit of file size too
        self.second = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=log, preexec_fn=limit, start_new_session=True
        )

    def kill_second(self) -> None:
        if self.second is not None:
            for pid in reversed(descendants(self.second.pid)):
                _kill(pid)
            self.second.wait()
            self.second = None

    def move_leases(self) -> None:
        self.django(
            "from reports.models import ReportChunk, ReportVersion; from reports import clock\n"
            "ReportChunk.objects.filter(state='running').update(lease_until=clock.after(-1))\n"
            "ReportVersion.objects.filter(finalize_until__isnull=False, state='running')"
            ".update(finalize_until=clock.after(-1))"
        )

    def ring_thrice(self) -> None:
        self.django("from reports import bell\nfor _ in range(3):\n    bell.ring(8)")

    def clean_orphans(self) -> None:
        self.django("from reports import reconcile\nreconcile.clean_orphans(older_than_s=0.0)")

    def restart_redis(self) -> None:
        assert self.redis is not None
        self.redis.kill()
        time.sleep(2)
        self.redis.start()

    def restart_postgres(self) -> None:
        assert self.postgres is not None
        self.postgres.stop()
        time.sleep(1)
        self.postgres.start()

    def django(self, code: str) -> None:
        """Run code in a process of the service's settings; the database may be away just then."""
        lines = "import config.celery, django\ndjango.setup()\n" + code
        subprocess.run(
            [sys.executable, "-c", lines], cwd=ROOT, env=self.service.environment, capture_output=True, check=False
        )


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def strike(faults: Faults, stop: threading.Event, every_s: float, say: Callable[[str], None]) -> None:
    """One fault after the other, each at least once, until told to stop."""
    while True:
        for name, fault in faults.every():
            say(f"fault: {name}")
            fault()
            if stop.wait(every_s):
                return
