"""The supervisor keeps children alive and stops them together."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from config.supervisor.children import backoff_s
from tests.live import HANGS_AFTER_S, ROOT, embedded_environment, free_port

DRIVER = """
    import sys
    from pathlib import Path
    from config.supervisor.children import ChildSpec, Supervisor
    import os

    folder = Path(sys.argv[1])
    code = sys.argv[2]
    spec = ChildSpec(name="child", command=[sys.executable, "-c", code], environment=os.environ, folder=folder)
    supervisor = Supervisor(
        specs=[spec], say=lambda line: print(line, flush=True), give_up_after=3, stop_within_s=float(sys.argv[3])
    )
    supervisor.take_signals()
    supervisor.start()
    alive = supervisor.watch()
    supervisor.stop()
    sys.exit(0 if alive else 1)
"""
PATIENT = "import os,time,pathlib; pathlib.Path(f'started-{os.getpid()}').touch(); time.sleep(3600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + PATIENT
WITH_GRANDCHILD = (
    "import subprocess,sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)']); " + PATIENT
)


@pytest.fixture
def drive(tmp_path):
    running: list[subprocess.Popen[str]] = []

    def start(code: str, stop_within_s: float = 2) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(DRIVER), str(tmp_path), code, str(stop_within_s)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()


def wait_for_start(folder: Path, number: int) -> list[int]:
    deadline = time.monotonic() + HANGS_AFTER_S
    while len(found := sorted(folder.glob("started-*"), key=lambda p: p.stat().st_mtime_ns)) < number:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return [int(path.name.removeprefix("started-")) for path in found]


def gone(pid: int, within_s: float = HANGS_AFTER_S) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_a_killed_child_is_started_again(drive, tmp_path):
    process = drive(PATIENT)
    (first,) = wait_for_start(tmp_path, 1)
    os.kill(first, signal.SIGKILL)
    second = wait_for_start(tmp_path, 2)[1]
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 0
    assert "died (signal SIGKILL); starting it again in 0.5 s" in output
    assert gone(second)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_stops_everything_cleanly(drive, tmp_path, how):
    process = drive(PATIENT)
    (child,) = wait_for_start(tmp_path, 1)
    process.send_signal(how)
    assert process.wait(timeout=HANGS_AFTER_S) == 0
    assert gone(child)


def test_a_child_that_ignores_the_request_is_killed_after_the_grace(drive, tmp_path):
    process = drive(STUBBORN)
    (child,) = wait_for_start(tmp_path, 1)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=HANGS_AFTER_S) == 0
    assert time.monotonic() - began > 1.5
    assert gone(child)


def test_a_second_signal_does_not_wait_for_the_grace(drive, tmp_path):
    process = drive(STUBBORN, stop_within_s=10 * HANGS_AFTER_S)
    wait_for_start(tmp_path, 1)
    process.send_signal(signal.SIGINT)
    # On a busy machine two signals may arrive as one.
    deadline = time.monotonic() + HANGS_AFTER_S
    while process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.4)
        process.send_signal(signal.SIGINT)
    assert process.returncode == 0


def test_what_a_dead_child_left_behind_is_ended(drive, tmp_path):
    drive(WITH_GRANDCHILD)
    (child,) = wait_for_start(tmp_path, 1)
    (grandchild,) = Path(f"/proc/{child}/task/{child}/children").read_text().split()
    os.kill(child, signal.SIGKILL)
    assert gone(int(grandchild))


def test_a_child_that_always_dies_ends_the_run_with_an_error(drive):
    process = drive("raise SystemExit(7)")
    output, _ = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 1
    assert "died 3 times in a row (exit code 7); giving up" in output


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux ends the children")
def test_children_do_not_outlive_a_killed_supervisor(drive, tmp_path):
    process = drive(PATIENT)
    (child,) = wait_for_start(tmp_path, 1)
    process.kill()
    assert gone(child)


def test_the_backoff_doubles_up_to_half_a_minute():
    assert [backoff_s(n) for n in (1, 2, 3, 6, 7, 50)] == [0.5, 1.0, 2.0, 16.0, 30.0, 30.0]


@pytest.mark.parametrize(("name", "value"), [("AFORO_PORT", "http"), ("AFORO_PORT", "0"), ("AFORO_PORT", "70000")])
def test_a_port_that_is_none_is_refused_by_name(tmp_path, name, value):
    done = subprocess.run(
        [sys.executable, "-m", "config.supervisor"],
        cwd=ROOT,
        env=embedded_environment(tmp_path) | {name: value},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert name in done.stdout


def test_a_taken_port_is_refused_before_anything_starts(tmp_path):
    import socket

    port = free_port()
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        done = subprocess.run(
            [sys.executable, "-m", "config.supervisor"],
            cwd=ROOT,
            env=embedded_environment(tmp_path) | {"AFORO_PORT": str(port)},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 2
    assert "AFORO_PORT" in done.stdout
    assert not (tmp_path / "var").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_while_preparing_ends_it_without_a_traceback(tmp_path, how):
    process = subprocess.Popen(
        [sys.executable, "-m", "config.supervisor"],
        cwd=ROOT,
        env=embedded_environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    assert "preparing" in process.stdout.readline()
    (child,) = map(int, wait_for_child(process.pid).split())
    process.send_signal(how)
    output, _ = process.communicate(timeout=HANGS_AFTER_S)
    assert (process.returncode, output) == (0, "aforo: stopped\n")
    assert gone(child)


def wait_for_child(pid: int) -> str:
    deadline = time.monotonic() + HANGS_AFTER_S
    while not (found := Path(f"/proc/{pid}/task/{pid}/children").read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def test_children_may_hold_more_sockets_than_the_usual_limit():
    code = """
import resource
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
from config.supervisor.__main__ import OPEN_FILES, allow_open_files
allow_open_files()
soft, same = resource.getrlimit(resource.RLIMIT_NOFILE)
assert soft == (OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)), soft
assert same == hard
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
