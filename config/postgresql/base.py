"""A connection that gives up on a server which neither answers nor closes.

Keepalives and `tcp_user_timeout` see a peer that is gone; a proxy, a paused server or a full buffer in between goes on
acknowledging packets, and libpq then waits for ever. So each wait for an answer has a deadline here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Self

import psycopg
from django.db.backends.postgresql import base
from psycopg.errors import _WaitTimeout

# What a connection that was idle is asked before it is used again.
_ALIVE_WITHIN_S = 2.0


class Connection(psycopg.Connection[Any]):
    """Waits at most `answer_within_s` for the server, then closes and raises OperationalError; 0 waits for ever."""

    answer_within_s: float = 0.0

    @classmethod
    def connect(  # type: ignore[override]
        cls, conninfo: str = "", *, answer_within_s: float = 0.0, **kwargs: Any
    ) -> Self:
        """A new connection under its deadline (s), whether a thread or a pool asks for it."""
        connection = super().connect(conninfo, **kwargs)
        connection.answer_within_s = float(answer_within_s)
        return connection

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        """As psycopg's; nothing to execute is how a pool asks whether the server is there: it must say soon."""
        return super().execute(query, *args, **kwargs) if query else self._asked_soon(query)

    def _asked_soon(self, query: Any) -> Any:
        with self.answering_within(_ALIVE_WITHIN_S):
            return super().execute(query)

    @contextmanager
    def answering_within(self, within_s: float) -> Iterator[None]:
        """Another deadline for a while."""
        kept, self.answer_within_s = self.answer_within_s, within_s
        try:
            yield
        finally:
            self.answer_within_s = kept

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """What the generator returns.

        Raises:
            OperationalError: the server did not answer in time; the connection is closed.
        """
        within_s = self.answer_within_s if timeout is None else timeout
        if timeout is not None or not within_s:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, within_s)
        except _WaitTimeout:
            # The answer may still come, to whoever would ask next.
            self.pgconn.finish()
            raise psycopg.OperationalError(f"the database did not answer within {within_s:g} s") from None


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's, on our connection. The option `answer_within_s` is the deadline (s) of each answer."""

    # Django connects through its driver's module; this is the module with our connection in it.
    Database: Any = SimpleNamespace(**{**vars(psycopg), "connect": Connection.connect, "Connection": Connection})

    @property
    def pool(self) -> Any:
        """This process's pool, if the settings want one; of our connections."""
        if options := self.settings_dict["OPTIONS"].get("pool"):
            options.setdefault("connection_class", Connection)
        return super().pool

    def is_usable(self) -> bool:
        """Whether the server answers on this connection, asked with a short deadline."""
        connection: Any = self.connection
        if connection is None:
            return False
        with connection.answering_within(_ALIVE_WITHIN_S):
            return bool(super().is_usable())
