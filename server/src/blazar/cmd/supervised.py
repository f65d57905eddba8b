"""Run blazar-api and blazar-manager as one worker process under a parent that survives the worker.

SIGTERM lets the worker finish its requests and events. SIGHUP does the same, then starts a new worker with
the present configuration. A worker that is killed is replaced."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import cotyledon
from cotyledon.types import WorkerId
from oslo_config import cfg

from blazar.cmd.process import configured
from blazar.plugins import list_options, load_filters, load_plugins

LOG = logging.getLogger(__name__)
MARGIN = 5
"""Seconds that the parent waits longer than the worker's own graceful_shutdown_timeout."""


class Worker(cotyledon.Service):
    """A worker process; its parts are built when it starts."""

    def __init__(self, worker_id: WorkerId, argv: Sequence[str]) -> None:
        super().__init__(worker_id)
        self._argv = argv
        self.conf = checked(argv)

    def reload(self) -> None:
        try:
            checked(self._argv)
        except (cfg.Error, LookupError, ValueError) as mistake:
            LOG.error("The configuration was not reloaded: %s", mistake)
            return
        super().reload()  # SIGTERM to itself; the parent then starts another


def checked(argv: Sequence[str]) -> cfg.ConfigOpts:
    """Load the configuration. Raises cfg.Error, LookupError, ValueError where no worker could start with
    it."""
    conf = configured(argv)
    plugins = load_plugins(conf)
    load_filters(conf)
    for group, known in list_options(map(type, plugins.kinds.values())):
        values = conf if group == "DEFAULT" else conf[group]
        for option in known:
            _ = values[option.dest]  # oslo.config looks at a value when it is read
    return conf


def supervise(conf: cfg.ConfigOpts, worker: type[Worker], *args: Any) -> None:
    """Run a worker until SIGTERM or SIGINT."""
    supervisor = cotyledon.ServiceManager(graceful_shutdown_timeout=conf.graceful_shutdown_timeout + MARGIN)
    supervisor.add(worker, args=args)
    supervisor.run()
