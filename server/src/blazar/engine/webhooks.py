"""Sending messages to subscribers: each subscription waits in a lane of its own, and the lanes share a few
workers.

The receivers that took their last message at once have workers of their own: those that are slow, dead, or
not known yet cost them nothing. One project has at most two workers of each sort. All workers together use a
small share of a processor, because requests for leases need the same database, and in a manager the same
interpreter."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

from blazar.domain.errors import BlazarError, NotDelivered, Stale
from blazar.engine.background import Background
from blazar.engine.matching import Matcher
from blazar.engine.pace import Pace
from blazar.service.mails import NO_MAIL, MailPlan
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import (
    Clock,
    Database,
    FailedAttempt,
    ReadyLane,
    UnitOfWork,
    WebhookMessage,
    WebhookSender,
)
from blazar.service.webhook_signature import signed

LOG = logging.getLogger(__name__)
BATCH = 100
"""Notifications that are compared with the subscriptions at once."""
LEFT = timedelta(seconds=2)
"""After which a notification is compared here where relays compare as well: a relay may not get at it while
the broker is away."""
PROMPT_WORKERS = 8
OTHER_WORKERS = 8
WORKERS_OF_PROJECT = 2
PROMPT = 1.0
"""Seconds within which a receiver takes a message at once."""
TURN = 2.0
"""Seconds after which a worker turns to another lane."""
TOGETHER = 20
"""Messages that are taken, and settled, in one transaction, where the receiver takes messages at once."""
SHARE = 0.05
"""Of one processor, that the workers of a manager use over time. A message takes some 0.3 to 1 ms."""
BURST = 0.1
"""Seconds of processor time that they may use at once."""
HOLD = timedelta(seconds=90)
"""How long a message is one manager's own: longer than an attempt takes."""
SHORTEST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(hours=1)
"""Between two attempts. It doubles each time."""
KEPT = timedelta(days=7)
"""How long the messages of a suspended subscription are kept."""
HOUSEKEEPING = 60.0
"""Seconds between two looks at what is counted, and at what is kept too long."""


@dataclass
class Workers:
    """The workers for one sort of receivers, and the lanes that they work on."""

    is_prompt: bool
    number: int
    busy: dict[str, str] = field(default_factory=dict)
    """The projects by subscription."""

    def __post_init__(self) -> None:
        name = "webhooks-prompt" if self.is_prompt else "webhooks"
        self.pool = ThreadPoolExecutor(self.number, thread_name_prefix=name)

    @property
    def are_free(self) -> bool:
        return len(self.busy) < self.number

    def full_projects(self) -> list[str]:
        """Return the projects that have as many workers as one may have."""
        counted = Counter(list(self.busy.values()))
        return [project for project, number in counted.items() if number >= WORKERS_OF_PROJECT]


