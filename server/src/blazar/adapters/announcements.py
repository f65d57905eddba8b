"""What Nova announces of its compute services: its versioned notifications, over the message broker."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import amqp
import kombu
from oslo_config import cfg

from blazar import broker
from blazar.broker import oslo_messaging
from blazar.domain.errors import CloudUnavailable
from blazar.service.ports import Announcements

LOG = logging.getLogger(__name__)
EVENTS = r"^service\.(create|update|delete)$"
AT_ONCE = 1.0
"""Seconds that a broker gets for an answer before the caller is told that it is away."""
PATIENCE = 5.0
"""Seconds after which a broker that does not take the farewell is left."""
UNFORESEEN = (kombu.exceptions.KombuError, amqp.exceptions.AMQPError, OSError)
"""What oslo.messaging lets through when the broker refuses, or vanishes at the wrong moment."""


class NovaAnnouncements:
    """The Announcements port on oslo.messaging's listener, which comes back by itself after an outage."""

    def __init__(self, conf: cfg.ConfigOpts, topics: Sequence[str]) -> None:
        self._transport = broker.notification_transport(conf, broker.ANNOUNCEMENTS)
        exchange = conf["physical:host"].notification_exchange
        self._targets = [oslo_messaging.Target(topic=topic, exchange=exchange) for topic in topics]
        self._beginning: _Beginning | None = None

    def listen(self, heard: Callable[[], None]) -> None:
        if self._beginning is None:
            listener = oslo_messaging.get_notification_listener(
                self._transport, self._targets, [_Endpoint(heard)]
            )
            self._beginning = _Beginning(listener)
            self._beginning.start()
        self._beginning.join(AT_ONCE)
        if self._beginning.is_alive():
            raise _unavailable("it does not answer")
        if not self._beginning.is_done:
            failure, self._beginning = self._beginning.failure, None  # the next time from the start
            raise _unavailable(str(failure).partition("\n")[0])

    def stop(self) -> None:
        if self._beginning is not None and self._beginning.is_done:
            end = threading.Thread(target=self._end, args=(self._beginning.listener,), daemon=True)
            end.start()
            end.join(PATIENCE)

    def _end(self, listener: Any) -> None:
        listener.stop()
        listener.wait()
        self._transport.cleanup()


class _Endpoint:
    """The object that oslo.messaging calls. What a notification says is not read: anyone at the broker may
    have sent it, and the monitor looks for itself."""

    filter_rule = oslo_messaging.NotificationFilter(event_type=EVENTS)

    def __init__(self, heard: Callable[[], None]) -> None:
        self._heard = heard

    def info(self, *notification: Any) -> None:
        self._heard()

    warn = error = info


class _Beginning(threading.Thread):
    """The start of a listener: oslo.messaging waits in it for as long as there is no broker."""

    def __init__(self, listener: Any) -> None:
        super().__init__(name="listener-start", daemon=True)
        self.listener = listener
        self.is_done = False
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            self.listener.start(override_pool_size=1)
            self.is_done = True
        except (oslo_messaging.MessagingException, *UNFORESEEN) as failure:
            self.failure = failure


def chosen_announcements(conf: cfg.ConfigOpts) -> Announcements | None:
    """Return what Nova announces where ``[physical:host] enable_notification_monitor`` is set.

    A topic that the service sends its own notifications to at the same broker is left out: a queue belongs to
    its topic in all exchanges, so the service would take its own notifications from their receivers."""
    own = conf["physical:host"]
    if not own.enable_notification_monitor:
        return None
    is_shared = broker.sends_notifications(conf) and not own.notification_transport_url
    sent_to = conf[broker.NOTIFICATIONS].topics if is_shared else []
    topics = [topic for topic in own.notification_topics if topic not in sent_to]
    if len(topics) < len(own.notification_topics):
        LOG.warning(
            "This service sends its own notifications to topic %s, so it does not listen there for Nova's",
            ", ".join(topic for topic in own.notification_topics if topic in sent_to),
        )
    return NovaAnnouncements(conf, topics) if topics else None


def _unavailable(reason: str) -> CloudUnavailable:
    return CloudUnavailable(service="the message broker", reason=reason)
