"""blazar-api: the REST API as a process of its own, on a built-in server. Operators may use any WSGI server instead."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence

from cotyledon.types import WorkerId

from blazar.bootstrap import build_remote_api
from blazar.cmd.process import Listener, bound, run
from blazar.cmd.supervised import Worker, checked, supervise

NAME = "blazar-api"


def main() -> None:
    run(lambda: serve(sys.argv[1:]))


def serve(argv: Sequence[str]) -> None:
    conf = checked(argv)
    # Bound by the parent, so that clients wait, and are not refused, while a worker is replaced.
    supervise(conf, ApiWorker, argv, bound(NAME, conf.host, conf.port))


class ApiWorker(Worker):
    """Serves the API."""

    name = NAME

    def __init__(self, worker_id: WorkerId, argv: Sequence[str], port: socket.socket) -> None:
        super().__init__(worker_id, argv)
        app = build_remote_api(self.conf)
        self._listener = Listener(NAME, port, app, self.conf.api.threads, self.conf.graceful_shutdown_timeout)

    def run(self) -> None:
        self._listener.start()

    def terminate(self) -> None:
        self._listener.stop()
