"""How oslo.messaging is used here: with threads, on a configuration of our own, and back soon after an
outage.

A module that needs oslo.messaging imports this one before it.
"""

from __future__ import annotations

from oslo_config import cfg
from oslo_service import backend

backend.init_backend(backend.BackendType.THREADING)  # before oslo.messaging is imported, or it takes eventlet

import oslo_messaging  # noqa: E402
from oslo_messaging import opts  # noqa: E402
from oslo_messaging._metrics.client import oslo_messaging_metrics  # noqa: E402
from oslo_messaging._tracing.client import oslo_messaging_tracing  # noqa: E402

__all__ = ["opts", "oslo_messaging", "register", "set_defaults"]

PREFETCH = 8
"""Calls that the broker hands to a manager before it takes them up: those that a suspended manager holds
back."""
LONGEST_PAUSE = 3
"""Seconds between two attempts to reach a broker that is away: so long after it came back it is in use
again."""


def register(conf: cfg.ConfigOpts) -> None:
    """oslo.messaging registers these two groups on the global CONF only, and fails without them."""
    conf.register_opts(oslo_messaging_metrics, "oslo_messaging_metrics")
    conf.register_opts(oslo_messaging_tracing, "oslo_messaging_tracing")


def set_defaults(conf: cfg.ConfigOpts) -> None:
    """Our defaults for the options that a transport has registered, where the operator has no others."""
    group = "oslo_messaging_rabbit"
    if group in conf:
        conf.set_default("rabbit_qos_prefetch_count", PREFETCH, group=group)
        conf.set_default("rabbit_interval_max", LONGEST_PAUSE, group=group)
