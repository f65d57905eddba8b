"""The ports of subscriptions: where they and their messages are kept, and how messages are sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from blazar.domain.subscription import CapacityEvent, CapacityLevel, SubscribedEvent, Subscription


@dataclass(frozen=True, slots=True)
class Match:
    """A subscription is to be told of an event. ``document`` is what it is told."""

    subscription_id: str
    event: SubscribedEvent | CapacityEvent
    document: Mapping[str, Any]


def message_name(message_id: int) -> str:
    """Return the id of a message as subscribers know it: the same each time that it is told."""
    return f"msg_{message_id}"


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """A message of a subscription, taken to be sent. ``token`` proves it at the settlement."""

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
        return message_name(self.id)


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A message of a stream."""

    id: int
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class KeptMessages:
    """Messages of a stream, oldest first."""

    messages: Sequence[KeptMessage]
    forgotten: int
    """The id of the last message that is no longer kept; 0 where all are."""


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

    def page(self, project_id: str | None, limit: int, after: str | None) -> Sequence[Subscription]:
        """Return at most ``limit`` subscriptions of a project, or of all projects, in the order of their ids:
        those that follow ``after``, which need not be there; the first ones where it is None."""
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

    def of_capacity(self) -> Sequence[Subscription]:
        """Return the active subscriptions to capacity, by id."""
        ...

    def set_level(self, subscription: Subscription, level: CapacityLevel) -> bool:
        """Write the level. Return false where it is no longer that of ``subscription``: another manager was
        faster."""
        ...

    def put(self, matches: Sequence[Match], now: datetime) -> None:
        """Store messages, in this order. Those of subscriptions that are gone are left out."""
        ...

    def suspend(self, subscription_id: str, reason: str, now: datetime) -> None: ...

    def ready(
        self, now: datetime, is_prompt: bool, without: Collection[str], limit: int
    ) -> Sequence[ReadyLane]:
        """Return the active subscriptions with a message that is due, those first that are due longest; not
        those of the projects ``without``, and no streams.

        ``is_prompt``: those whose receiver has taken its last message at once, or else the others."""
        ...

    def take(
        self, subscription_id: str, token: str, now: datetime, until: datetime, limit: int = 1
    ) -> Sequence[WebhookMessage]:
        """Take the oldest messages. No other manager gets one of this subscription before ``until``. None are
        returned where nothing is due, or another manager was faster."""
        ...

    def sent(
        self, messages: Sequence[WebhookMessage], now: datetime, is_prompt: bool, is_over: bool = True
    ) -> None:
        """Remove messages that were taken together. Messages that are gone are no error.

        ``is_over``: the subscription is given back, and its next message is due. Or else a failure
        follows in the same transaction."""
        ...

    def failed(self, message: WebhookMessage, failure: FailedAttempt, now: datetime) -> None:
        """Write the failed attempt, and give the subscription back. Nothing is written where the message was
        given to another manager."""
        ...

    def kept(self, subscription_id: str, after: int, limit: int) -> KeptMessages:
        """Return at most ``limit`` messages of a stream with a higher id than ``after``. The messages of one
        subscription are committed in the order of their ids."""
        ...

    def newest(self, subscription_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the id of the newest message of each of these subscriptions, 0 where it has none. Those that
        are gone are left out."""
        ...

    def trim(self, subscription_id: str, most: int) -> None:
        """Remove the oldest messages of a stream, so that ``most`` are left."""
        ...

    def counts(self) -> tuple[int, int]:
        """Return how many messages wait to be sent, and how many subscriptions are suspended."""
        ...

    def forget(self, before: datetime) -> None:
        """Remove the messages of subscriptions that are suspended since ``before`` or earlier, and those of
        streams that are as old."""
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
