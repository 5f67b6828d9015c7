"""The Celery app: bells only, the database is the record (docs/adr/0002)."""

import logging
import os
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from celery import Celery, signals
from django.conf import settings
from kombu.transport import TRANSPORT_ALIASES

from config import file_broker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

logger = logging.getLogger("aforo.worker")

TRANSPORT_ALIASES["aforo-file"] = "config.file_broker:Transport"

# The longest task may run this long; an unacknowledged message comes back only after more than that.
TASK_HARD_LIMIT_S = 3600
TASK_SOFT_LIMIT_S = 3540
VISIBILITY_TIMEOUT_S = 2 * TASK_HARD_LIMIT_S


def _broker_settings(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if parts.scheme == "file":
        return {
            "broker_url": "aforo-file://localhost//",
            "broker_transport_options": file_broker.options_for(Path(unquote(parts.path))),
        }
    return {
        "broker_url": url,
        "broker_transport_options": {
            "visibility_timeout": VISIBILITY_TIMEOUT_S,
            # kombu looks for messages of dead workers only every so many polls; these make it seconds.
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_keepalive": True,
            "socket_connect_timeout": settings.AFORO_REDIS_WITHIN_S,
            # Longer than a worker's longest wait for a message (1 s): an idle queue is not taken for a hung one.
            "socket_timeout": settings.AFORO_REDIS_WITHIN_S,
            "health_check_interval": 10,
            # For publishers (workers reconnect by their own rules): without these a request would wait 6 s and more
            # for a broker that is away.
            "max_retries": 1,
            "interval_start": 0,
            "interval_step": 0.1,
            "interval_max": 0.2,
            "connect_retries_timeout": 1,
        },
    }


app = Celery("aforo")
app.conf.update(
    **_broker_settings(settings.AFORO_BROKER_URL),
    broker_connection_retry_on_startup=True,
    # Publishing never blocks a request for long: a lost bell is rung again by the reconciler.
    task_publish_retry=False,
    task_default_queue="aforo",
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    task_ignore_result=True,
    task_serializer="json",
    result_serializer="json",
    accept_content=["json"],
    task_time_limit=TASK_HARD_LIMIT_S,
    task_soft_time_limit=TASK_SOFT_LIMIT_S,
    worker_soft_shutdown_timeout=10.0,
    worker_enable_soft_shutdown_on_idle=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    # Tasks are cancelled through their rows; nothing listens for commands, so nothing is polled for them.
    worker_enable_remote_control=False,
    enable_utc=True,
    timezone="UTC",
    # The schedule is short intervals only: nothing to remember between starts, no file to be corrupted by a kill.
    beat_scheduler="celery.beat:Scheduler",
    beat_max_loop_interval=1,
    beat_schedule={
        "reports-reconcile": {"task": "reports.tasks.reconcile", "schedule": 10.0, "options": {"expires": 30}},
        "reports-clean": {"task": "reports.tasks.clean", "schedule": 3600.0, "options": {"expires": 3600}},
        "price-differences": {
            "task": "catalog.tasks.report_price_differences",
            "schedule": 86_400.0,
            "options": {"expires": 3600},
        },
        "price-cross-check": {
            "task": "catalog.tasks.cross_check_prices",
            "schedule": 86_400.0,
            "options": {"expires": 3600},
        },
    },
)
app.autodiscover_tasks()


@signals.setup_logging.connect
def _keep_django_logging(**kwargs: Any) -> None:
    """Connecting here is what stops Celery from setting up logging of its own."""


@signals.worker_ready.connect
def _start_heartbeat(sender: Any, **kwargs: Any) -> None:
    parts = urlsplit(settings.AFORO_BROKER_URL)
    if parts.scheme == "file":
        file_broker.remove_leftovers(Path(unquote(parts.path)))
    threading.Thread(target=_beat_forever, args=(sender.hostname,), name="heartbeat", daemon=True).start()


def _beat_forever(worker: str) -> None:
    # Models are importable only once Django is set up, which Celery does after importing this module.
    from django.db import connection

    from config.health.services import BEAT_EVERY_S, beat
    from reports.work.estimators import say_alive

    while True:
        try:
            beat(worker)
            say_alive()
        except Exception:
            # The worker goes on without; /statusz shows the missing beat.
            logger.warning("heartbeat not written", exc_info=True)
        finally:
            # Not kept open: the pool forks children at any time, and they must not inherit a connection.
            connection.close()
        time.sleep(BEAT_EVERY_S)


@signals.worker_shutting_down.connect
def _note_shutdown(**kwargs: Any) -> None:
    logger.info("worker is shutting down")


@signals.beat_embedded_init.connect
def _stop_beat_with_its_worker(**kwargs: Any) -> None:
    """An embedded beat whose worker was killed would go on ringing for ever beside its successor."""
    worker_pid = os.getppid()

    def watch() -> None:
        while os.getppid() == worker_pid:
            time.sleep(1.0)
        os._exit(0)

    threading.Thread(target=watch, name="watch-worker", daemon=True).start()
