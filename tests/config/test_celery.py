"""How tasks are sent and taken, and that nothing of a killed worker lives on."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from config.celery import TASK_HARD_LIMIT_S, _broker_settings, app
from tests import templates
from tests.live import HANGS_AFTER_S, ROOT, embedded_environment


def test_an_unacknowledged_message_comes_back_only_after_the_longest_task_must_have_ended():
    options = _broker_settings("redis://broker/0")["broker_transport_options"]
    assert options["visibility_timeout"] > TASK_HARD_LIMIT_S >= app.conf.task_soft_time_limit
    assert (options["unacked_restore_interval"], options["unacked_restore_throttle"]) == (5, 1)


def test_tasks_are_acknowledged_late_one_at_a_time_and_only_json_is_read():
    conf = app.conf
    assert conf.task_acks_late
    assert conf.task_reject_on_worker_lost
    assert conf.worker_prefetch_multiplier == 1
    assert conf.task_ignore_result
    assert conf.accept_content == ["json"]
    assert not conf.task_publish_retry


def test_everything_the_beat_rings_is_a_task_that_exists():
    app.loader.import_default_modules()
    assert {entry["task"] for entry in app.conf.beat_schedule.values()} <= set(app.tasks)


def test_a_broker_that_is_away_delays_a_request_by_two_tries_and_a_short_wait(tmp_path):
    code = """
import socket, time
from config.celery import app
waits, tries = [], []
time.sleep = waits.append
connect = socket.socket.connect
socket.socket.connect = lambda self, address: (tries.append(self.gettimeout()), connect(self, address))
try:
    app.send_task("x")
except Exception:
    print(len(tries), max(tries), sum(waits))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=embedded_environment(tmp_path) | {"AFORO_BROKER_URL": "redis://127.0.0.1:9/0"},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
    )
    tries, deadline_s, waited_s = map(float, done.stdout.split())
    assert 1 <= tries <= 2
    assert deadline_s == 2
    assert waited_s <= 1


def test_beat_and_pool_end_with_a_worker_that_was_killed(tmp_path):
    environment = embedded_environment(tmp_path)
    Path(environment["AFORO_DATA_DIR"]).mkdir()
    shutil.copyfile(templates.sqlite_file("migrated"), Path(environment["AFORO_DATA_DIR"]) / "aforo.sqlite3")
    command = [sys.executable, "-m", "celery", "--app", "config.celery", "worker", "--beat", "--concurrency", "1"]
    log = (tmp_path / "worker.log").open("w")
    worker = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + HANGS_AFTER_S
        while "ready." not in (text := (tmp_path / "worker.log").read_text()) or "beat: Starting" not in text:
            assert time.monotonic() < deadline, text
            assert worker.poll() is None, text
            time.sleep(0.1)
        children = [int(pid) for pid in Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()]
        assert len(children) == 2
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        deadline = time.monotonic() + HANGS_AFTER_S
        while any(Path(f"/proc/{pid}").exists() for pid in children):
            assert time.monotonic() < deadline, "children of a killed worker live on"
            time.sleep(0.1)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
