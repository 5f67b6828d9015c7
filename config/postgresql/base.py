"""A connection that gives up on a server which neither answers nor closes.

Keepalives and `tcp_user_timeout` see a peer that is gone; a proxy, a paused server or a full buffer in between goes on
acknowledging packets, and libpq then waits for ever. So each wait for an answer has a deadline here.
"""

from types import SimpleNamespace
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg.errors import _WaitTimeout

OPTION = "answer_within_s"
# What a connection that was idle is asked before it is used again.
_ALIVE_WITHIN_S = 2.0


class Connection(psycopg.Connection[Any]):
    """Waits at most `answer_within_s` for the server, then closes and raises OperationalError; 0 waits for ever."""

    answer_within_s: float = 0.0

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

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A new connection under its deadline."""
        within_s = conn_params.pop(OPTION, 0)
        connection = super().get_new_connection(conn_params)
        connection.answer_within_s = float(within_s)
        return connection

    def is_usable(self) -> bool:
        """Whether the server answers on this connection, asked with a short deadline."""
        connection: Any = self.connection
        if connection is None:
            return False
        within_s, connection.answer_within_s = connection.answer_within_s, _ALIVE_WITHIN_S
        try:
            return bool(super().is_usable())
        finally:
            connection.answer_within_s = within_s
