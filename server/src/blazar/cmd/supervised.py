"""Run blazar-api, blazar-manager or blazar-webhooks as one worker process under a parent that survives the
worker.

SIGTERM lets the worker finish its requests and events. SIGHUP does the same, then starts a new worker with
the present configuration. A worker that is killed is replaced."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import cotyledon
from cotyledon.types import WorkerId
from oslo_config import cfg

from blazar.bootstrap.mail import require_mail
from blazar.bootstrap.quotas import quota_settings
from blazar.bootstrap.settings import webhook_settings
from blazar.bootstrap.tracing import build_tracing, require_tracing
from blazar.broker import require_urls
from blazar.cmd.process import configured, keep_freed_memory, switch_threads_often
from blazar.plugins import list_options, load_filters, load_plugins

LOG = logging.getLogger(__name__)
MARGIN = 5
"""Seconds that the parent waits longer than the worker's own graceful_shutdown_timeout."""


OF_THE_PARENT = frozenset(
    {
        ("DEFAULT", "host"),
        ("DEFAULT", "port"),
        ("DEFAULT", "graceful_shutdown_timeout"),
        ("manager", "metrics_host"),
        ("manager", "metrics_port"),
        ("subscriptions", "metrics_host"),
        ("subscriptions", "metrics_port"),
    }
)
"""Options that the parent has read once: it has the ports, which outlive a worker."""


FILES = (
    ("cloud", "cafile"),
    ("cloud", "certfile"),
    ("cloud", "keyfile"),
    ("enforcement", "external_service_cafile"),
    ("mail", "cafile"),
    ("subscriptions", "cafile"),
)
"""Options that name a file, or a folder, of certificates."""


class Worker(cotyledon.Service):
    """A worker process; its parts are built when it starts."""

    arguments: ClassVar[Sequence[cfg.Opt]] = ()
    """Options that the command line may have."""

    def __init__(self, worker_id: WorkerId, argv: Sequence[str]) -> None:
        super().__init__(worker_id)
        switch_threads_often()
        keep_freed_memory()
        self._argv = argv
        self.conf = self.checked(argv)
        self.tracing = build_tracing(self.conf, str(self.name))

    @classmethod
    def checked(cls, argv: Sequence[str]) -> cfg.ConfigOpts:
        """Load the configuration. Raises cfg.Error, LookupError, ValueError where no worker could start with
        it."""
        conf = configured(argv, arguments=cls.arguments)
        cls.require_sound(conf)
        return conf

    @classmethod
    def require_sound(cls, conf: cfg.ConfigOpts) -> None:
        require_sound(conf)

    def terminate(self) -> None:
        """Send the last traces. The parts that make any are stopped by then."""
        self.tracing.close()

    def reload(self) -> None:
        try:
            conf = self.checked(self._argv)
        except (cfg.Error, LookupError, ValueError) as mistake:
            LOG.error("The configuration was not reloaded: %s", mistake)
            return
        changed = list(changes(self.conf, conf))
        named = ", ".join(f"[{group}] {name}" for group, name in changed) or "none"
        LOG.info("The configuration is reloaded by a new worker; options that have changed: %s", named)
        for group, name in changed:
            if (group, name) in OF_THE_PARENT:
                LOG.warning("[%s] %s has changed, which needs a restart of the program", group, name)
        super().reload()  # SIGTERM to itself; the parent then starts another


def require_sound(conf: cfg.ConfigOpts) -> None:
    """Raise cfg.Error, LookupError or ValueError where no worker could start with the configuration."""
    plugins = load_plugins(conf)
    load_filters(conf)
    require_tracing(conf)
    quota_settings(conf, plugins.kinds)
    webhook_settings(conf)
    for group, known in list_options(map(type, plugins.kinds.values())):
        values = conf if group == "DEFAULT" else conf[group]
        for option in known:
            _ = values[option.dest]  # oslo.config looks at a value when it is read
    require_urls(conf)
    for group, name in FILES:
        path = _value(conf, group, name)
        if path and not os.access(path, os.R_OK):
            raise ValueError(f"[{group}] {name}: {path} is not there, or may not be read")
    require_mail(conf)


def changes(before: cfg.ConfigOpts, after: cfg.ConfigOpts) -> Iterator[tuple[str, str]]:
    """Yield which options of the service, and of its log, differ. Their values may be secrets."""
    kinds = load_plugins(after).kinds.values()
    known = [(group, option.dest) for group, found in list_options(map(type, kinds)) for option in found]
    for group, name in dict.fromkeys([*known, ("DEFAULT", "debug"), ("DEFAULT", "default_log_levels")]):
        if _value(before, group, name) != _value(after, group, name):
            yield group, name


def _value(conf: cfg.ConfigOpts, group: str, name: str) -> Any:
    """Return the value; None where its kind was not enabled."""
    values = conf if group == "DEFAULT" else conf.get(group, {})
    return values.get(name)


def supervise(conf: cfg.ConfigOpts, worker: type[Worker], *args: Any) -> None:
    """Run a worker until SIGTERM or SIGINT."""
    supervisor = cotyledon.ServiceManager(graceful_shutdown_timeout=conf.graceful_shutdown_timeout + MARGIN)
    supervisor.add(worker, args=args)
    supervisor.run()
