"""What a subscription is: who wants to be told what, and where."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import urlsplit

from blazar.domain.errors import InvalidInput

PORTS = {"https": 443, "http": 80}


class LeaseEvent(StrEnum):
    """What becomes of a lease, in the words of subscriptions.

    A notification ``lease.WORD`` is told by its word: a new word needs an entry here, one in the set of its
    version, and such a notification."""

    CREATED = "created"
    UPDATED = "updated"
    WAITLISTED = "waitlisted"
    PROMOTED = "promoted"
    EXPIRED = "expired"
    """It has waited in vain."""
    STARTED = "started"
    FAILED = "failed"
    """Its start has failed."""
    END_SOON = "end_soon"
    ENDED = "ended"
    DELETED = "deleted"
    OFFERED = "offered"
    """What it needs is held for a while."""
    START_SOON = "start_soon"
    DEGRADED = "degraded"
    """Something of it has failed, and nothing takes its place."""
    MOVED = "moved"
    """Other resources serve it."""
    DISPLACED = "displaced"
    """It has lost what it had to a lease of a higher priority, and waits."""
    UNCLAIMED_WARNING = "unclaimed_warning"
    """It is unused, and is released unless that changes."""


SINCE_1_14 = frozenset(
    {
        LeaseEvent.OFFERED,
        LeaseEvent.START_SOON,
        LeaseEvent.DEGRADED,
        LeaseEvent.MOVED,
        LeaseEvent.DISPLACED,
    }
)
"""The words that version 1.14 of the API has brought."""
SINCE_1_32 = frozenset({LeaseEvent.UNCLAIMED_WARNING})
"""The words that version 1.32 has brought. The others are of version 1.11."""


class ServerEvent(StrEnum):
    """What becomes of a preemptible server, in the words of subscriptions. They are of version 1.41."""

    PREEMPTION_NOTICE = "preemption_notice"
    """A lease needs its host soon."""
    PREEMPTION_NOTICE_WITHDRAWN = "preemption_notice_withdrawn"


SubscribedEvent = LeaseEvent | ServerEvent
"""What a subscription may name."""


class CapacityEvent(StrEnum):
    """What becomes of the capacity, in the words of subscriptions."""

    LOW = "capacity_low"
    BACK = "capacity_back"
    """It was low, and has been enough for STEADY."""


STEADY = timedelta(minutes=10)
"""How long the capacity has to be enough before it is told: so it may go up and down without a flood of
messages."""


@dataclass(frozen=True, slots=True)
class CapacityCondition:
    """Tell when less than ``below`` is available at some time in the next days."""

    below: int
    days: int
    resource_type: str
    quantity: str
    resource_properties: str = ""


@dataclass(frozen=True, slots=True)
class CapacityLevel:
    """What a subscriber to capacity was told last: whether it is low."""

    is_low: bool = False
    back_since: datetime | None = None
    """Since when there is enough again, which is not told yet."""

    def seen(self, is_enough: bool, now: datetime) -> tuple[CapacityLevel, CapacityEvent | None]:
        """Return the level after a look, and what is to be told."""
        if not is_enough:
            return CapacityLevel(is_low=True), None if self.is_low else CapacityEvent.LOW
        if not self.is_low:
            return self, None
        if self.back_since is None or self.back_since > now:
            return replace(self, back_since=now), None
        if now - self.back_since < STEADY:
            return self, None
        return CapacityLevel(), CapacityEvent.BACK


class SubscriptionStatus(StrEnum):
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    """Nothing is sent and nothing new is kept, until it is resumed."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Changes of leases are told to an address, or kept for clients that ask. Its secret is kept elsewhere,
    and never shown again.

    A filter that is None leaves all through."""

    id: str
    name: str
    project_id: str
    """The project that it belongs to."""
    user_id: str
    url: str
    """Empty of a stream."""
    events: tuple[SubscribedEvent, ...]
    watched_project: str | None = None
    """The project whose leases it is about."""
    lease_id: str | None = None
    resource_type: str | None = None
    status: SubscriptionStatus = SubscriptionStatus.ACTIVE
    waiting: int = 0
    """Messages that are not delivered yet; of a stream, those that are kept."""
    attempts: int = 0
    """Failed attempts at the oldest message."""
    due: datetime | None = None
    """When the oldest message is tried next."""
    failing_since: datetime | None = None
    last_error: str | None = None
    delivered_at: datetime | None = None
    suspended_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    capacity: CapacityCondition | None = None
    """It is about capacity, and not about leases."""
    level: CapacityLevel = CapacityLevel()

    @property
    def is_stream(self) -> bool:
        """Return whether its messages are kept for clients that ask, and sent nowhere."""
        return not self.url

    @property
    def words(self) -> Sequence[str]:
        """Return the events that it is told of."""
        return [each.value for each in (CapacityEvent if self.capacity else self.events)]

    def wants(
        self,
        event: SubscribedEvent,
        project_id: str,
        lease_id: str | None = None,
        resource_types: Collection[str] = (),
    ) -> bool:
        """Return whether it is told of the event of such a lease, or of a server, which has no lease."""
        return (
            event in self.events
            and self.watched_project in (None, project_id)
            and self.lease_id in (None, lease_id)
            and (self.resource_type is None or self.resource_type in resource_types)
        )

    def resumed(self, now: datetime) -> Subscription:
        """Return it as one that has never failed, with what waits due at once."""
        return replace(
            self,
            status=SubscriptionStatus.ACTIVE,
            attempts=0,
            due=now,
            failing_since=None,
            last_error=None,
            suspended_at=None,
        )


@dataclass(frozen=True, slots=True)
class Target:
    """Where a message goes: the parts of an address of a receiver."""

    scheme: str
    host: str
    port: int
    path: str
    """With the query."""

    @property
    def authority(self) -> str:
        """Return what the header ``Host`` has: the host, and the port where it is not that of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @classmethod
    def parse(cls, url: str) -> Target:
        """Raises InvalidInput with a sentence."""
        if not url.isascii() or not url.isprintable() or " " in url:
            raise InvalidInput("The url must consist of ASCII characters that can be seen.")
        try:
            parts = urlsplit(url)
            scheme, host, port = parts.scheme, parts.hostname, parts.port
        except ValueError:
            raise InvalidInput("The url is not an address.") from None
        if scheme not in PORTS or not host or port == 0:
            raise InvalidInput("The url must be https://host/path, with or without a port.")
        if "@" in parts.netloc or "#" in url:
            raise InvalidInput("The url must have neither a user nor a fragment.")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(scheme, host, port or PORTS[scheme], path)
