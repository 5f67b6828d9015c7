"""Requests that wait for a report: they hold no thread and no connection, one look a while answers for all of them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings
from django.db import close_old_connections

from reports.api.waiting import PENDING, Pending, ready

Environ = dict[str, Any]
LOOKS_EVERY_S = 0.25
# What belongs to the request that began, and not to the one that asks what came of it.
_OF_THE_FIRST = ("HTTP_PREFER", "HTTP_IDEMPOTENCY_KEY", "HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "CONTENT_TYPE")
log = logging.getLogger("aforo.waiting")


class Waits:
    """All who wait in this process; used on one event loop only."""

    def __init__(self, in_thread: Callable[..., Awaitable[Any]]) -> None:
        self._in_thread = in_thread
        self._events: dict[tuple[str, Any], set[asyncio.Event]] = {}
        self._looking: asyncio.Task[None] | None = None

    async def until(self, pending: Pending) -> bool | None:
        """Whether it was done in time; None where too many wait already, so that this one does not."""
        if sum(map(len, self._events.values())) >= settings.AFORO_MAX_WAITING_REQUESTS:
            return None
        key, event = (pending.kind, pending.key), asyncio.Event()
        self._events.setdefault(key, set()).add(event)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            async with asyncio.timeout(pending.within_s):
                await event.wait()
        except TimeoutError:
            return False
        finally:
            waiting = self._events.get(key, set())
            waiting.discard(event)
            if not waiting:
                self._events.pop(key, None)
        return True

    async def _look(self) -> None:
        while self._events:
            await asyncio.sleep(LOOKS_EVERY_S)
            try:
                done = await self._in_thread(_ready, set(self._events))
            except Exception:
                # A database that is away: they wait on, and their time ends all the same.
                log.exception("nobody could be told that a report is done")
                continue
            for key in done:
                for event in self._events.get(key, ()):
                    event.set()


def _ready(waited: set[tuple[str, Any]]) -> set[tuple[str, Any]]:
    try:
        return ready(waited) if waited else set()
    finally:
        close_old_connections()


def asked_again(environ: Environ, pending: Pending) -> Environ:
    """The request for what came of it."""
    kept = {name: value for name, value in environ.items() if name not in (*_OF_THE_FIRST, PENDING)}
    path, _mark, query = pending.path.partition("?")
    return kept | {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": query, "CONTENT_LENGTH": "0"}
