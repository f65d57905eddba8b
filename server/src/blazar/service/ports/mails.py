"""The ports of mail: where it waits for each user, and how it is sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from blazar.domain.mail import MailChoice
from blazar.domain.subscription import LeaseEvent

LONGEST_MAIL_DELAY = timedelta(hours=25)
"""By how much the mail of a user may be put off. One that is due later was put off by a clock that was ahead,
and is due now."""
MOST_FORGOTTEN = 1000
"""Items that are forgotten in one transaction."""


@dataclass(frozen=True, slots=True)
class MailItem:
    """What a user is to be told of a lease. ``document`` is the lease as it was then."""

    user_id: str
    event: LeaseEvent
    document: Mapping[str, Any]
    created_at: datetime
    id: int = 0


@dataclass(frozen=True, slots=True)
class MailBatch:
    """Items that go to a user in one mail, oldest first: the same ones at each attempt. ``token`` proves it
    at the settlement."""

    user_id: str
    items: Sequence[MailItem]
    left_out: int
    """Items that were not kept, for too many waited already."""
    attempts: int
    token: str


@dataclass(frozen=True, slots=True)
class OutgoingMail:
    """A mail in plain text. All fields may have been written by users."""

    name: str
    """The same each time that the mail is sent, and of no other mail."""
    recipient: str = field(repr=False)
    subject: str
    body: str
    sent_at: datetime
    thread: str | None = None
    """The same for all mails of a lease."""


class MailRepository(Protocol):
    """What users are to be told by mail. The items of a user wait in one lane, oldest first."""

    def waiting(self, user_ids: Collection[str]) -> Mapping[str, int]:
        """Return how many items wait for these users; those for whom none has waited lately are left out."""
        ...

    def put(self, user_id: str, items: Sequence[MailItem], left_out: int, due: datetime) -> None:
        """Store items of a user, in this order, and add to the number of those that were left out. Where none
        waits yet, the next mail is due at ``due`` or, if that is later, when it was due already."""
        ...

    def ready(self, now: datetime, limit: int) -> Sequence[str]:
        """Return users whose mail is due: first those whose last mail was taken, then by how often theirs was
        tried, and those first that are due longest."""
        ...

    def take(self, user_id: str, token: str, now: datetime, until: datetime) -> MailBatch | None:
        """Take what waits for a user, or what was taken at the last attempt. No other manager gets it before
        ``until``. None where nothing is due, or another manager was faster."""
        ...

    def settle(self, batch: MailBatch, due: datetime) -> None:
        """Remove what was taken. What waits besides is due at ``due``. Items that are gone are no error."""
        ...

    def put_off(self, batch: MailBatch, due: datetime, attempts: int) -> None:
        """Give back what was taken, to be tried again at ``due``. Nothing is written where another manager
        has it."""
        ...

    def choices(self, user_ids: Collection[str]) -> Mapping[str, MailChoice]:
        """Return the choices of these users. Those who have not chosen are left out."""
        ...

    def choose(
        self, user_id: str, choice: MailChoice, unwanted: Collection[LeaseEvent], due: datetime
    ) -> None:
        """Store the choice of a user, remove what waits of unwanted events, and let the rest be due at
        ``due``, unless a manager has it under way."""
        ...

    def count(self) -> int:
        """Return how many items wait."""
        ...

    def forget(self, before: datetime, now: datetime) -> int:
        """Remove the items that were first due at ``before`` or earlier, and what is stored of users for whom
        nothing waits. Return how many items: those that are left are forgotten by the next call where they
        are MOST_FORGOTTEN."""
        ...


class MailSender(Protocol):
    """Sends mail. It is used by one thread, and keeps a connection between two mails."""

    def send(self, mail: OutgoingMail) -> bool:
        """Return false where the server will never take the mail, or there is no such address.

        Raises NotDelivered where this mail may be taken later, and CloudUnavailable where no mail is taken at
        the moment."""
        ...

    def rest(self) -> None:
        """Close the connection, if there is one."""
        ...
