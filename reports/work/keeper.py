"""Keeps a lease alive while one long step (a merge, a file) runs in this process."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from django.db import connection

from reports import conf
from reports.errors import LeaseLostError
from reports.work.leases import Claim, Lease


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


def with_lease_kept(
    lease: Lease[Any],
    claim: Claim,
    work: Callable[[Claim, LeaseKeeper], None],
    give_up: Callable[[Claim, Exception], None],
) -> None:
    """Do one long step of claimed work while its lease is renewed; every way out leaves a state that goes on.

    Args:
        lease: The kind of work.
        claim: What was claimed.
        work: The step; it asks the keeper between its parts whether the lease is still ours.
        give_up: What follows an error: another attempt, or the end.
    """
    try:
        with LeaseKeeper(lambda: lease.heartbeat(claim)) as keeper:
            work(claim, keeper)
    except LeaseLostError:
        return
    except SystemExit:  # the pool asks this process to stop: the attempt is given back
        lease.release(claim, give_attempt_back=True)
        raise
    except Exception as error:
        give_up(claim, error)
