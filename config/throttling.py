"""How often one may ask: the rates a request falls under, by address, by user and by the scope of its view.

All of them are counted in one step (`config.request_counts`).
"""

import logging
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle, SimpleRateThrottle

from config.request_counts import Counted, Left, Rate, count

logger = logging.getLogger("aforo.throttling")

# A cache that did not answer is left alone for so long (s): a hung one then costs one request in a while its deadline.
LEFT_ALONE_S = 15.0
_SAID_EVERY_S = 60.0


class RequestThrottle(BaseThrottle):
    """The rates of a request: of anonymous addresses or of users, and of the view's `throttle_scope` where it has one.

    The scopes are estimates, reports-create and share-links.
    """

    def __init__(self) -> None:
        self._wait_s: float | None = None

    def allow_request(self, request: Request | HttpRequest, view: Any, times: int = 1) -> bool:
        """Whether the request is within all its rates; it is counted `times` under those that it is within."""
        counted = _counted(lambda: list(_rates_of(request, view)), times)
        self._wait_s = None if counted is None else counted.wait_s
        if counted is not None and counted.least is not None:
            getattr(request, "_request", request).rate_left = counted.least  # type: ignore[union-attr]
        return self._wait_s is None

    def wait(self) -> float | None:
        """Seconds until a request is allowed again; None while within the rates."""
        return self._wait_s


def invalid_token_wait_s(request: Request) -> float | None:
    """Counts a token that is no good against its address: seconds to wait where it sent too many, else None."""
    counted = _counted(lambda: [_rate("invalid-tokens", BaseThrottle().get_ident(request))])
    return None if counted is None else counted.wait_s


def rate_headers(left: Left) -> dict[str, str]:
    """The rate of which least is left, as draft-ietf-httpapi-ratelimit-headers has it."""
    rate = left.rate
    scope = rate.name.split("_")[1]
    return {
        "RateLimit-Policy": f'"{scope}";q={rate.allowed};w={rate.period_s}',
        "RateLimit": f'"{scope}";r={left.requests};t={left.reset_s}',
    }


def _rates_of(request: Request | HttpRequest, view: Any) -> Iterator[Rate]:
    user = request.user
    known = bool(user and user.is_authenticated)
    # The framework's helper reads headers alone, which a plain request has too.
    who = user.pk if known else BaseThrottle().get_ident(request)  # type: ignore[arg-type]
    yield _rate("user" if known else "anon", who)
    if scope := getattr(view, "throttle_scope", None):
        yield _rate(scope, who)


def _rate(scope: str, who: object) -> Rate:
    """The rate of a scope as settings have it now, for a user or an address."""
    allowed, period_s = _parsed(api_settings.DEFAULT_THROTTLE_RATES[scope])
    return Rate(name=f"throttle_{scope}_{who}", allowed=allowed, period_s=period_s)


@lru_cache(maxsize=64)
def _parsed(rate: str) -> tuple[int, int]:
    """The number and the period (s) of a rate as 600/min."""
    number, period = SimpleRateThrottle.parse_rate(None, rate)  # type: ignore[arg-type]  # it asks nothing of itself
    return int(number or 0), int(period or 0)


def _counted(rates: Callable[[], list[Rate]], times: int = 1) -> Counted | None:
    if _away.now():
        return None
    found = rates()
    try:
        return count(found, time.time(), times)
    except Exception as error:
        # Whatever the cache raises: who counts requests must not be why there are no answers.
        _away.begin(error)
        return None


class _Away:
    """Whether the cache failed lately; while it is away every request is within its rate."""

    def __init__(self) -> None:
        self._until_s = 0.0
        self._said_at_s = -_SAID_EVERY_S

    def now(self) -> bool:
        """Whether to leave the cache alone."""
        return time.monotonic() < self._until_s

    def begin(self, error: Exception) -> None:
        """Leaves it alone for a while, and says so at most once a minute."""
        now_s = time.monotonic()
        self._until_s = now_s + LEFT_ALONE_S
        if now_s - self._said_at_s >= _SAID_EVERY_S:
            self._said_at_s = now_s
            logger.warning("the cache does not work, requests are not counted: %s", error)


_away = _Away()
