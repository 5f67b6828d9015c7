"""A PostgreSQL cluster and a Redis of the campaign's own: the only ones it may kill."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tests.live import free_port

_PG = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def _as_postgres(command: list[str]) -> list[str]:
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command


class Postgres:
    """A cluster in a folder, by initdb and pg_ctl as user postgres."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "postgres"
        self.port = free_port()
        self.folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
            for parent in self.folder.parents:
                if parent != Path("/") and parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
                    parent.chmod(parent.stat().st_mode | 0o011)
        self._run("initdb", "-D", str(self.folder), "-A", "trust", "-U", "postgres", "--no-sync")
        self.start()
        self._run("createuser", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "aforo")
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-O", "aforo", "aforo")

    @property
    def url(self) -> str:
        """Address of the database."""
        return f"postgres://aforo@127.0.0.1:{self.port}/aforo"

    def start(self) -> None:
        """Start and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self.folder), "-o", options, "-l", log, "-w", "start")

    def stop(self) -> None:
        """Stop at once, as a crash would: open transactions are lost."""
        self._run("pg_ctl", "-D", str(self.folder), "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = _as_postgres([str(_PG[-1] / program), *arguments])
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", check=False)
        assert done.returncode == 0, done.stderr.decode()


class Redis:
    """A server of the campaign's own without persistence: killed, it forgets everything."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start and wait until it answers."""
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir"]
        self.process = subprocess.Popen([*command, str(self.folder)], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while subprocess.run(self._ask("PING"), capture_output=True, check=False).stdout != b"PONG\n":
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def flush(self) -> None:
        """FLUSHALL: every message is gone."""
        subprocess.run(self._ask("FLUSHALL"), stdout=subprocess.DEVNULL, check=True)

    def _ask(self, word: str) -> list[str]:
        return ["redis-cli", "-p", str(self.port), word]
