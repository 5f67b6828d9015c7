"""`/healthz` says the process answers; `/readyz` says it can do its work."""

import logging
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from catalog.api.json_format import write_json
from config.celery import app as celery_app
from config.health.services import STALE_AFTER_S, newest_beat

logger = logging.getLogger("aforo.health")


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers; touches neither database nor broker."""
    return HttpResponse(write_json({"status": "ok"}), content_type="application/json")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 if database, broker and a worker are there, else 503; says which are not."""
    checks = {name: _outcome(name, check) for name, check in CHECKS.items()}
    ready = all(check["ok"] for check in checks.values())
    body = {"status": "ready" if ready else "not_ready", "checks": checks}
    return HttpResponse(write_json(body), status=200 if ready else 503, content_type="application/json")


def _outcome(name: str, check: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return check()
    except Exception:
        # Whatever is wrong, the answer is that it is not ready; what it is belongs in the log, not on the network.
        logger.warning("%s is not ready", name, exc_info=True)
        return {"ok": False, "detail": _("It does not answer; the log has the reason.")}


def _database() -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return {"ok": True, "vendor": connection.vendor}


def _broker() -> dict[str, Any]:
    with celery_app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, timeout=2)
        return {"ok": True, "transport": broker.transport.driver_name}


def _worker() -> dict[str, Any]:
    newest = newest_beat()
    if newest is None:
        return {"ok": False, "detail": _("No worker has reported yet.")}
    beaten_at, age_s = newest
    return {"ok": age_s <= STALE_AFTER_S, "last_heartbeat_at": beaten_at, "heartbeat_age_s": round(age_s, 3)}


CHECKS: dict[str, Callable[[], dict[str, Any]]] = {"database": _database, "broker": _broker, "worker": _worker}
