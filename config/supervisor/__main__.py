"""`python -m config.supervisor`: prepare, start web and worker, say where everything is, keep them alive."""

import json
import os
import resource
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from config.supervisor.children import ChildSpec, Supervisor, die_with_parent

ROOT = Path(__file__).resolve().parents[2]
SAY_AFTER_S = 5.0
_LOOK_EVERY_S = 0.1
OPEN_FILES = 8192
# HTTP/1 alone, whose headers have a deadline (ms), and many connections, most of which may say nothing; as in the
# Dockerfile.
GRANIAN_OPTIONS = (
    "--http", "1", "--no-ws", "--http1-header-read-timeout", "10000", "--backlog", "4096", "--backpressure", "4096",
    "--respawn-failed-workers",
    "--workers-kill-timeout", "10",
)  # fmt: skip


def main() -> int:
    """Runs until Ctrl-C or SIGTERM; the exit code is 0 after a clean stop."""
    began_s = time.monotonic()
    environment = dict(os.environ)
    environment.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    host = environment.get("AFORO_HOST") or "127.0.0.1"
    try:
        port = _port(environment)
        _refuse_taken(host, port)
    except ValueError as error:
        say(str(error))
        return 2
    supervisor = Supervisor(specs=[web(host, port, environment), worker(port, environment)], say=say)
    supervisor.take_signals()
    allow_open_files()
    prepared = prepare(environment, stop_asked=lambda: supervisor.stops_asked > 0)
    if supervisor.stops_asked:
        say("stopped")
        return 0
    if prepared.returncode != 0:
        say("preparing failed; the reason is above")
        return prepared.returncode
    demo = json.loads(prepared.stdout.splitlines()[-1])
    supervisor.start()
    base = f"http://{host}:{port}"
    waiting = Waiting(base)
    alive = supervisor.watch(until=waiting.is_over)
    if alive and not supervisor.stops_asked:
        say(f"ready after {time.monotonic() - began_s:.1f} s")
        sys.stdout.write(banner(base, demo))
        sys.stdout.flush()
        alive = supervisor.watch()
    say("stopping")
    supervisor.stop()
    say("stopped")
    return 0 if alive else 1


def prepare(environment: Mapping[str, str], *, stop_asked: Callable[[], bool]) -> "subprocess.CompletedProcess[bytes]":
    """Migrations, catalog and demo user, in a process of its own; its last line says who the demo user is.

    A stop ends the process; the next start does what is left.
    """
    say("preparing: database, catalog, demo user")
    process = subprocess.Popen(
        [sys.executable, "manage.py", "prepare_run", "--if-changed"],
        cwd=ROOT,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        # Ctrl-C reaches the supervisor alone.
        start_new_session=True,
        preexec_fn=die_with_parent if sys.platform == "linux" else None,
    )
    while True:
        if stop_asked():
            process.kill()
        try:
            output, _ = process.communicate(timeout=_LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            continue
        return subprocess.CompletedProcess(process.args, process.returncode, output)


def web(host: str, port: int, environment: Mapping[str, str]) -> ChildSpec:
    """The web server: granian, with the threads that answer in `config.rsgi`."""
    command = [sys.executable, "-m", "granian", "--interface", "rsgi", "--host", host, "--port", str(port)]
    command += ["--workers", environment.get("AFORO_WEB_PROCESSES") or "2", *GRANIAN_OPTIONS, "config.rsgi:application"]
    return ChildSpec(name="web", command=command, environment=environment, folder=ROOT)


def worker(port: int, environment: Mapping[str, str]) -> ChildSpec:
    """The worker with the beat inside: Celery, prefork."""
    command = [sys.executable, "-m", "celery", "--app", "config.celery", "worker", "--beat", "--pool", "prefork"]
    command += ["--concurrency", environment.get("AFORO_WORKER_PROCESSES") or "2"]
    command += ["--hostname", f"aforo-{port}@%h", "--without-gossip", "--without-mingle", "--loglevel", "INFO"]
    # SIGTERM then stops softly: tasks get a while, and what does not finish is handed back.
    soft = {**environment, "REMAP_SIGTERM": "SIGQUIT"}
    return ChildSpec(name="worker", command=command, environment=soft, folder=ROOT)


def allow_open_files() -> None:
    """Lets children hold as many sockets as the web server takes: the usual limit of 1,024 ends before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < OPEN_FILES:
        most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class Waiting:
    """Waits until database, broker and worker all answer, and says in between what does not."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._say_at_s = time.monotonic() + SAY_AFTER_S

    def is_over(self) -> bool:
        """Whether everything answers."""
        missing = what_is_missing(self._base)
        if missing and time.monotonic() > self._say_at_s:
            self._say_at_s = time.monotonic() + SAY_AFTER_S
            say(f"waiting for {missing}")
        return not missing


def what_is_missing(base: str) -> str:
    """What does not answer yet, in words; empty when everything does."""
    try:
        with urllib.request.urlopen(f"{base}/statusz", timeout=5):  # noqa: S310  our own http address
            return ""
    except urllib.error.HTTPError as error:
        try:
            checks = json.loads(error.read())["checks"]
            return ", ".join(name for name, outcome in checks.items() if not outcome.get("ok")) or "the service"
        except (ValueError, KeyError, AttributeError):
            return "the service"
    except (urllib.error.URLError, OSError):
        return "the web server"


def banner(base: str, demo: Mapping[str, Any]) -> str:
    """What a person needs to go on: addresses, login, a first call."""
    return f"""
  Calculator       {base}
  API docs         {base}/api/docs/
  Admin            {base}/admin/
  Login            {demo["username"]} / {demo["password"]}
  API token        {demo["token"]}
  Worker health    {base}/statusz

  A first answer is on the first page; the same by the API:

    curl -s '{base}/api/v1/estimates/memory-fit/' -H 'Authorization: Bearer {demo["token"]}' \\
      -H 'Content-Type: application/json' -d '{{"model": "llama-3.1-8b", "gpu": "h100-sxm5-80gb", "engine": "vllm",
      "workload": {{"input_tokens": 1024, "output_tokens": 256, "concurrency": 16}}}}'

  Ctrl-C stops everything.

"""


def say(line: str) -> None:
    """One line of the supervisor among those of its children."""
    sys.stdout.write(f"aforo: {line}\n")
    sys.stdout.flush()


def _port(environment: Mapping[str, str]) -> int:
    text = environment.get("AFORO_PORT") or "8000"
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise ValueError(f"AFORO_PORT={text!r} is not a port: use 1 to 65535.")
    return int(text)


def _refuse_taken(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ValueError(
                f"{host}:{port} cannot be used ({error.strerror}); choose another with AFORO_PORT."
            ) from error


if __name__ == "__main__":
    sys.exit(main())
