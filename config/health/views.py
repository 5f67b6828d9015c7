"""`/healthz`: the process answers. `/readyz`: this web process can do its work. `/statusz`: so can all the others."""

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from typing import Any

from django.db import close_old_connections, connection
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from catalog.api.json_format import write_json
from config.celery import app as celery_app
from config.health.services import STALE_AFTER_S, newest_beat

logger = logging.getLogger("aforo.health")

Outcome = dict[str, Any]
CHECK_WITHIN_S = 3.0


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers; touches neither database nor broker."""
    return HttpResponse(write_json({"status": "ok"}), content_type="application/json")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 if this web process reaches database and report files, else 503; workers and broker do not matter here."""
    return _answer("ready", "not_ready", _outcomes(READINESS))


@never_cache
@require_safe
def statusz(request: HttpRequest) -> HttpResponse:
    """200 if the whole service works, else 503: workers, broker and queue beside what /readyz asks for."""
    return _answer("ok", "degraded", _outcomes({**READINESS, **STATUS}))


def _answer(well: str, ill: str, checks: Mapping[str, Outcome]) -> HttpResponse:
    fine = all(check["ok"] for check in checks.values())
    body = {"status": well if fine else ill, "checks": checks}
    response = HttpResponse(write_json(body), status=200 if fine else 503, content_type="application/json")
    # The line of the check that failed says it; Django would add an error for each time somebody asks.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


class _Probe:
    """One check in a thread of its own, so that what hangs costs a request its deadline and no more."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"check-{name}")
        self._running: Future[Outcome] | None = None

    def start(self, check: Callable[[], Outcome]) -> "Future[Outcome]":
        """What the check will say. One that hangs is not joined by others: everybody waits for the same."""
        if self._running is None or self._running.done():
            self._running = self._pool.submit(_in_thread, check)
        return self._running


def _in_thread(check: Callable[[], Outcome]) -> Outcome:
    close_old_connections()
    try:
        return check()
    finally:
        close_old_connections()


_probes: dict[str, _Probe] = {}


def _outcomes(checks: Mapping[str, Callable[[], Outcome]]) -> dict[str, Outcome]:
    """What each check says within one deadline for all."""
    ends_s = time.monotonic() + CHECK_WITHIN_S
    # A test's database lives in the connection of its own thread.
    here = connection.in_atomic_block
    running = {} if here else {name: _probe(name).start(check) for name, check in checks.items()}
    waits = {name: check if here else _waiting(running[name], ends_s) for name, check in checks.items()}
    return {name: _outcome(name, wait) for name, wait in waits.items()}


def _probe(name: str) -> _Probe:
    return _probes.setdefault(name, _Probe(name))


def _waiting(running: "Future[Outcome]", ends_s: float) -> Callable[[], Outcome]:
    return lambda: running.result(timeout=max(0.0, ends_s - time.monotonic()))


def _outcome(name: str, wait: Callable[[], Outcome]) -> Outcome:
    try:
        return wait()
    except NotInTime:
        logger.warning("%s did not answer within %g s", name, CHECK_WITHIN_S)
        return {"ok": False, "detail": _("It does not answer in time.")}
    except Exception as error:
        # Whatever is wrong, the answer is that it is not ready; what it is belongs in the log, not on the network.
        logger.warning("%s does not work: %s", name, error)
        return {"ok": False, "detail": _("It does not answer; the log has the reason.")}


def _database() -> Outcome:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return {"ok": True, "vendor": connection.vendor}


def _artifacts() -> Outcome:
    from reports.services import own_store

    try:
        own_store.check()
    except own_store.OtherStoreError as error:
        logger.error("%s", error)
        return {"ok": False, "detail": str(error)}
    return {"ok": True}


def _broker() -> Outcome:
    with celery_app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, timeout=2)
        return {"ok": True, "transport": broker.transport.driver_name}


def _worker() -> Outcome:
    newest = newest_beat()
    if newest is None:
        return {"ok": False, "detail": _("No worker has reported yet.")}
    beaten_at, age_s = newest
    return {"ok": age_s <= STALE_AFTER_S, "last_heartbeat_at": beaten_at, "heartbeat_age_s": round(age_s, 3)}


def _queue() -> Outcome:
    from reports.choices import ACTIVE
    from reports.models import ReportVersion

    waiting = ReportVersion.objects.filter(state__in=ACTIVE).values("state").annotate(versions=Count("pk"))
    return {"ok": True, "versions": {row["state"]: row["versions"] for row in waiting.order_by("state")}}


READINESS: dict[str, Callable[[], Outcome]] = {"database": _database, "artifacts": _artifacts}
STATUS: dict[str, Callable[[], Outcome]] = {"broker": _broker, "worker": _worker, "queue": _queue}
