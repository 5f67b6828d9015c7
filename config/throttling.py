"""Throttles that cost two small cache operations whatever the rate.

The framework's own keep the time of every request of the period in one cache entry, which makes each request dearer
the more generous the rate is. These count in two fixed windows and weigh the older one by how much of it still
lies within the period (a sliding window counter).
"""

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.core.cache import cache
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import AnonRateThrottle, ScopedRateThrottle, SimpleRateThrottle, UserRateThrottle

if TYPE_CHECKING:
    from rest_framework.views import APIView

logger = logging.getLogger("aforo.throttling")

# A cache that did not answer is left alone for so long (s): a hung one then costs one request in a while its deadline.
LEFT_ALONE_S = 15.0
_SAID_EVERY_S = 60.0


class _WindowCounter(SimpleRateThrottle):
    wait_s: float | None = None
    num_requests: int | None
    duration: int | None

    def get_rate(self) -> str | None:
        """The rate of the scope as settings have it now, not as they had it when the class was made."""
        rates: Mapping[str, Any] = api_settings.DEFAULT_THROTTLE_RATES
        rate: str | None = rates[str(self.scope)]
        return rate

    def allow_request(self, request: Request, view: "APIView") -> bool:
        """Whether the request is within the rate; counts it if so."""
        if self.rate is None:
            return True
        key = self.get_cache_key(request, view)
        if key is None or self.num_requests is None or self.duration is None:
            return True
        return self._count(key, self.num_requests, self.duration, time.time())

    def wait(self) -> float | None:
        """Seconds until a request is allowed again; None while within the rate."""
        return self.wait_s

    def _count(self, key: str, allowed: int, period_s: float, now_s: float) -> bool:
        if _away.now():
            return True
        try:
            return self._count_in_cache(key, allowed, period_s, now_s)
        except Exception as error:
            # Whatever the cache raises: who counts requests must not be why there are no answers.
            _away.begin(error)
            return True

    def _count_in_cache(self, key: str, allowed: int, period_s: float, now_s: float) -> bool:
        window, elapsed_s = divmod(now_s, period_s)
        current_key, previous_key = f"{key}:{int(window)}", f"{key}:{int(window) - 1}"
        cache.add(current_key, 0, timeout=2 * period_s)
        previous = int(cache.get(previous_key, 0))
        current = int(cache.get(current_key, 0))
        weight = 1 - elapsed_s / period_s
        if previous * weight + current + 1 > allowed:
            self.wait_s = _wait_s(previous, current, allowed, elapsed_s, period_s)
            return False
        try:
            cache.incr(current_key)
        except ValueError:
            # The entry was evicted in between; the count starts again, which errs on the side of answering.
            cache.set(current_key, 1, timeout=2 * period_s)
        return True


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


def _wait_s(previous: int, current: int, allowed: int, elapsed_s: float, period_s: float) -> float:
    """Seconds until the weighed count leaves room for one more request."""
    room = allowed - 1 - current
    if previous > 0 and room >= 0:
        return max(0.0, period_s * (1 - room / previous) - elapsed_s)
    # In the next window this one's count is the older one, and decays over that window.
    decayed_s = period_s * max(0.0, 1 - (allowed - 1) / current) if current else 0.0
    return period_s - elapsed_s + decayed_s


class AnonymousThrottle(_WindowCounter, AnonRateThrottle):
    """Per address, for requests without a user."""


class UserThrottle(_WindowCounter, UserRateThrottle):
    """Per user."""

    def get_cache_key(self, request: Request, view: "APIView") -> str | None:
        """The user's key; None for anonymous requests, which have a throttle of their own."""
        return super().get_cache_key(request, view) if request.user and request.user.is_authenticated else None


class InvalidTokenThrottle(_WindowCounter, AnonRateThrottle):
    """Per address, for tokens that are no good."""

    scope = "invalid-tokens"

    def get_cache_key(self, request: Request, view: "APIView") -> str:
        """The address, whoever asks."""
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}


class ScopeThrottle(_WindowCounter, ScopedRateThrottle):
    """Per user or address and `throttle_scope` of the view (estimates, reports-create, share-links)."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the request is within the rate of the view's scope."""
        self.scope = getattr(view, self.scope_attr, None)
        if not self.scope:
            return True
        self.rate = self.get_rate()
        self.num_requests, self.duration = self.parse_rate(self.rate)
        return _WindowCounter.allow_request(self, request, view)
