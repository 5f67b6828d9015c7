"""Writing and reading heartbeats, by the clock of the database."""

from datetime import datetime, timedelta

from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

from config.health.models import WorkerHeartbeat

BEAT_EVERY_S = 5.0
# Three missed beats: a worker that is merely busy writes its own from a thread.
STALE_AFTER_S = 15.0
_FORGET_AFTER = timedelta(days=1)


def beat(worker: str) -> None:
    """Notes that the worker is alive, and forgets workers that have been gone for a day."""
    if not WorkerHeartbeat.objects.filter(worker=worker).update(beaten_at=Now()):
        WorkerHeartbeat.objects.update_or_create(worker=worker, defaults={"beaten_at": Now()})
        WorkerHeartbeat.objects.filter(beaten_at__lt=Now() - _FORGET_AFTER).delete()


def newest_beat(worker_suffix: str = "") -> tuple[datetime, float] | None:
    """Time (UTC) and age (s) of the newest heartbeat of workers whose name ends so; None if there is none."""
    age = ExpressionWrapper(Now() - F("beaten_at"), output_field=DurationField())
    beats = WorkerHeartbeat.objects.filter(worker__endswith=worker_suffix).annotate(age=age)
    row = beats.order_by("-beaten_at").values_list("beaten_at", "age").first()
    return None if row is None else (row[0], row[1].total_seconds())


def beat_age_s(worker_suffix: str) -> float | None:
    """Age (s) of the newest heartbeat of workers whose name ends so; None if there is none."""
    newest = newest_beat(worker_suffix)
    return None if newest is None else newest[1]
