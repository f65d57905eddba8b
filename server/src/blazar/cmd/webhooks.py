"""blazar-webhooks: the process that compares what was committed with the subscriptions and tells subscribers,
in place of managers or beside them. Any number of them may run at once."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence

from cotyledon.types import WorkerId

from blazar.adapters.clock import SystemClock
from blazar.bootstrap.health import health_of
from blazar.bootstrap.webhooks import NAME, WebhooksProgram
from blazar.cmd.on_database import DatabaseWorker
from blazar.cmd.process import run


def main() -> None:
    run(lambda: WebhooksWorker.serve(sys.argv[1:]))


class WebhooksWorker(DatabaseWorker):
    """Tells subscribers. It needs the database, and neither the broker nor the cloud."""

    name = NAME
    group = "subscriptions"

    def __init__(self, worker_id: WorkerId, argv: Sequence[str], port: socket.socket | None) -> None:
        super().__init__(worker_id, argv, port)
        self._program = WebhooksProgram(self.conf, self.database, SystemClock(), self.metrics)
        health = self._program.health
        self.metrics.show_health(health.read, health.threads)
        self.show_health(health_of(self._program))

    def begin(self) -> None:
        self._program.start()

    def end(self) -> None:
        self._program.stop()
