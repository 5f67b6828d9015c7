"""A proxy before a server that can stop forwarding: connections stay open and nothing answers any more."""

import contextlib
import socket
import threading


class HalfOpenProxy:
    """Forwards 127.0.0.1:`port` to a server; `hang` stops it, `recover` drops what hung and goes on."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self._flows = threading.Event()
        self._flows.set()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, name="half-open-accept", daemon=True).start()

    def hang(self) -> None:
        """Forward nothing more; new connections are taken and get no answer either."""
        self._flows.clear()

    def recover(self) -> None:
        """Drop every connection, as a machine that comes back does, and forward again."""
        with self._lock:
            dropped, self._open = self._open, set()
        for end in dropped:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._flows.set()

    def close(self) -> None:
        """Take no connection any more."""
        self._listener.close()
        self.recover()

    def _accept(self) -> None:
        while True:
            try:
                client, _address = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        with self._lock:
            self._open.add(client)
        self._flows.wait()
        try:
            server = socket.create_connection(("127.0.0.1", self.target_port))
        except OSError:
            client.close()
            return
        with self._lock:
            self._open.add(server)
        threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
        self._forward(server, client)

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                self._flows.wait()
                target.sendall(data)
        except OSError:
            pass
        finally:
            with self._lock:
                self._open.discard(source)
            for end in (source, target):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            source.close()  # each end is closed once, by the thread that reads it
