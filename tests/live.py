"""A running service for tests: the real supervisor with its real web and worker processes."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.published_schema import hold

ROOT = Path(__file__).resolve().parents[1]
# Tells a hang from a busy machine, nothing else: no test may fail because the machine is slow.
HANGS_AFTER_S = 240.0


def embedded_environment(data_dir: Path) -> dict[str, str]:
    """The environment of `make run` on embedded defaults, with a data folder and a port of its own."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("AFORO_", "DJANGO_", "DATABASE_"))
    }
    return kept | {
        "DJANGO_SETTINGS_MODULE": "config.settings.dev",
        "AFORO_DATA_DIR": str(data_dir / "var"),
        "AFORO_PORT": str(free_port()),
        "AFORO_WEB_PROCESSES": "1",
        "PYTHONUNBUFFERED": "1",
    }


# Below the kernel's range for outgoing connections, which would take a port between this look and its use.
_PORTS = range(15_000, 32_000)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    # Not the seeded generator: two processes of a test run would ask for the same ports.
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("no port is free")


class LiveService:
    """`python -m config.supervisor` in an environment; `base`, `token` and `call()` to talk to it."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self.environment = environment
        self.log = log
        self.base = f"http://127.0.0.1:{environment['AFORO_PORT']}"
        self.process: subprocess.Popen[bytes] | None = None
        self.token = ""

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "config.supervisor"],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.wait_for(lambda: "Ctrl-C stops everything" in self.text())
        found = re.search(r"API token +(\S+)", self.text())
        assert found, self.text()
        self.token = found.group(1)

    def text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def wait_for(self, happened: Any, within_s: float = HANGS_AFTER_S, every_s: float = 0.1) -> None:
        """Waits until `happened()` is true; fails with the log if the service ends or time runs out first."""
        deadline_s = time.monotonic() + within_s
        while not happened():
            assert self.process is not None
            assert self.process.poll() is None, f"the service ended:\n{self.text()[-4000:]}"
            assert time.monotonic() < deadline_s, f"not within {within_s} s:\n{self.text()[-4000:]}"
            time.sleep(every_s)

    def call(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and parsed JSON (or bytes) of one call with the demo token."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        if data is not None:
            request.add_header("Content-Type", "application/json")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=HANGS_AFTER_S) as answer:
                return self._held(request, answer.status, answer.headers.get_content_type(), answer.read())
        except urllib.error.HTTPError as error:
            return self._held(request, error.code, error.headers.get_content_type(), error.read())

    def _held(self, request: urllib.request.Request, status: int, content_type: str, content: bytes) -> tuple[int, Any]:
        path = request.selector.partition("?")[0]
        hold(request.get_method(), path, status, content_type, content)
        return status, _parsed(content_type, content)

    def pid_of(self, name: str) -> int:
        """The pid of the newest child with this name (web, worker), as the supervisor said it."""
        return int(re.findall(rf"aforo: {name} started \(pid (\d+)\)", self.text())[-1])

    def kill(self, name: str) -> int:
        """SIGKILL to a child; returns its pid."""
        pid = self.pid_of(name)
        os.kill(pid, signal.SIGKILL)
        return pid

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """Asks the supervisor to stop and returns its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(HANGS_AFTER_S)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                raise
        return int(self.process.returncode)


def _parsed(content_type: str, content: bytes) -> Any:
    return json.loads(content) if content_type.endswith("json") else content
