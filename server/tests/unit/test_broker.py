"""How oslo.messaging waits for messages here."""

from __future__ import annotations

import threading
from types import SimpleNamespace

from oslo_messaging._drivers import amqpdriver
from oslo_messaging._drivers.common import Timeout

from blazar.broker import ACKNOWLEDGED_WITHIN


def test_who_waits_for_answers_does_not_look_again_at_once() -> None:
    """The look after a message takes more of a processor than the message."""
    waited: list[float] = []
    is_over = threading.Event()

    def consume(timeout: float) -> None:
        """The first time there is a message."""
        waited.append(timeout)
        if len(waited) > 1:
            if len(waited) == 3:
                is_over.set()
            raise Timeout

    connection = SimpleNamespace(
        consume=consume, declare_direct_consumer=lambda *_: None, stop_consuming=lambda: None
    )
    waiter = amqpdriver.ReplyWaiter("replies", connection, [])
    assert is_over.wait(5)
    waiter.stop()
    assert waited[:3] == [ACKNOWLEDGED_WITHIN, ACKNOWLEDGED_WITHIN, 2 * ACKNOWLEDGED_WITHIN]
