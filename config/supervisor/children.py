"""Keeping processes alive and stopping them together; knows nothing of Django."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FIRST_BACKOFF_S = 0.5
LONGEST_BACKOFF_S = 30.0
# A child that lived this long was well; its next death starts the backoff anew.
WELL_AFTER_S = 30.0
STOP_WITHIN_S = 20.0
_POLL_S = 0.1
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """A process to keep alive: its name in messages, command, environment and folder."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path


@dataclass(slots=True, kw_only=True)
class Child:
    """A running process, or the time (s, monotonic) at which to start it again."""

    spec: ChildSpec
    process: subprocess.Popen[bytes] | None = None
    started_at_s: float = 0.0
    restart_at_s: float = 0.0
    deaths_in_a_row: int = 0


@dataclass(slots=True, kw_only=True)
class Supervisor:
    """Runs children until asked to stop.

    Args:
        specs: the processes to keep alive.
        say: receives one line for each start, death and stop.
        give_up_after: deaths in a row, none of them after WELL_AFTER_S, that end everything.
    """

    specs: Sequence[ChildSpec]
    say: Callable[[str], None]
    give_up_after: int = 8
    stop_within_s: float = STOP_WITHIN_S
    children: list[Child] = field(default_factory=list)
    stops_asked: int = 0

    def ask_to_stop(self, signal_number: int, frame: object) -> None:
        """Signal handler: the first signal stops gently, the second at once."""
        self.stops_asked += 1

    def take_signals(self) -> None:
        """Takes over SIGINT and SIGTERM: they are counted, never raised, so that none is lost between two steps."""
        signal.signal(signal.SIGINT, self.ask_to_stop)
        signal.signal(signal.SIGTERM, self.ask_to_stop)

    def start(self) -> None:
        """Starts every child."""
        self.children = [Child(spec=spec) for spec in self.specs]
        for child in self.children:
            self._launch(child)

    def watch(self, until: Callable[[], bool] | None = None) -> bool:
        """Keeps the children alive until asked to stop, or until `until()`; False if a child cannot be kept alive."""
        while not self.stops_asked and not (until is not None and until()):
            for child in self.children:
                if not self._tend(child):
                    return False
            time.sleep(_POLL_S)
        return True

    def stop(self) -> None:
        """Ends all children: SIGTERM, and after `stop_within_s` or a second signal SIGKILL for what is left."""
        running = [child.process for child in self.children if child.process is not None]
        for process in running:
            _signal(process.pid, signal.SIGTERM)
        deadline_s = time.monotonic() + self.stop_within_s
        asked_before = self.stops_asked
        while any(process.poll() is None for process in running):
            if time.monotonic() > deadline_s or self.stops_asked > max(1, asked_before):
                self.say("stopping what is left at once")
                break
            time.sleep(_POLL_S)
        for process in running:
            _kill_group(process.pid)
            process.wait()

    def _launch(self, child: Child) -> None:
        child.process = subprocess.Popen(  # noqa: S603  commands are ours
            list(child.spec.command),
            env=dict(child.spec.environment),
            cwd=child.spec.folder,
            stdin=subprocess.DEVNULL,
            # A group of its own: Ctrl-C reaches the supervisor alone, and what a dead child left can be ended.
            start_new_session=True,
            # No threads run here, which is what makes preexec_fn unsafe elsewhere.
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )
        child.started_at_s = time.monotonic()
        self.say(f"{child.spec.name} started (pid {child.process.pid})")

    def _tend(self, child: Child) -> bool:
        now_s = time.monotonic()
        if child.process is None:
            if now_s >= child.restart_at_s:
                self._launch(child)
            return True
        code = child.process.poll()
        if code is None:
            return True
        _kill_group(child.process.pid)
        child.process = None
        child.deaths_in_a_row = 1 if now_s - child.started_at_s >= WELL_AFTER_S else child.deaths_in_a_row + 1
        if child.deaths_in_a_row >= self.give_up_after:
            self.say(f"{child.spec.name} died {child.deaths_in_a_row} times in a row ({_how(code)}); giving up")
            return False
        wait_s = backoff_s(child.deaths_in_a_row)
        child.restart_at_s = now_s + wait_s
        self.say(f"{child.spec.name} died ({_how(code)}); starting it again in {wait_s:g} s")
        return True


def backoff_s(deaths_in_a_row: int) -> float:
    """Seconds to wait before the next start: 0.5, doubled with each death in a row, at most 30."""
    return float(min(LONGEST_BACKOFF_S, FIRST_BACKOFF_S * 2 ** (deaths_in_a_row - 1)))


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"


def die_with_parent() -> None:
    """Asks Linux, in the child before exec, to send it SIGTERM when its parent is gone."""
    # A supervisor that is killed outright cannot stop its children; the kernel then does.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
