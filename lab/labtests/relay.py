"""A TCP relay in front of a shared server: stopping it looks like stopping the server."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

HOST = "127.0.0.1"
CHUNK = 65536


class Relay:
    """A relay that forwards connections to a port. ``stop`` cuts all connections and refuses new ones."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener: socket.socket | None = None
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.port = 0

    def start(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, self.port))
        listener.listen(128)
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def stop(self) -> None:
        with self._lock:
            closing = [*self._ends, *([self._listener] if self._listener else [])]
            self._ends.clear()
            self._listener = None
        for end in closing:
            # close() alone neither wakes a thread that waits in accept() or recv(), nor tells the other side
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection((HOST, self._target), timeout=10)
            except OSError:
                return
            far.settimeout(None)
            with self._lock:
                if self._listener is not listener:
                    near.close()
                    far.close()
                    return
                self._ends |= {near, far}
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        with self._lock:
            gone = {source, sink} & self._ends
            self._ends -= gone
        for end in gone:
            end.close()
