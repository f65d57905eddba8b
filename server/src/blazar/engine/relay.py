"""How the outbox is drained: committed notices go to the notifier in order, and stay until they are delivered."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from datetime import timedelta

from blazar.domain.errors import BlazarError
from blazar.service.observer import NOBODY, Observer
from blazar.service.ports import Clock, Database, Notifier, Stale, UnitOfWork

LOG = logging.getLogger(__name__)
BATCH = 100
HOLD = timedelta(seconds=30)
"""How long a batch is one relay's own: after this another manager delivers what is left of it."""


class Relay:
    """Delivers notices at least once each, one manager at a time. A broker that is down delays them and loses none."""

    def __init__(
        self,
        database: Database,
        notifier: Notifier,
        clock: Clock,
        observer: Observer = NOBODY,
        interval: timedelta = timedelta(seconds=1),
    ) -> None:
        self._database = database
        self._notifier = notifier
        self._clock = clock
        self._observer = observer
        self._interval = interval
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(self._interval.total_seconds() + 5)  # not for ever: a broker may hang

    def _run(self) -> None:
        while not self._stopping.wait(self._interval.total_seconds()):
            try:
                while self.deliver() == BATCH and not self._stopping.is_set():
                    pass
            except Stale:
                continue  # another manager delivers them
            except BlazarError as failure:
                LOG.warning("Notifications wait in the outbox: %s", failure)

    def deliver(self) -> int:
        """Deliver the oldest notices; returns how many. Raises CloudUnavailable where the broker does not take them, and
        Stale where another manager was faster."""
        with self._database.read() as uow:
            if not uow.outbox.peek(1):
                return 0
        now = self._clock.now()
        waiting = list(self._database.transact(lambda uow: uow.outbox.take(BATCH, now, now + HOLD)))
        delivered: list[int] = []
        try:
            while waiting and self._clock.now() < now + HOLD:
                self._notifier.send(waiting[0])
                delivered.append(waiting.pop(0).id)
        finally:
            self._settle(delivered, [notice.id for notice in waiting])
        return len(delivered)

    def _settle(self, delivered: Sequence[int], waiting: Sequence[int]) -> None:
        def commit(uow: UnitOfWork) -> None:
            uow.outbox.remove(delivered)
            uow.outbox.give_back(waiting)

        if delivered or waiting:
            self._database.transact(commit)
            self._observer.notices_delivered(len(delivered))
