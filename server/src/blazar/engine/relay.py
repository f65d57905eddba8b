"""The relay of the outbox: committed notifications go to the notifier in order, and stay until they are
delivered, and compared with the subscriptions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from blazar.domain.errors import Stale
from blazar.engine.background import Background
from blazar.engine.matching import Matcher
from blazar.service.mails import NO_MAIL, MailPlan
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database, Notifier, UnitOfWork

BATCH = 100
HOLD = timedelta(seconds=30)
"""How long a batch is one relay's own: after this another manager delivers what is left of it."""


class Relay(Background):
    """Delivers notifications at least once each, one manager at a time. A broker that is down delays them and
    loses none."""

    def __init__(
        self,
        database: Database,
        notifier: Notifier,
        clock: Clock,
        metrics: Metrics = NO_METRICS,
        interval: timedelta = timedelta(seconds=1),
        mail: MailPlan = NO_MAIL,
        compares: bool = True,
    ) -> None:
        """With ``compares`` it compares notifications with the subscriptions before it delivers them. Else
        those that were not compared stay for another program to do so."""
        super().__init__("relay", first_wait=interval.total_seconds())
        self._database = database
        self._notifier = notifier
        self._clock = clock
        self._metrics = metrics
        self._interval = interval.total_seconds()
        self.matcher = Matcher(database, clock, mail, self.pause)
        self._compares = compares

    def round(self) -> float:
        try:
            while self.deliver() == BATCH and not self._thread.is_stopping:
                pass
        except Stale:
            pass  # another manager delivers them
        return self._interval

    def deliver(self) -> int:
        """Deliver the oldest notifications, and return how many. Raises CloudUnavailable where the broker
        does not take them, and Stale where another manager was faster."""
        with self._database.read() as uow:
            if not uow.outbox.peek(1):
                return 0
        now = self._clock.now()
        waiting = list(self._database.transact(lambda uow: uow.outbox.take(BATCH, now, now + HOLD)))
        delivered: list[int] = []
        try:
            if self._compares:
                self.matcher.compare(waiting)  # for what is delivered is gone
            while waiting and self._clock.now() < now + HOLD:
                self._thread.sign()
                self._notifier.send(waiting[0])
                delivered.append(waiting.pop(0).id)
        finally:
            self._record(delivered, [notification.id for notification in waiting])
        return len(delivered)

    def _record(self, delivered: Sequence[int], waiting: Sequence[int]) -> None:
        def commit(uow: UnitOfWork) -> None:
            if self._compares:
                uow.outbox.remove(delivered)
            else:
                uow.outbox.mark_delivered(delivered)
            uow.outbox.give_back(waiting)

        if delivered or waiting:
            self._database.transact(commit)
            self._metrics.notifications_delivered(len(delivered))
