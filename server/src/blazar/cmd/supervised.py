"""How blazar-api and blazar-manager run: one worker process under a parent that never dies of what the worker does.

SIGTERM lets the worker finish what is under way. SIGHUP does the same and then starts a new one with the configuration as
it is now. A worker that is killed is replaced.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import cotyledon
from cotyledon.types import WorkerId
from oslo_config import cfg

from blazar import conf as options
from blazar.bootstrap import build_kinds
from blazar.cmd.process import configured

LOG = logging.getLogger(__name__)
MARGIN = 5
"""Seconds that the parent waits for its worker longer than the worker waits for its work."""


class Worker(cotyledon.Service):
    """A worker process; what it is made of is built when it starts."""

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
    """The configuration. Raises cfg.Error, LookupError, ValueError where no worker could start with it."""
    conf = configured(argv)
    for group, known in options.list_opts():
        for option in known:
            _ = (conf if group == "DEFAULT" else conf[group])[
                option.dest
            ]  # oslo.config looks at a value when it is read
    build_kinds(conf)
    return conf


def supervise(conf: cfg.ConfigOpts, worker: type[Worker], *args: Any) -> None:
    """Run a worker until SIGTERM or SIGINT."""
    supervisor = cotyledon.ServiceManager(graceful_shutdown_timeout=conf.graceful_shutdown_timeout + MARGIN)
    supervisor.add(worker, args=args)
    supervisor.run()
