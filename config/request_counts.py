"""Counts of requests in sliding windows, all those of one request in one step.

Each name is counted in two fixed windows; the older weighs by how much of it still lies within the period, which costs
the same whatever the rate. With a Redis for a cache the counts stand there, and one round trip reads and raises all of
them; else in the memory of the process. docs/adr/0021 says why this is no library's work.
"""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many requests in a period (s) are allowed under a name."""

    name: str
    allowed: int
    period_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a rate leaves: requests still allowed now, and seconds until its window is a new one."""

    rate: Rate
    requests: int
    reset_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A request that was counted: seconds to wait (None: it may pass), and the rate of which least is left."""

    wait_s: float | None
    least: Left | None


def wait_s(rates: Sequence[Rate], now_s: float, times: int = 1) -> float | None:
    """Seconds to wait before a request, as `count` says it."""
    return count(rates, now_s, times).wait_s


def count(rates: Sequence[Rate], now_s: float, times: int = 1) -> Counted:
    """Counts a request under every rate that has room for it.

    Args:
        rates: the rates it falls under; each is counted for itself.
        now_s: time of the request, seconds since 1970.
        times: as how many requests it counts; one larger than a whole rate counts as all of it.

    Returns:
        Seconds until the last of the rates without room has some again, None where all had; and what is left.

    Raises:
        Exception: whatever a Redis that is away raises.
    """
    store = _redis if isinstance(caches["default"], RedisCache) else _memory
    found = list(zip(rates, store.count(rates, now_s, times), strict=True))
    waits = [
        _wait_s(rate, previous, current, now_s, min(times, rate.allowed))
        for rate, (counted, previous, current) in found
        if not counted
    ]
    left = [_left(rate, one, now_s, min(times, rate.allowed)) for rate, one in found]
    least = min(left, key=lambda one: one.requests / one.rate.allowed, default=None)
    return Counted(wait_s=max(waits, default=None), least=least)


def _left(rate: Rate, one: "_Count", now_s: float, times: int) -> Left:
    counted, previous, current = one
    elapsed_s = now_s % rate.period_s
    used = previous * (1 - elapsed_s / rate.period_s) + current + counted * times
    return Left(
        rate=rate, requests=max(0, math.floor(rate.allowed - used)), reset_s=math.ceil(rate.period_s - elapsed_s)
    )


def forget() -> None:
    """Begins again with all counts at zero."""
    caches["default"].clear()
    _memory.clear()


def _wait_s(rate: Rate, previous: int, current: int, now_s: float, times: int) -> float:
    """Seconds until the weighed count leaves room for so many more requests."""
    allowed, period_s, elapsed_s = rate.allowed, rate.period_s, now_s % rate.period_s
    room = allowed - times - current
    if previous > 0 and room >= 0:
        return max(0.0, period_s * (1 - room / previous) - elapsed_s)
    # In the next window this one's count is the older one, and decays over that window.
    decayed_s = period_s * max(0.0, 1 - (allowed - times) / current) if current else 0.0
    return period_s - elapsed_s + decayed_s


# Whether a request was counted, and the counts of the older and the newer window before it.
_Count = tuple[bool, int, int]


class _Memory:
    """Counts of this process, of the names that were asked for last."""

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        # Name to the number of its newer window, and the counts of both.
        self._windows: OrderedDict[str, tuple[int, int, int]] = OrderedDict()
        self._lock = Lock()

    def count(self, rates: Sequence[Rate], now_s: float, times: int = 1) -> list[_Count]:
        """Reads and raises the counts."""
        with self._lock:
            return [self._count(rate, now_s, min(times, rate.allowed)) for rate in rates]

    def _count(self, rate: Rate, now_s: float, times: int) -> _Count:
        window, elapsed_s = divmod(now_s, rate.period_s)
        newest, previous, current = self._windows.get(rate.name, (window, 0, 0))
        if newest != window:
            previous, current = (current if newest == window - 1 else 0), 0
        counted = previous * (1 - elapsed_s / rate.period_s) + current + times <= rate.allowed
        self._windows[rate.name] = (int(window), previous, current + counted * times)
        self._windows.move_to_end(rate.name)
        if len(self._windows) > self._most:
            self._windows.popitem(last=False)
        return counted, previous, current

    def clear(self) -> None:
        """Forgets all counts."""
        with self._lock:
            self._windows.clear()


# For each rate two keys, the newer window and the older, and four arguments: how many are allowed, what the older
# window weighs, for how long (s) a count is kept, and by how many it is raised.
_SCRIPT = """
local found = {}
for at = 1, #KEYS / 2 do
  local current = tonumber(redis.call('GET', KEYS[2 * at - 1]) or 0)
  local previous = tonumber(redis.call('GET', KEYS[2 * at]) or 0)
  local counted = 0
  local times = tonumber(ARGV[4 * at])
  if previous * tonumber(ARGV[4 * at - 2]) + current + times <= tonumber(ARGV[4 * at - 3]) then
    counted = 1
    redis.call('INCRBY', KEYS[2 * at - 1], times)
    if current == 0 then redis.call('EXPIRE', KEYS[2 * at - 1], ARGV[4 * at - 1]) end
  end
  found[3 * at - 2], found[3 * at - 1], found[3 * at] = counted, previous, current
end
return found
"""


class _Redis:
    """Counts in the Redis that is Django's cache, under its keys and deadlines."""

    def __init__(self) -> None:
        self._of: Any = None
        self._script: Any = None

    def count(self, rates: Sequence[Rate], now_s: float, times: int = 1) -> list[_Count]:
        """Reads and raises the counts in one round trip."""
        if not rates:
            return []
        make_key = caches["default"].make_key
        keys: list[str] = []
        arguments: list[float] = []
        for rate in rates:
            window, elapsed_s = divmod(now_s, rate.period_s)
            keys += (make_key(f"{rate.name}:{int(window)}"), make_key(f"{rate.name}:{int(window) - 1}"))
            arguments += (
                rate.allowed, 1 - elapsed_s / rate.period_s, 2 * rate.period_s, min(times, rate.allowed),
            )  # fmt: skip
        found: Any = self._registered()(keys, arguments)
        return [(bool(found[at]), found[at + 1], found[at + 2]) for at in range(0, len(found), 3)]

    def _registered(self) -> Any:
        """The script with one client; Django makes one for each command, at half of what a command takes."""
        place = settings.CACHES["default"]
        if self._of is not place:
            cache: Any = caches["default"]
            self._script = cache._cache.get_client(write=True).register_script(_SCRIPT)
            self._of = place
        return self._script


_memory = _Memory()
_redis = _Redis()
