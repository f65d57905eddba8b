"""The options of an operator: one module per option group, and the ConfigOpts instance that bootstrap passes
on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

from blazar.conf import (
    api,
    claim_by,
    cloud,
    dashboard,
    database,
    default,
    enforcement,
    feeds,
    former,
    mail,
    manager,
    notifications,
    nova,
    orchestration,
    physical_host,
    quota,
    series,
    subscriptions,
    tracing,
)

MODULES = (
    default,
    api,
    claim_by,
    cloud,
    dashboard,
    database,
    enforcement,
    feeds,
    mail,
    manager,
    notifications,
    nova,
    orchestration,
    physical_host,
    quota,
    series,
    subscriptions,
    tracing,
)


def list_opts() -> list[tuple[str, list[Any]]]:
    """Return our own options by group."""
    return [(module.GROUP, list(module.OPTIONS)) for module in (*MODULES, former)]


def register(conf: cfg.ConfigOpts) -> None:
    for module in MODULES:
        conf.register_opts(module.OPTIONS, None if module.GROUP == "DEFAULT" else module.GROUP)
    cloud.register(conf)
    former.register(conf)


def require_good_values(conf: cfg.ConfigOpts) -> None:
    """Read each value, for oslo.config looks at one only then. Raises oslo_config.cfg.Error."""
    for group, known in list_opts():
        values = conf if group == "DEFAULT" else conf[group]
        for option in known:
            _ = values[option.dest]


def load(
    argv: Sequence[str] = (), project: str = "blazar", files: Sequence[str] | None = None
) -> cfg.ConfigOpts:
    """Return a ConfigOpts with all options registered, read from the command line and the configuration
    files.

    Raises oslo_config.cfg.Error where a file or an option is not valid."""
    conf = cfg.ConfigOpts()
    register(conf)
    conf(list(argv), project=project, default_config_files=None if files is None else list(files))
    return conf
