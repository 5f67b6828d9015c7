"""Raw sockets for tests of slow clients, and a TCP proxy that can stop forwarding."""

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterator
from typing import Any

from tests.live import HANGS_AFTER_S


def exchange(port: int, sent: str, within_s: float = HANGS_AFTER_S) -> tuple[int, bytes]:
    """Status and everything else that came until the service closed the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=within_s) as connection:
        connection.sendall(sent.encode("latin-1"))
        return read(connection)


def read(connection: socket.socket) -> tuple[int, bytes]:
    """As `exchange`, of a connection that has been written to; status 0 if it was closed without an answer."""
    got = b""
    try:
        while part := connection.recv(65536):
            got += part
    except ConnectionResetError:
        # Who answers before everything was sent may reset the rest.
        if not got:
            raise
    return int(got.split(b" ", 2)[1]) if got else 0, got


def head(method: str, path: str, *headers: str, host: str = "localhost") -> str:
    """A request's first lines."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *headers, "", ""])


@contextlib.contextmanager
def silent(port: int, sent: str, count: int) -> Iterator[list[socket.socket]]:
    """`count` connections that send so much and then nothing."""
    with contextlib.ExitStack() as stack:
        found = []
        for _ in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=HANGS_AFTER_S))
            connection.sendall(sent.encode("latin-1"))
            found.append(connection)
        yield found


class Proxy:
    """Forwards a port to another; after `freeze()` it goes on accepting and reading, and forwards nothing."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self._frozen = threading.Event()
        self._closed = threading.Event()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        """Nothing passes any more, and nobody is told."""
        self._frozen.set()

    def thaw(self) -> None:
        """New connections pass again; those of before stay dead."""
        self._frozen.clear()

    def close(self) -> None:
        """Ends everything."""
        self._closed.set()
        self._listener.close()
        for end in self._open:
            end.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while not self._closed.is_set():
                near, _ = self._listener.accept()
                self._open.append(near)
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with contextlib.suppress(OSError), selectors.DefaultSelector() as ready:
            far: socket.socket | None = None
            if not self._frozen.is_set():
                far = socket.create_connection(self._to)
                self._open.append(far)
                ready.register(far, selectors.EVENT_READ, near)
            ready.register(near, selectors.EVENT_READ, far)
            dead = far is None
            while True:
                for key, _events in ready.select():
                    source: Any = key.fileobj
                    data = source.recv(65536)
                    dead = dead or self._frozen.is_set()
                    if dead:
                        if not data:
                            ready.unregister(source)
                    elif not data:
                        near.close()
                        return
                    else:
                        key.data.sendall(data)


@contextlib.contextmanager
def proxy_to(host: str, port: int) -> Iterator[Proxy]:
    """A proxy for the time of a test."""
    proxy = Proxy(host, port)
    try:
        yield proxy
    finally:
        proxy.close()
