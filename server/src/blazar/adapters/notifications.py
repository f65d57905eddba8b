"""The receivers of notifications: the log by default, oslo.messaging's notifier where the operator chose a
driver for it."""

from __future__ import annotations

import logging
from typing import Any

from oslo_config import cfg

from blazar import broker
from blazar.broker import oslo_messaging
from blazar.domain.errors import CloudUnavailable
from blazar.service.ports import Notification, Notifier

LOG = logging.getLogger(__name__)
RETRIES = 1
"""How often the broker is tried again for one notification; the relay comes back later anyway."""


class LogNotifier:
    """The Notifier port for the embedded default: one line per notification."""

    def send(self, notification: Notification) -> None:
        LOG.info("%s of lease %s", notification.event_type, notification.payload.get("lease_id"))


class MessagingNotifier:
    """The Notifier port on oslo.messaging: drivers and topics are those of [oslo_messaging_notifications]."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._transport = _Remembering(broker.notification_transport(conf))
        # The drivers log a traceback and go on; the relay says it in one line and tries again.
        logging.getLogger("oslo_messaging.notify.messaging").setLevel(logging.CRITICAL)
        self._notifier = oslo_messaging.Notifier(
            self._transport, conf.notifications.publisher_id, retry=RETRIES
        )

    def send(self, notification: Notification) -> None:
        self._transport.failure = None
        self._notifier.info({}, notification.event_type, dict(notification.payload))
        if self._transport.failure is not None:
            raise CloudUnavailable(service="the message broker", reason=self._transport.failure)


class _Remembering(oslo_messaging.transport.NotificationTransport):  # type: ignore[misc]  # oslo has no types
    """Remembers what the drivers of oslo.messaging hide: that a notification was not delivered."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner._driver)
        self.failure: str | None = None

    def _send_notification(self, *args: Any, **kwargs: Any) -> None:
        try:
            super()._send_notification(*args, **kwargs)
        except Exception as failure:
            self.failure = str(failure)
            raise


def chosen_notifier(conf: cfg.ConfigOpts) -> Notifier:
    """Return oslo.messaging's where [oslo_messaging_notifications] driver names one, else the log."""
    return MessagingNotifier(conf) if broker.sends_notifications(conf) else LogNotifier()
