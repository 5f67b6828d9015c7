"""Wake workers. The message carries nothing: a lost one costs seconds, never a report."""

import logging

from celery import current_app

from reports import conf

log = logging.getLogger(__name__)
WORK = "reports.tasks.work"
RECONCILE = "reports.tasks.reconcile"


def ring(pieces: int = 1) -> None:
    """Send one wake-up per piece of work, up to a few; with the broker away the reconciler rings again later."""
    for _ in range(max(1, min(pieces, conf.MAX_BELLS))):
        if not send(WORK):
            return


def send(task: str) -> bool:
    """Send a message without arguments; False when the broker could not be reached."""
    try:
        current_app.send_task(task, retry=False, ignore_result=True)
    except Exception:  # whatever the broker raises: the record is in the database
        log.warning("the broker could not be reached; the reconciler will wake a worker", exc_info=True)
        return False
    return True