class Webhooks(Background):
    """Compares what was committed with the subscriptions, and sends the messages until they are taken."""

    def __init__(
        self,
        database: Database,
        sender: WebhookSender,
        clock: Clock,
        gives_up_after: timedelta = timedelta(hours=24),
        metrics: Metrics = NO_METRICS,
        interval: timedelta = timedelta(seconds=1),
        monotonic: Callable[[], float] = time.monotonic,
        processor: Callable[[], float] = time.thread_time,
        mail: MailPlan = NO_MAIL,
        left: timedelta = LEFT,
    ) -> None:
        """``processor`` tells the seconds of processor time of this thread. What has waited for ``left`` is
        compared here."""
        super().__init__("webhooks", first_wait=interval.total_seconds())
        self._database = database
        self._sender = sender
        self._clock = clock
        self._gives_up_after = gives_up_after
        self._metrics = metrics
        self._interval = interval.total_seconds()
        self._left = left
        self._matcher = Matcher(database, clock, mail, self.pause, monotonic, processor)
        self._monotonic = monotonic
        self._processor = processor
        self._pace = Pace(SHARE, BURST, monotonic)
        self._kept_at = monotonic() - HOUSEKEEPING
        self._workers = (Workers(True, PROMPT_WORKERS), Workers(False, OTHER_WORKERS))

    def stop(self) -> None:
        super().stop()
        for each in self._workers:
            each.pool.shutdown(wait=False, cancel_futures=True)

    def finish(self) -> None:
        """Wait for the messages that were under way at the stop: each takes one attempt at the most."""
        for each in self._workers:
            each.pool.shutdown()

    def round(self) -> float:
        """Store messages for what is new, and give what is due to workers that are free. Return the seconds
        to wait until the next round."""
        try:
            while self.match(self._left) == BATCH and not self._thread.is_stopping:
                self._thread.sign()
        except Stale:
            pass  # another manager has compared them
        began = self._processor()
        for workers in self._workers:
            self._hand_over(workers)
        self._pace.rest(self._processor() - began)  # by the workers: this thread has to look
        if self._monotonic() - self._kept_at >= HOUSEKEEPING:
            self._keep_house()
        return self._interval

    def match(self, left: timedelta = timedelta(0)) -> int:
        """Compare the oldest new notifications with the subscriptions, where they have waited for so long.
        Return how many. Raises Stale."""
        with self._database.read() as uow:
            found, now = uow.outbox.unmatched(1), self._clock.now()
            if not found or now - left < found[0].created_at <= now:
                return 0
            found = uow.outbox.unmatched(BATCH)
        self._matcher.compare(found)
        return len(found)

    def _hand_over(self, workers: Workers) -> None:
        """Give lanes that are ready to workers until none is free, or no lane is left that may have one."""
        while workers.are_free and not self._thread.is_stopping and self._hand_some_over(workers):
            pass

    def _hand_some_over(self, workers: Workers) -> bool:
        """Return whether a worker got a lane."""
        busy = {id_ for each in self._workers for id_ in list(each.busy)}
        limit = len(busy) + workers.number
        with self._database.read() as uow:
            found = uow.subscriptions.ready(
                self._clock.now(), workers.is_prompt, workers.full_projects(), limit
            )
        is_any = False
        for ready in found:
            is_full = not workers.are_free or ready.project_id in workers.full_projects()
            if ready.subscription_id not in busy and not is_full:
                workers.busy[ready.subscription_id] = ready.project_id
                workers.pool.submit(self._work, ready, workers)
                is_any = True
        return is_any and len(found) == limit

    def _work(self, ready: ReadyLane, workers: Workers) -> None:
        """Send messages of one subscription, one after another, for a short while."""
        ends = self._monotonic() + TURN
        limit = TOGETHER if workers.is_prompt else 1
        is_more = True
        try:
            while is_more and not self._thread.is_stopping and self._monotonic() < ends:
                began = self._processor()
                try:
                    is_more = self.send(ready.subscription_id, limit) == limit
                finally:
                    self._thread.rest(self._pace.rest(self._processor() - began))
        except BlazarError as failure:
            LOG.warning(
                "What subscription %s was told could not be written: %s", ready.subscription_id, failure
            )
        except Exception:
            LOG.exception("Telling subscription %s failed unexpectedly", ready.subscription_id)
        finally:
            # Without anything that waits for this worker the next round is soon enough.
            is_waited_for = not workers.are_free or ready.project_id in workers.full_projects()
            workers.busy.pop(ready.subscription_id, None)
            if is_more or is_waited_for:
                self._thread.wake()

    def send(self, subscription_id: str, limit: int = 1) -> int:
        """Send the oldest messages of a subscription if they are due, one after another. Return how many were
        taken by the receiver.

        They are settled together: a manager that dies meanwhile has all of them sent again."""
        now, token, ends = self._clock.now(), str(uuid4()), self._monotonic() + TURN
        taken = self._database.transact(
            lambda uow: uow.subscriptions.take(subscription_id, token, now, now + HOLD, limit)
        )
        sent: list[WebhookMessage] = []
        seconds = 0.0
        for message in taken:
            began = self._monotonic()
            try:
                headers, body = signed(message, self._clock.now())
                self._sender.post(message.url, headers, body)
            except NotDelivered as refusal:
                self._metrics.webhook_sent("failed", self._monotonic() - began)
                self._failed(message, refusal.message, sent)
                return len(sent)
            seconds = self._monotonic() - began
            self._metrics.webhook_sent("ok", seconds)
            sent.append(message)
            if seconds >= PROMPT or self._monotonic() >= ends or self._thread.is_stopping:
                break
        then = self._clock.now()
        if sent:
            self._database.transact(lambda uow: uow.subscriptions.sent(sent, then, seconds < PROMPT))
        return len(sent)

    def _failed(self, message: WebhookMessage, reason: str, sent: Sequence[WebhookMessage]) -> None:
        """Settle the messages that were sent, and the one behind them that was not taken."""
        now = self._clock.now()
        since = message.failing_since or now
        pause = min(SHORTEST_PAUSE * 2 ** min(message.attempts, 16), LONGEST_PAUSE)
        is_last = now - since >= self._gives_up_after
        failure = FailedAttempt(reason, since, now + pause, is_last)

        def work(uow: UnitOfWork) -> None:
            if sent:
                uow.subscriptions.sent(sent, now, False, is_over=False)
            uow.subscriptions.failed(message, failure, now)

        self._database.transact(work)
        if is_last:
            LOG.info(
                "Subscription %s is suspended: %s",
                message.subscription_id,
                reason,
                extra={"action": "suspend"},
            )

    def _keep_house(self) -> None:
        before = self._clock.now() - KEPT
        self._database.transact(lambda uow: uow.subscriptions.forget(before))
        with self._database.read() as uow:
            self._metrics.webhooks_waiting(*uow.subscriptions.counts())
        self._kept_at = self._monotonic()
