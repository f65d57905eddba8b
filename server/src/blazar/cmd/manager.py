"""blazar-manager: the process that carries out use cases and events. Any number of them may run at once."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence

from cotyledon.types import WorkerId

from blazar.bootstrap.health import health_of
from blazar.bootstrap.manager import build_dispatcher, build_manager
from blazar.bootstrap.remote import build_remote_service
from blazar.broker import rpc_transport
from blazar.cmd.on_database import DatabaseWorker
from blazar.cmd.process import loading, run
from blazar.rpc.messaging import CallServer, build_server


def main() -> None:
    run(lambda: ManagerWorker.serve(sys.argv[1:]))


class ManagerWorker(DatabaseWorker):
    """The engine, and the server of calls from the API. The engine works without a broker, too."""

    name = "blazar-manager"
    group = "manager"

    def __init__(self, worker_id: WorkerId, argv: Sequence[str], port: socket.socket | None) -> None:
        super().__init__(worker_id, argv, port)
        self._manager = build_manager(self.conf, self.database, self.metrics, self.tracing)
        dispatcher = build_dispatcher(self._manager, self.metrics, self.tracing)
        transport, host = rpc_transport(self.conf), socket.gethostname()
        topic = self.conf.manager.rpc_topic
        self._calls = CallServer(lambda: build_server(transport, dispatcher, host, topic))
        # Its own health is asked for through the broker: so it is seen whether the broker carries calls.
        self.show_health(health_of(build_remote_service(self.conf), broker="OK"))

    def begin(self) -> None:
        with loading():
            self._manager.start()

    def begun(self) -> None:
        self._calls.start()

    def terminate(self) -> None:
        self._calls.stop()
        super().terminate()

    def end(self) -> None:
        self._manager.stop()
