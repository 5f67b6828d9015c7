"""Celery tasks: they translate a wake-up into a call. No arguments, no results: the record is in the database."""

from celery import shared_task

from reports import bell, reconcile, worker


@shared_task(name=bell.WORK, ignore_result=True)
def work() -> None:
    """Woken: do what is claimable, and ring again when the budget ends before the work does."""
    if worker.run():
        bell.ring()


@shared_task(name="reports.tasks.reconcile", ignore_result=True)
def reconcile_now() -> None:
    """Every 10 s by beat, and on worker start."""
    reconcile.reconcile()


@shared_task(name="reports.tasks.clean", ignore_result=True)
def clean() -> None:
    """Every hour by beat: orphans, old idempotency keys, derived files nobody used for long."""
    reconcile.clean_orphans()
    reconcile.forget_old_keys()
