"""Celery tasks: they translate a wake-up into a call. No arguments, no results: the record is in the database."""

import logging
from typing import Any

from celery import shared_task, signals

from reports import conf
from reports.errors import StoreAwayError
from reports.services import files, leftovers, own_store, schedules
from reports.work import bell, reconcile, turns, worker

log = logging.getLogger(__name__)


@shared_task(name=bell.WORK, ignore_result=True)
def work() -> None:
    """Woken: do what is claimable, and ring again when the budget ends before the work does."""
    if _is_ours() and worker.run():
        bell.ring()


def _is_ours() -> bool:
    """Whether this machine reaches the store that the database goes with; where it does not, others do the work."""
    try:
        own_store.check()
    except own_store.OtherStoreError as error:
        log.error("no work is taken: %s", error)
        return False
    except StoreAwayError:  # work that meets it is put off, with the reason for its reader
        return True
    return True


@shared_task(name=bell.RECONCILE, ignore_result=True)
def reconcile_now() -> None:
    """Every 10 s by beat, and on worker start: put right what broke, order anew what was left, make what is due."""
    reconcile.reconcile()
    leftovers.order_anew()
    schedules.run_due()


@shared_task(name="reports.tasks.clean", ignore_result=True)
def clean() -> None:
    """Every hour by beat: orphans, old idempotency keys, turns of nobody, derived files nobody used for long."""
    reconcile.clean_orphans()
    reconcile.clean_scratch()
    reconcile.forget_old_keys()
    turns.forget_idle()
    files.evict(conf.retention_days())


@signals.worker_ready.connect
def reconcile_on_start(**_: Any) -> None:
    """A worker that starts looks at once for what its predecessor left, on its disk too."""
    reconcile.clean_scratch()
    bell.send(bell.RECONCILE)
    bell.ring(1)
