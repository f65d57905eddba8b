"""How oslo.messaging is used here: with threads, on a configuration of our own, and back soon after an
outage.

A module that needs oslo.messaging imports this one before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oslo_config import cfg
from oslo_service import backend

backend.init_backend(backend.BackendType.THREADING)  # before oslo.messaging is imported, or it takes eventlet

import oslo_messaging  # noqa: E402
from oslo_messaging import opts  # noqa: E402
from oslo_messaging._drivers import amqpdriver  # noqa: E402
from oslo_messaging._metrics.client import oslo_messaging_metrics  # noqa: E402
from oslo_messaging._tracing.client import oslo_messaging_tracing  # noqa: E402

__all__ = ["notification_transport", "oslo_messaging", "require_urls", "rpc_transport", "sends_notifications"]

NOTIFICATIONS = "oslo_messaging_notifications"
URL = "transport_url"
ANNOUNCEMENTS = ("physical:host", "notification_transport_url")
EXAMPLE = "rabbit://user:password@host:5672/"
MAX_PORT = 2**16 - 1

PREFETCH = 8
"""Calls that the broker hands to a manager before it takes them up: those that a suspended manager holds
back."""
ACKNOWLEDGED_WITHIN = 0.1
"""Seconds after a message until oslo.messaging looks what is to be acknowledged, unless the next one comes
before. By itself it looks after a millisecond, then after two, four and so on, which takes more of a
processor than the message. Calls and their answers are acknowledged when they arrive; only the announcements
of other services wait for it. There is no option for it."""
LONGEST_PAUSE = 3
"""Seconds between two attempts to reach a broker that is away: so long after it came back it is in use
again."""

amqpdriver.ACK_REQUEUE_EVERY_SECONDS_MIN = ACKNOWLEDGED_WITHIN


def _register(conf: cfg.ConfigOpts) -> None:
    """oslo.messaging registers the last two groups on the global CONF only, and fails without them."""
    for group in (None, NOTIFICATIONS):
        conf.register_opts(dict(opts.list_opts())[group], group)
    conf.register_opts(oslo_messaging_metrics, "oslo_messaging_metrics")
    conf.register_opts(oslo_messaging_tracing, "oslo_messaging_tracing")


def rpc_transport(conf: cfg.ConfigOpts) -> Any:
    """Return the transport to the broker that ``[DEFAULT] transport_url`` names. Nothing is connected before
    the first call, so it may be built before a server forks. Raises ValueError for a URL of no broker."""
    return _transport(conf, oslo_messaging.get_rpc_transport, ("DEFAULT", URL))


def notification_transport(conf: cfg.ConfigOpts, *first: tuple[str, str]) -> Any:
    """Return the transport of notifications: as that of calls, where no other URL is given for them.

    ``first`` are options, as group and name, that count more. Raises ValueError for a URL of no broker."""
    options = (*first, (NOTIFICATIONS, URL), ("DEFAULT", URL))
    return _transport(conf, oslo_messaging.get_notification_transport, *options)


def sends_notifications(conf: cfg.ConfigOpts) -> bool:
    """Return whether the operator has chosen a driver for them."""
    _register(conf)
    return any(conf[NOTIFICATIONS].driver)


def require_urls(conf: cfg.ConfigOpts) -> None:
    """Raises ValueError, cfg.Error where a URL or an option of the broker cannot be meant."""
    rpc_transport(conf)
    if sends_notifications(conf):
        notification_transport(conf)
    if conf["physical:host"].enable_notification_monitor:
        notification_transport(conf, ANNOUNCEMENTS)
    for group, options in opts.list_opts():
        for option in options if group is None or group in conf else ():
            _ = _value(conf, group, option.dest)  # oslo.config looks at a value when it is read


def _transport(
    conf: cfg.ConfigOpts,
    build: Callable[[cfg.ConfigOpts, str], Any],
    *options: tuple[str, str],
) -> Any:
    """Return the transport to the first of the URLs that is given. There is a password in it, so no message
    repeats it."""
    _register(conf)
    given = [(group, name) for group, name in options[:-1] if _value(conf, group, name)]
    group, name = [*given, options[-1]][0]
    url = _value(conf, group, name)
    try:
        transport = build(conf, url)
        hosts = oslo_messaging.TransportURL.parse(conf, url).hosts
    except oslo_messaging.DriverLoadFailure as failure:
        raise ValueError(f"[{group}] {name}: there is no driver {failure.driver!r} for a broker") from None
    except (oslo_messaging.InvalidTransportURL, ValueError):
        raise ValueError(f"[{group}] {name} is not like {EXAMPLE}") from None
    if any((host.port or 0) > MAX_PORT for host in hosts):
        raise ValueError(f"[{group}] {name}: a port is above {MAX_PORT}")
    _set_defaults(conf)
    return transport


def _value(conf: cfg.ConfigOpts, group: str | None, name: str) -> Any:
    return (conf if group in (None, "DEFAULT") else conf[group])[name]


def _set_defaults(conf: cfg.ConfigOpts) -> None:
    """Our defaults for the options that a transport has registered, where the operator has no others."""
    group = "oslo_messaging_rabbit"
    if group in conf:
        conf.set_default("rabbit_qos_prefetch_count", PREFETCH, group=group)
        conf.set_default("rabbit_interval_max", LONGEST_PAUSE, group=group)
