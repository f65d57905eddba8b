"""An application behind the built-in server, on a real socket of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from wsgiref.types import WSGIApplication

from blazar.cmd.listener import Limits, Listener
from blazar.cmd.process import bound

DEFAULT = Limits()


@contextmanager
def listening(
    app: WSGIApplication, threads: int = 4, limits: Limits = DEFAULT, drain: float = 1
) -> Iterator[tuple[str, int]]:
    with bound("the test", "127.0.0.1", 0) as port:
        listener = Listener("the test", port, app, threads, drain, limits)
        listener.start()
        try:
            yield port.getsockname()
        finally:
            listener.stop()
