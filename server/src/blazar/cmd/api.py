"""blazar-api: the REST API as a process of its own, on the built-in server."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Sequence

from cotyledon.types import WorkerId
from oslo_config import cfg

from blazar.bootstrap.api import build_remote_api
from blazar.cmd.listener import Listener
from blazar.cmd.process import VERSION, bound, run
from blazar.cmd.supervised import Worker, require_sound, supervise
from blazar.conf import default
from blazar.plugins import load_plugins
from blazar.policies import make_enforcer

LOG = logging.getLogger(__name__)
NAME = "blazar-api"


def main() -> None:
    run(lambda: serve(sys.argv[1:]))


def serve(argv: Sequence[str]) -> None:
    conf = ApiWorker.checked(argv)
    # Bound by the parent, so that clients wait, and are not refused, while a worker is replaced.
    supervise(conf, ApiWorker, argv, bound(NAME, conf.host, conf.port))


class ApiWorker(Worker):
    """Serves the API."""

    name = NAME
    arguments = default.ADDRESS

    @classmethod
    def require_sound(cls, conf: cfg.ConfigOpts) -> None:
        require_sound(conf)
        make_enforcer(conf, load_plugins(conf).policies).load_rules()

    def __init__(self, worker_id: WorkerId, argv: Sequence[str], port: socket.socket) -> None:
        super().__init__(worker_id, argv)
        self._port = port
        app = build_remote_api(self.conf, self.tracing)
        self._listener = Listener(NAME, port, app, self.conf.api.threads, self.conf.graceful_shutdown_timeout)

    def run(self) -> None:
        self._listener.start()
        host, port = self._port.getsockname()[:2]
        LOG.info("blazar-api %s listens on %s:%s with %s threads", VERSION, host, port, self.conf.api.threads)

    def terminate(self) -> None:
        self._listener.stop()
        super().terminate()
