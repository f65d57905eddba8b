"""blazar-manager: the process that carries out use cases and events. Any number of them may run at once."""

from __future__ import annotations

import logging
import socket
import sys
import threading
from collections.abc import Sequence

from cotyledon.types import WorkerId

from blazar.adapters.db import schema
from blazar.adapters.metrics import PrometheusMetrics
from blazar.api.metrics import health_and_metrics_app
from blazar.bootstrap.api import build_remote_service, health_of
from blazar.bootstrap.database import build_database
from blazar.bootstrap.manager import build_dispatcher, build_manager
from blazar.broker import rpc_transport
from blazar.cmd.listener import Listener
from blazar.cmd.process import VERSION, bound, run, spare_from_collection
from blazar.cmd.supervised import Worker, supervise
from blazar.domain.errors import BlazarError
from blazar.rpc.messaging import CallServer, build_server

LOG = logging.getLogger(__name__)
NAME = "blazar-manager"
PAUSE = 1.0
"""Seconds between two attempts to start while the database is away."""


def main() -> None:
    run(lambda: serve(sys.argv[1:]))


def serve(argv: Sequence[str]) -> None:
    conf = ManagerWorker.checked(argv)
    build_database(conf).close()  # a driver that is missing is told here, not by one worker after another
    settings = conf.manager
    port = bound(NAME, settings.metrics_host, settings.metrics_port) if settings.metrics_port else None
    supervise(conf, ManagerWorker, argv, port)


class ManagerWorker(Worker):
    """The engine, and the server of calls from the API. The engine works without a broker, too."""

    name = NAME

    def __init__(self, worker_id: WorkerId, argv: Sequence[str], port: socket.socket | None) -> None:
        super().__init__(worker_id, argv)
        conf, metrics = self.conf, PrometheusMetrics()
        self._database = build_database(conf, metrics, self.tracing)
        self._manager = build_manager(conf, self._database, metrics, self.tracing)
        dispatcher = build_dispatcher(self._manager, metrics, self.tracing)
        transport, host = rpc_transport(conf), socket.gethostname()
        self._calls = CallServer(lambda: build_server(transport, dispatcher, host, conf.manager.rpc_topic))
        self._stopping = threading.Event()
        self._started = False
        self._last_failure = ""
        # Its own health is asked for through the broker: so it is seen whether the broker carries calls.
        health = health_of(build_remote_service(conf), broker="OK")
        self._health_listener = (
            Listener(NAME, port, health_and_metrics_app(health, metrics.exposition), threads=2)
            if port
            else None
        )

    def run(self) -> None:
        if self._health_listener:
            self._health_listener.start()
        while not self._started and not self._stopping.is_set():
            self._try_to_start()
        if self._started:
            self._calls.start()

    def terminate(self) -> None:
        self._stopping.set()
        self._calls.stop()
        if self._started:
            self._manager.stop()
        if self._health_listener:
            self._health_listener.stop()
        self._database.close()
        super().terminate()

    def _try_to_start(self) -> None:
        try:
            schema.require(self._database.engine)
            self._manager.start()
            spare_from_collection()
            self._started = True
            LOG.info("blazar-manager %s has started", VERSION)
        except BlazarError as failure:
            if str(failure) != self._last_failure:  # once for each cause, not every second
                LOG.warning("The manager cannot start yet: %s", failure)
            self._last_failure = str(failure)
            self._stopping.wait(PAUSE)
