"""The ports of subscriptions: where they and their messages are kept, and how messages are sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from blazar.domain.subscription import LeaseEvent, Subscription


@dataclass(frozen=True, slots=True)
class Match:
    """A subscription is to be told of an event. ``document`` is what it is told."""

    subscription_id: str
    event: LeaseEvent
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """The oldest message of a subscription, taken to be sent. ``token`` proves it at the settlement."""

    id: int
    subscription_id: str
    url: str
    secret: str = field(repr=False)
    document: Mapping[str, Any]
    attempts: int
    failing_since: datetime | None
    token: str

    @property
    def name(self) -> str:
        """Return the id that receivers know it by: the same at each attempt."""
        return f"msg_{self.id}"


@dataclass(frozen=True, slots=True)
class ReadyLane:
    """A subscription with a message that is due."""

    subscription_id: str
    project_id: str


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """What is written of a failed attempt."""

    reason: str
    since: datetime
    due: datetime
    is_last: bool
    """The subscription is suspended."""


class SubscriptionRepository(Protocol):
    """Subscriptions, and the messages that wait to be sent for each of them, oldest first."""

    def queue_up(self, project_id: str) -> None:
        """Wait for the other transactions that make subscriptions of the project, up to the end of this
        one."""
        ...

    def count(self, project_id: str) -> int: ...

    def add(self, subscription: Subscription, secret: str, now: datetime) -> Subscription:
        """Return the subscription as stored: created_at is ``now``."""
        ...

    def get(self, subscription_id: str) -> Subscription | None: ...

    def list(self, project_id: str | None) -> Sequence[Subscription]:
        """Return the subscriptions of a project, or of all projects, oldest first."""
        ...

    def save(self, subscription: Subscription, now: datetime) -> None:
        """Write the name, the url and the events. Raises Stale where it is gone."""
        ...

    def restart(self, subscription: Subscription, now: datetime) -> None:
        """Write the status, the failures, and when the next message is due. A manager that has a message
        under way then writes nothing of it but that it was delivered. Raises Stale where it is gone."""
        ...

    def set_secret(self, subscription_id: str, secret: str) -> None: ...

    def remove(self, subscription_id: str) -> None:
        """Remove the subscription with its messages. Raises Stale where it is gone."""
        ...

    def watching(self, projects: Collection[str], leases: Collection[str]) -> Sequence[Subscription]:
        """Return the active subscriptions to one of these projects, or to all, and to one of these leases, or
        to all."""
        ...

    def put(self, matches: Sequence[Match], now: datetime) -> None:
        """Store messages, in this order. Those of subscriptions that are gone are left out."""
        ...

    def suspend(self, subscription_id: str, reason: str, now: datetime) -> None: ...

    def ready(
        self, now: datetime, is_prompt: bool, without: Collection[str], limit: int
    ) -> Sequence[ReadyLane]:
        """Return the active subscriptions with a message that is due, those first that are due longest; not
        those of the projects ``without``.

        ``is_prompt``: those whose receiver has taken its last message at once, or else the others."""
        ...

    def take(self, subscription_id: str, token: str, now: datetime, until: datetime) -> WebhookMessage | None:
        """Take the oldest message. No other manager gets one of this subscription before ``until``. None
        where nothing is due, or another manager was faster."""
        ...

    def sent(self, message: WebhookMessage, now: datetime, is_prompt: bool) -> None:
        """Remove the message; the next one is due. A message that is gone is no error."""
        ...

    def failed(self, message: WebhookMessage, failure: FailedAttempt, now: datetime) -> None:
        """Write the failed attempt. Nothing is written where the message was given to another manager."""
        ...

    def counts(self) -> tuple[int, int]:
        """Return how many messages wait, and how many subscriptions are suspended."""
        ...

    def forget(self, before: datetime) -> None:
        """Remove the messages of subscriptions that are suspended since ``before`` or earlier."""
        ...


class WebhookSender(Protocol):
    """Sends messages to receivers that users name."""

    def require_allowed(self, url: str) -> None:
        """Raises InvalidInput for an address that no message is ever sent to, as far as that can be told
        without asking for the name of its host."""
        ...

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Raises NotDelivered with the reason in plain words."""
        ...
