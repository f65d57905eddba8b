"""The comparison of notifications with the subscriptions, in pieces between which requests come first."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from blazar.domain.errors import BlazarError
from blazar.engine.pace import Pace
from blazar.service.mails import MailPlan
from blazar.service.ports import Clock, Database, Notification
from blazar.service.webhooks import match

LOG = logging.getLogger(__name__)
SHARE = 0.2
"""Of one processor, that the comparison uses over time."""
BURST = 0.01
"""Seconds of processor time that it may use at once."""
MOST_ATTEMPTS = 5
"""At a notification whose comparison fails unexpectedly. Then it is told to no subscriber, for others wait
behind it."""


class Matcher:
    """Compares notifications with the subscriptions and stores the messages. Used by one thread."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        mail: MailPlan,
        rest: Callable[[float], None],
        monotonic: Callable[[], float] = time.monotonic,
        processor: Callable[[], float] = time.thread_time,
    ) -> None:
        """``rest`` waits for so many seconds, and not at all where the thread is to stop. ``processor`` tells
        the seconds of processor time of this thread."""
        self._database = database
        self._clock = clock
        self._mail = mail
        self._rest = rest
        self._processor = processor
        self._pace = Pace(SHARE, BURST, monotonic)
        self._failed = (-1, 0)
        """The id of the notification that failed last, and how often in a row."""

    def compare(self, notifications: Sequence[Notification]) -> None:
        """Compare those that were not compared yet, each piece of them in a transaction of its own.

        Raises Stale where another manager compares them."""
        left = [each for each in notifications if not each.matched]
        size = len(left)
        while left:
            began = self._processor()
            size = self._compare_some(left[:size])
            left = left[size:]
            self._rest(self._pace.rest(self._processor() - began))

    def _compare_some(self, notifications: Sequence[Notification]) -> int:
        """Return how many of them were compared."""
        first, *others = notifications
        try:
            return self._database.transact(
                lambda uow: match(uow, notifications, self._clock.now(), self._mail)
            )
        except BlazarError:
            raise
        except Exception:
            # A defect in one of them must not hold up the others for ever.
            if others:
                return self._compare_some([first])
            if not self._is_given_up(first):
                raise
            LOG.exception("Notification %d (%s) is told to no subscriber", first.id, first.event_type)
            self._database.transact(lambda uow: uow.outbox.mark_matched([first.id]))
            return 1

    def _is_given_up(self, notification: Notification) -> bool:
        """Count a failure. Return whether it was the last attempt."""
        id_, attempts = self._failed
        self._failed = (notification.id, attempts + 1 if id_ == notification.id else 1)
        return self._failed[1] >= MOST_ATTEMPTS
