"""Keeps a lease alive while one long step (a merge, a file) runs in this process."""

import threading
from collections.abc import Callable
from types import TracebackType

from django.db import connection

from reports import conf
from reports.errors import LeaseLostError


class LeaseKeeper:
    """Renews a lease from a thread; `check()` raises as soon as the lease is gone."""

    def __init__(self, renew: Callable[[], bool]) -> None:
        self._renew = renew
        self._stop = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease-keeper", daemon=True)

    def __enter__(self) -> "LeaseKeeper":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=30)

    def check(self) -> None:
        """Raise when the lease was lost."""
        if self._lost.is_set():
            raise LeaseLostError

    def _run(self) -> None:
        try:
            while not self._stop.wait(conf.heartbeat_s()):
                try:
                    if not self._renew():
                        self._lost.set()
                        return
                except Exception:
                    connection.close()
        finally:
            connection.close()
