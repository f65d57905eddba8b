"""A worker process that begins its work as soon as the database is there, and shows its health meanwhile."""

from __future__ import annotations

import logging
import socket
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence

from cotyledon.types import WorkerId

from blazar.adapters.db import schema
from blazar.adapters.metrics import PrometheusMetrics
from blazar.api.health import Health
from blazar.api.metrics import health_and_metrics_app
from blazar.bootstrap.database import build_database
from blazar.cmd.listener import Listener
from blazar.cmd.process import VERSION, bound
from blazar.cmd.supervised import Worker, supervise
from blazar.domain.errors import BlazarError

LOG = logging.getLogger(__name__)
PAUSE = 1.0
"""Seconds between two attempts to start while the database is away."""


class DatabaseWorker(Worker):
    """A worker with a database, and a port for its health and its metrics where the operator wants one."""

    group: str
    """The group of the options ``metrics_host`` and ``metrics_port``."""

    def __init__(self, worker_id: WorkerId, argv: Sequence[str], port: socket.socket | None) -> None:
        super().__init__(worker_id, argv)
        self.metrics = PrometheusMetrics()
        self.database = build_database(self.conf, self.metrics, self.tracing)
        self._port = port
        self._health_listener: Listener | None = None
        self._stopping = threading.Event()
        self._started = False
        self._last_failure = ""

    @classmethod
    def serve(cls, argv: Sequence[str]) -> None:
        """Run the program until it is told to stop."""
        conf = cls.checked(argv)
        build_database(conf).close()  # a driver that is missing is told here, not by one worker after another
        settings, name = conf[cls.group], str(cls.name)
        port = bound(name, settings.metrics_host, settings.metrics_port) if settings.metrics_port else None
        supervise(conf, cls, argv, port)

    @abstractmethod
    def begin(self) -> None:
        """Begin the work. Raises BlazarError where that is not possible yet."""

    def begun(self) -> None:
        """Do what has to wait until the work has begun."""

    @abstractmethod
    def end(self) -> None:
        """Let what is under way finish."""

    def show_health(self, health: Callable[[], Health]) -> None:
        """Have the health shown at the port, if there is one."""
        if self._port:
            app = health_and_metrics_app(health, self.metrics.exposition)
            self._health_listener = Listener(str(self.name), self._port, app, threads=2)

    def run(self) -> None:
        if self._health_listener:
            self._health_listener.start()
        while not self._started and not self._stopping.is_set():
            self._try_to_start()
        if self._started:
            self.begun()

    def terminate(self) -> None:
        self._stopping.set()
        if self._started:
            self.end()
        if self._health_listener:
            self._health_listener.stop()
        self.database.close()
        super().terminate()

    def _try_to_start(self) -> None:
        try:
            schema.require(self.database.engine)
            self.begin()
            self._started = True
            LOG.info("%s %s has started", self.name, VERSION)
        except BlazarError as failure:
            if str(failure) != self._last_failure:  # once for each cause, not every second
                LOG.warning("%s cannot start yet: %s", self.name, failure)
            self._last_failure = str(failure)
            self._stopping.wait(PAUSE)
