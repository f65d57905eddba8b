"""Sending mail to the users of leases.

What waits for a user goes out in one mail, and the next one follows a while later: a user who makes a
thousand leases gets a few mails, and those of other users go out between them. A mail that fails is tried
again behind all mails that have not failed."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from blazar.domain.errors import CloudRefused, CloudUnavailable, NotDelivered
from blazar.engine.background import Background
from blazar.engine.pace import Pace
from blazar.service.mail_texts import MailTexts
from blazar.service.mails import USUAL, MailPlan
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Clock, Database, MailBatch, MailSender, OutgoingMail, UnitOfWork

LOG = logging.getLogger(__name__)
USERS = 20
"""Users whose mail is sent in one round."""
HOLD = timedelta(minutes=10)
"""How long the mail of a user is one manager's own: longer than an attempt takes."""
BETWEEN = timedelta(minutes=1)
"""Between two mails to a user."""
SHORTEST_PAUSE = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(hours=1)
"""Between two attempts. It doubles each time."""
AWAY = timedelta(seconds=5)
"""Until the next attempt where nothing can be sent."""
KNOWN = 10_000
"""Users whose addresses are kept."""
KNOWN_FOR = timedelta(minutes=10)
CALL_SECONDS = 10.0
"""How long a question to Keystone may take."""
SHARE = 0.02
"""Of one processor, that a manager uses for mail over time. A mail takes some 2 ms."""
BURST = 0.1
"""Seconds of processor time that it may use at once."""


@dataclass(frozen=True, slots=True)
class _Known:
    address: str | None
    at: datetime


class Addresses:
    """The addresses of users, which are asked for again after a while."""

    def __init__(self, ask: Callable[[str], str | None], clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def of(self, user_id: str) -> str | None:
        """Raises what the question raises."""
        now = self._clock.now()
        known = self._known.pop(user_id, None)
        if known is None or not now - KNOWN_FOR < known.at <= now:
            known = _Known(self._ask(user_id), now)
        self._known[user_id] = known
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)
        return known.address


class Mailing(Background):
    """Sends what waits for users until it is taken. Several managers may send at once."""

    def __init__(
        self,
        database: Database,
        sender: MailSender,
        texts: MailTexts,
        ask: Callable[[str], str | None],
        clock: Clock,
        plan: MailPlan,
        metrics: Metrics = NO_METRICS,
        interval: timedelta = timedelta(seconds=5),
        monotonic: Callable[[], float] = time.monotonic,
        processor: Callable[[], float] = time.thread_time,
    ) -> None:
        """``ask`` returns the address of a user. ``processor`` tells the seconds of processor time of this
        thread."""
        super().__init__("mailing", first_wait=interval.total_seconds())
        self._database = database
        self._sender = sender
        self._texts = texts
        self._addresses = Addresses(ask, clock)
        self._clock = clock
        self._plan = plan
        self._metrics = metrics
        self._interval = interval.total_seconds()
        self._processor = processor
        self._pace = Pace(SHARE, BURST, monotonic)

    def round(self) -> float:
        """Send the mail of some users. Return the seconds to wait until the next round.

        Raises CloudUnavailable where the mail server or Keystone is away, and CloudRefused where Keystone
        tells no addresses."""
        began = self._processor()
        with self._database.read() as uow:
            self._metrics.mails_waiting(uow.mails.count())
            users = uow.mails.ready(self._clock.now(), USERS)
        try:
            for user_id in users:
                if self._thread.is_stopping:
                    break
                self._thread.sign()
                self.send(user_id)
        finally:
            self._sender.rest()
        rest = self._pace.rest(self._processor() - began)
        return rest if len(users) == USERS else max(rest, self._interval)

    def send(self, user_id: str) -> None:
        """Send what waits for a user, if it is due. Raises as ``round`` does."""
        now, token = self._clock.now(), str(uuid4())
        batch = self._database.transact(lambda uow: uow.mails.take(user_id, token, now, now + HOLD))
        if batch is None:
            return
        try:
            outcome = self._attempt(batch)
        except NotDelivered as failure:
            LOG.info("The mail of user %s is tried again later: %s", user_id, failure)
            self._put_off(batch)
        except (CloudRefused, CloudUnavailable):
            due = self._clock.now() + AWAY
            self._database.transact(lambda uow: uow.mails.put_off(batch, due, batch.attempts))
            raise
        else:
            self._settle(batch, outcome)

    def _attempt(self, batch: MailBatch) -> str:
        """Return the outcome. Raises NotDelivered, CloudUnavailable, CloudRefused."""
        address = self._addresses.of(batch.user_id)
        if address is None:
            return "no_address"
        text, items = self._texts.write(batch), batch.items
        leases = {each.document.get("lease_id") for each in items}
        mail = OutgoingMail(
            # With the time: another database would begin with the same ids.
            name=f"event-{items[-1].id}-of-{len(items)}-at-{items[-1].created_at.isoformat()}",
            recipient=address,
            subject=text.subject,
            body=text.body,
            sent_at=self._clock.now(),
            thread=f"lease-{leases.pop()}" if len(leases) == 1 else None,
        )
        return "sent" if self._sender.send(mail) else "refused"

    def _settle(self, batch: MailBatch, outcome: str) -> None:
        user_id, then = batch.user_id, self._clock.now() + BETWEEN

        def work(uow: UnitOfWork) -> None:
            choice = uow.mails.choices([user_id]).get(user_id, USUAL)
            uow.mails.settle(batch, choice.due(then, self._plan.daily_hour))

        self._database.transact(work)
        self._metrics.mails_settled(outcome, len(batch.items))
        if batch.left_out:
            self._metrics.mails_settled("left_out", batch.left_out)
        LOG.info(
            "%d events of user %s: %s",
            len(batch.items),
            batch.user_id,
            outcome,
            extra={"action": "mail", "outcome": outcome},
        )

    def _put_off(self, batch: MailBatch) -> None:
        pause = min(SHORTEST_PAUSE * 2 ** min(batch.attempts, 16), LONGEST_PAUSE)
        due = self._clock.now() + pause
        self._database.transact(lambda uow: uow.mails.put_off(batch, due, batch.attempts + 1))
