"""What a subscription is: who wants to be told what, and where."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from urllib.parse import urlsplit

from blazar.domain.errors import InvalidInput

PORTS = {"https": 443, "http": 80}


class LeaseEvent(StrEnum):
    """What becomes of a lease, in the words of subscriptions."""

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


class SubscriptionStatus(StrEnum):
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    """Nothing is sent and nothing new is kept, until it is resumed."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Changes of leases are told to an address. Its secret is kept elsewhere, and never shown again.

    A filter that is None leaves all through."""

    id: str
    name: str
    project_id: str
    """The project that it belongs to."""
    user_id: str
    url: str
    events: tuple[LeaseEvent, ...]
    watched_project: str | None = None
    """The project whose leases it is about."""
    lease_id: str | None = None
    resource_type: str | None = None
    status: SubscriptionStatus = SubscriptionStatus.ACTIVE
    waiting: int = 0
    """Messages that are not delivered yet."""
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

    def wants(
        self, event: LeaseEvent, project_id: str, lease_id: str, resource_types: Collection[str]
    ) -> bool:
        """Return whether it is told of the event of such a lease."""
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
