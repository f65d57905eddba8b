"""A broker that delivers twice: a part of all calls to the managers, a moment later.

RabbitMQ delivers a message again where the connection of its receiver is lost before it was told that the
message arrived. Nothing tells the second delivery from the first one."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import random
import threading
import time
from urllib.parse import unquote

import amqp
from sqlalchemy import make_url

from .site import RABBITMQ, Site

SHARE = 0.3
LATEST = 1.5
"""Seconds after which the last of the second deliveries are made; many calls are answered by then."""
LOOK = 0.02


class SecondDelivery(threading.Thread):
    """A thread that delivers calls to the managers a second time, until it is stopped.

    A queue of its own gets a copy of each call. What is put into the managers' queue bypasses the exchange,
    so that no copy is copied again."""

    def __init__(
        self,
        site: Site,
        stopping: threading.Event,
        share: float = SHARE,
        after: tuple[float, float] = (0.0, LATEST),
        seed: int = 1,
    ) -> None:
        """``share`` of the calls come again, so many seconds ``after`` the first time."""
        self._share, self._after = share, after
        super().__init__(name="second delivery", daemon=True)
        self._name = site.name
        self._stopping = stopping
        self._random = random.Random(seed)
        self._waiting: list[tuple[float, int, amqp.Message]] = []
        self._numbers = itertools.count()
        self.delivered = 0
        """Messages that were put into the managers' queue a second time."""

    def run(self) -> None:
        broker = make_url(RABBITMQ)
        place = f"{broker.host}:{broker.port or 5672}"
        words = {"userid": broker.username, "password": broker.password}
        with amqp.Connection(place, virtual_host=unquote(broker.database or "/"), **words) as connection:
            channel = connection.channel()
            copies = channel.queue_declare(exclusive=True).queue
            # The site has started, so the managers have made their exchange.
            channel.queue_bind(copies, exchange=self._name, routing_key=self._name)
            channel.basic_consume(copies, no_ack=True, callback=self._take)
            sender = connection.channel()
            sender.events["basic_return"].add(self._returned)
            while not self._stopping.is_set():
                with contextlib.suppress(TimeoutError):
                    connection.drain_events(timeout=LOOK)
                self._deliver(sender)

    def _take(self, message: amqp.Message) -> None:
        if self._random.random() < self._share:
            due = time.monotonic() + self._random.uniform(*self._after)
            heapq.heappush(self._waiting, (due, next(self._numbers), message))

    def _deliver(self, sender: amqp.Channel) -> None:
        while self._waiting and self._waiting[0][0] <= time.monotonic():
            message = heapq.heappop(self._waiting)[2]
            again = amqp.Message(message.body, **message.properties)
            self.delivered += 1
            sender.basic_publish(again, exchange="", routing_key=self._name, mandatory=True)

    def _returned(self, *_: object) -> None:
        """No manager is there: the message was not delivered."""
        self.delivered -= 1
