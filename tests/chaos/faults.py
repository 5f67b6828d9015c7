"""The faults of the campaign, each by name; they strike only processes that the campaign started."""

import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from tests.chaos.half_open import HalfOpenProxy
from tests.chaos.services import Postgres, Redis
from tests.live import ROOT, LiveService
from tests.reports.live import descendants

OTHER_ESTIMATOR = "0.1.99"
HUNG_S = 6.0
FULL_S = 6.0


class Faults:
    """What can be done to a running service, its second worker, its disk, its database and its broker."""

    def __init__(
        self,
        service: LiveService,
        disk: Path | None,
        postgres: Postgres | None = None,
        redis: Redis | None = None,
        proxy: HalfOpenProxy | None = None,
    ) -> None:
        self.service = service
        self.disk = disk
        self.postgres = postgres
        self.redis = redis
        self.proxy = proxy
        self.second: subprocess.Popen[bytes] | None = None
        self.struck: set[int] = set()
        self.claimed_twice = 0
        self.herd_claims = 0
        self.done = 0

    def every(self) -> list[tuple[str, Callable[[], None]]]:
        """All faults that this stack can have; those that end or blind a worker note the chunks that it had."""
        found: list[tuple[str, Callable[[], None]]] = [
            ("worker killed", self.striking(self.kill_worker)),
            ("pool child killed", self.striking(self.kill_pool_child)),
            ("second worker with a full disk", self.striking(lambda: self.start_second("full disk"))),
            ("herd of claims", self.herd),
            ("leases moved", self.move_leases),
            ("messages thrice", self.ring_thrice),
            ("rolling deploy: a worker of another estimator", self.striking(self.roll)),
            ("orphans cleaned while writing", self.clean_orphans),
            ("web killed", self.kill_web),
            ("second worker with a file limit", self.striking(lambda: self.start_second("file limit"))),
            ("second worker killed", self.striking(self.kill_second)),
        ]
        if self.disk is not None:
            found.append(("disk full", self.fill_disk))
        if self.redis is not None:
            found += [("redis flushed", self.redis.flush), ("redis killed", self.restart_redis)]
        if self.postgres is not None:
            found.append(("postgresql restarted", self.striking(self.restart_postgres)))
        if self.proxy is not None:
            found.append(("database half open", self.striking(self.hang_database)))
        return found

    def striking(self, fault: Callable[[], None]) -> Callable[[], None]:
        """The fault; the chunks that a worker had when it struck, or just after, may be begun a second time."""

        def strike() -> None:
            self.struck |= self.running()
            fault()
            self.struck |= self.running()

        return strike

    def running(self) -> set[int]:
        """Chunks that somebody has."""
        return {row[0] for row in self.rows("SELECT id FROM reports_reportchunk WHERE state = 'running'")}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of the database, asked past the proxy."""
        if self.postgres is not None:
            with psycopg.connect(self.postgres.url, autocommit=True) as connection:
                cursor = connection.execute(sql)
                return cursor.fetchall() if cursor.description else []
        path = Path(self.service.environment["AFORO_DATA_DIR"]) / "aforo.sqlite3"
        with closing(sqlite3.connect(path, timeout=60)) as database, database:
            return database.execute(sql).fetchall()

    def kill_worker(self) -> None:
        for pid in reversed(descendants(self.service.pid_of("worker"))):
            _kill(pid)

    def kill_pool_child(self) -> None:
        children = descendants(self.service.pid_of("worker"))[:-1]
        if children:
            _kill(random.choice(children))

    def kill_web(self) -> None:
        self.service.kill("web")

    def start_second(self, weakness: str = "") -> None:
        """Another worker; weak by a storage that fills up, or by a limit of file size; or one of another estimator."""
        self.kill_second()
        environment = dict(self.service.environment)
        limit = None
        if weakness == "full disk":
            environment["PYTHONPATH"] = str(Path(__file__).parent / "full_disk")
        if weakness == "file limit":
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))  # noqa: E731
        lines = "from celery.__main__ import main; main()"
        if weakness == "other estimator":
            lines = f"from estimator.engine import version; version.ESTIMATOR_VERSION = {OTHER_ESTIMATOR!r}; {lines}"
        command = [sys.executable, "-c", lines, "--app", "config.celery", "worker", "--pool", "prefork"]
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

    def roll(self) -> None:
        """A worker of another estimator beside ours, and some versions that its web ordered."""
        self.start_second("other estimator")
        self.rows(
            f"UPDATE reports_reportversion SET estimator_version = '{OTHER_ESTIMATOR}', needs_estimator ="
            f" '{OTHER_ESTIMATOR}' WHERE id IN (SELECT id FROM reports_reportversion WHERE state = 'queued' LIMIT 3)"
        )

    def herd(self) -> None:
        """16 threads that claim what there is and let it go again."""
        found = self.django(_HERD)
        if not found.strip():  # the database went meanwhile, and the herd with what it had
            self.struck |= self.running()
            return
        taken = json.loads(found.splitlines()[-1])
        self.herd_claims += len(taken)
        self.claimed_twice += len(taken) - len(set(taken))

    def fill_disk(self) -> None:
        """Not a byte left on the disk of the report files, for a while."""
        assert self.disk is not None
        ballast = self.disk / "ballast"
        try:
            with ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 16))
        except OSError:
            time.sleep(FULL_S)
        finally:
            ballast.unlink(missing_ok=True)

    def move_leases(self) -> None:
        """End every lease while its worker goes on; whose chunk it was may be begun again."""
        over = "strftime('%Y-%m-%d %H:%M:%f', 'now', '-1 second')"
        if self.postgres is not None:
            over = "now() - interval '1 second'"
        moved = self.rows(f"UPDATE reports_reportchunk SET lease_until = {over} WHERE state = 'running' RETURNING id")
        self.struck |= {row[0] for row in moved}
        self.rows(
            f"UPDATE reports_reportversion SET finalize_until = {over}"
            " WHERE finalize_until IS NOT NULL AND state = 'running'"
        )

    def ring_thrice(self) -> None:
        self.django("from reports.work import bell\nfor _ in range(3):\n    bell.ring(8)")

    def clean_orphans(self) -> None:
        self.django("from reports.work import reconcile\nreconcile.clean_orphans(older_than_s=0.0)")

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

    def hang_database(self) -> None:
        """Connections stay open and nothing comes back; then all of them break."""
        assert self.proxy is not None
        self.proxy.hang()
        time.sleep(HUNG_S)
        self.proxy.recover()

    def django(self, code: str) -> str:
        """What code prints in a process of the service's settings; the database may be away just then."""
        lines = "import config.celery, django\ndjango.setup()\n" + code
        done = subprocess.run(
            [sys.executable, "-c", lines], cwd=ROOT, env=self.service.environment, capture_output=True, check=False
        )
        return done.stdout.decode()


_HERD = """
import json, threading
from django.db import connection
from reports.work import claims
taken = []
barrier = threading.Barrier(16, timeout=50)

def claim_some():
    held = []
    for _ in range(4):
        if claim := claims.claim_chunk():
            held.append(claim)
            taken.append(claim.pk)
    barrier.wait()
    for claim in held:
        claims.release_chunk(claim, give_attempt_back=True)
    connection.close()

herd = [threading.Thread(target=claim_some) for _ in range(16)]
for thread in herd:
    thread.start()
for thread in herd:
    thread.join()
print(json.dumps(taken))
"""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def strike(faults: Faults, stop: threading.Event, every_s: float, say: Callable[[str], None]) -> None:
    """One fault after the other, round after round, until told to stop."""
    while True:
        for name, fault in faults.every():
            say(f"fault: {name}")
            fault()
            faults.done += 1
            if stop.wait(every_s):
                return
