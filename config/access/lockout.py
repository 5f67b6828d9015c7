"""How many wrong passwords shut the log-in, and for whom: django-axes counts them in the database."""

import math
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from django.conf import settings
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from rest_framework.throttling import BaseThrottle

# Whose failures are counted, and how many of them weigh as much as one: those of a user from one address, those of a
# user from everywhere, and those of an address with whatever user. Shutting a user out takes an attacker more.
COUNTED: tuple[tuple[str | list[str], int], ...] = (
    (["username", "ip_address"], 1),
    ("username", 10),
    ("ip_address", 10),
)


class LockoutHandler(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no types
    """Counts as COUNTED says."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """The largest of the weighed counts."""
        attempts = self.get_user_attempts(request, credentials)
        totals = [found.aggregate(total=Sum("failures_since_start"))["total"] or 0 for found in attempts]
        return max(total // weight for total, (_whose, weight) in zip(totals, COUNTED, strict=True))


def address_of(request: Any) -> str:
    """The caller's address as throttles see it: X-Forwarded-For is believed as far as AFORO_TRUSTED_PROXIES says."""
    return str(BaseThrottle().get_ident(request))


def locked_out(request: HttpRequest, response: Any = None, credentials: Any = None, *args: Any) -> HttpResponse:
    """The answer to whoever has to wait."""
    minutes = math.ceil(settings.AXES_COOLOFF_TIME.total_seconds() / 60)
    text = _("There were too many wrong passwords. Try again in %(minutes)d minutes.") % {"minutes": minutes}
    headers = {"Retry-After": str(minutes * 60), "Content-Type": "text/plain; charset=utf-8"}
    return HttpResponse(text, status=429, headers=headers)
