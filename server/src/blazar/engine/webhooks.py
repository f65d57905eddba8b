"""Sending messages to subscribers: each subscription waits in a lane of its own, and the lanes share a few
workers.

The receivers that took their last message at once have workers of their own: those that are slow, dead, or
not known yet cost them nothing. One project has at most two workers of each sort."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

from blazar.domain.errors import BlazarError, NotDelivered, Stale
from blazar.engine.threads import LongLivedThread
from blazar.service.health import ThreadHealth
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
from blazar.service.webhooks import match, signed

LOG = logging.getLogger(__name__)
BATCH = 100
"""Notifications that are compared with the subscriptions in one transaction."""
PROMPT_WORKERS = 8
OTHER_WORKERS = 8
WORKERS_OF_PROJECT = 2
PROMPT = 1.0
"""Seconds within which a receiver takes a message at once."""
TURN = 2.0
"""Seconds after which a worker turns to another lane."""
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


class Webhooks:
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
    ) -> None:
        self._database = database
        self._sender = sender
        self._clock = clock
        self._gives_up_after = gives_up_after
        self._metrics = metrics
        self._interval = interval.total_seconds()
        self._monotonic = monotonic
        self._kept_at = monotonic() - HOUSEKEEPING
        self._workers = (Workers(True, PROMPT_WORKERS), Workers(False, OTHER_WORKERS))
        self._thread = LongLivedThread("webhooks", self.round, first_wait=self._interval)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop(self._interval + 5)
        for each in self._workers:
            each.pool.shutdown(wait=False, cancel_futures=True)

    def health(self) -> ThreadHealth:
        return self._thread.health()

    def round(self) -> float:
        """Store messages for what is new, and give what is due to workers that are free. Return the seconds
        to wait until the next round."""
        try:
            while self.match() == BATCH and not self._thread.is_stopping:
                self._thread.sign()
        except Stale:
            pass  # another manager has compared them
        for workers in self._workers:
            self._hand_over(workers)
        if self._monotonic() - self._kept_at >= HOUSEKEEPING:
            self._keep_house()
        return self._interval

    def match(self) -> int:
        """Compare the oldest new notifications with the subscriptions, and return how many. Raises Stale."""
        with self._database.read() as uow:
            if not uow.outbox.unmatched(1):
                return 0
        now = self._clock.now()

        def work(uow: UnitOfWork) -> int:
            found = uow.outbox.unmatched(BATCH)
            match(uow, found, now)
            return len(found)

        return self._database.transact(work)

    def _hand_over(self, workers: Workers) -> None:
        while workers.are_free and not self._thread.is_stopping:
            ready = self._ready(workers)
            if ready is None:
                return
            workers.busy[ready.subscription_id] = ready.project_id
            workers.pool.submit(self._work, ready.subscription_id, workers)

    def _ready(self, workers: Workers) -> ReadyLane | None:
        """Return a lane that is ready, and that no worker has."""
        busy = {id_ for each in self._workers for id_ in list(each.busy)}
        with self._database.read() as uow:
            found = uow.subscriptions.ready(
                self._clock.now(), workers.is_prompt, workers.full_projects(), len(busy) + 1
            )
        return next((each for each in found if each.subscription_id not in busy), None)

    def _work(self, subscription_id: str, workers: Workers) -> None:
        """Send messages of one subscription, one after another, for a short while."""
        ends = self._monotonic() + TURN
        try:
            while self.send(subscription_id) and not self._thread.is_stopping and self._monotonic() < ends:
                pass
        except BlazarError as failure:
            LOG.warning("What subscription %s was told could not be written: %s", subscription_id, failure)
        except Exception:
            LOG.exception("Telling subscription %s failed unexpectedly", subscription_id)
        finally:
            workers.busy.pop(subscription_id, None)
            self._thread.wake()

    def send(self, subscription_id: str) -> bool:
        """Send the oldest message of a subscription if it is due. Return whether it was taken."""
        now, token = self._clock.now(), str(uuid4())
        message = self._database.transact(
            lambda uow: uow.subscriptions.take(subscription_id, token, now, now + HOLD)
        )
        if message is None:
            return False
        began = self._monotonic()
        try:
            headers, body = signed(message, self._clock.now())
            self._sender.post(message.url, headers, body)
        except NotDelivered as refusal:
            self._metrics.webhook_sent("failed", self._monotonic() - began)
            self._failed(message, refusal.message)
            return False
        seconds = self._monotonic() - began
        self._metrics.webhook_sent("ok", seconds)
        then = self._clock.now()
        self._database.transact(lambda uow: uow.subscriptions.sent(message, then, seconds < PROMPT))
        return True

    def _failed(self, message: WebhookMessage, reason: str) -> None:
        now = self._clock.now()
        since = message.failing_since or now
        pause = min(SHORTEST_PAUSE * 2 ** min(message.attempts, 16), LONGEST_PAUSE)
        is_last = now - since >= self._gives_up_after
        failure = FailedAttempt(reason, since, now + pause, is_last)
        self._database.transact(lambda uow: uow.subscriptions.failed(message, failure, now))
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
