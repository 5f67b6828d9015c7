"""`Prefer: wait=N` (RFC 7240): what a request waits for is left to whoever stands in front of the views.

A view names it in the environment of the request and answers as it would without; the front of the web server waits
without a thread or a connection, and asks for the address again (`config/waiting.py`).
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from rest_framework.request import Request

from reports.choices import ACTIVE
from reports.models import Artifact, ReportVersion

PENDING = "aforo.pending"
_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d{1,9})\"?\s*(?:$|[,;])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What is waited for: its kind and key, for how long (s) at most, and the address that tells what came of it."""

    kind: str
    key: Any
    within_s: int
    path: str


def wait_s(request: Request) -> int:
    """Seconds that the caller would wait, at most AFORO_MAX_WAIT_S; 0 where nothing is said of it."""
    found = _WAIT.search(request.headers.get("Prefer", ""))
    return min(int(found[1]), settings.AFORO_MAX_WAIT_S) if found else 0


def wait_for(request: Request, kind: str, key: Any, path: str) -> None:
    """Leaves word that the caller waits for a version or a file."""
    if within_s := wait_s(request):
        request._request.META[PENDING] = Pending(kind=kind, key=key, within_s=within_s, path=path)


def ready(waited: Collection[tuple[str, Any]]) -> set[tuple[str, Any]]:
    """Those of what is waited for that are done, one way or another; one query for each kind."""
    found = set()
    for kind, model in (("version", ReportVersion), ("file", Artifact)):
        keys = {key for of, key in waited if of == kind}
        if keys:
            active = set(model.objects.filter(pk__in=keys, state__in=ACTIVE).values_list("pk", flat=True))
            found |= {(kind, key) for key in keys - active}
    return found
