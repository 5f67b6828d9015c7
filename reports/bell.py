"""Wake workers. The message carries nothing: a lost one costs seconds, never a report."""

import logging

from celery import current_app

from reports import conf

log = logging.getLogger(__name__)
WORK = "reports.tasks.work"


def ring(pieces: int = 1) -> None:
    """Send one wake-up per piece of work, up to a few; with the broker away the reconciler rings again later."""
    try:
        for _ in range(max(1, min(pieces, conf.MAX_BELLS))):
            current_app.send_task(WORK, retry=False, ignore_result=True)
    except Exception:
        log.warning("the broker could not be reached; the reconciler will wake a worker", exc_info=True)
