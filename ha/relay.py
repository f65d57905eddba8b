"""A TCP relay in front of a shared server: taking it down looks like stopping the server."""

from __future__ import annotations

import contextlib
import socket
import threading

HOST = "127.0.0.1"


class Relay:
    """A relay that forwards connections to a port.

    ``down`` cuts all connections and refuses new ones until ``up``."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self.port = 0
        self.up()

    def up(self) -> None:
        if self._listener is not None:
            return
        listener = socket.create_server((HOST, self.port), backlog=128)
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def down(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            _close(listener)
        self.cut()

    def cut(self) -> None:
        """End all connections; accept new ones."""
        with self._lock:
            open_sockets, self._sockets = self._sockets, set()
        for each in open_sockets:
            _close(each)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(self._target, timeout=10)
            except OSError:
                return
            far.settimeout(None)
            with self._lock:
                self._sockets |= {near, far}
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while words := source.recv(65536):
                sink.sendall(words)
        for each in (source, sink):
            _close(each)
        with self._lock:
            self._sockets -= {source, sink}


def _close(each: socket.socket) -> None:
    # close() alone neither wakes a thread that waits in accept() or recv(), nor tells the other side
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
