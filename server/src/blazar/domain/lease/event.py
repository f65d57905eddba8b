"""The timed moments of a lease: which of them are due, and which must wait for which."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class EventType(StrEnum):
    """The moments of a lease. The first three are the users'; the others are the engine's own, never
    shown."""

    START = "start_lease"
    BEFORE_END = "before_end_lease"
    END = "end_lease"
    CONVERGE = "converge_lease"
    """Bring the cloud to what an update of an active lease committed, or to what a restart finds missing."""
    DELETE = "delete_lease"
    """Release everything the lease has in the cloud, then forget the lease."""
    WARN_UNCLAIMED = "warn_unclaimed_lease"
    """Warn of a lease that is unused, some time before it is released."""
    CLOSE_UNCLAIMED = "close_unclaimed_lease"
    """Let no user begin to use it any more."""
    END_UNCLAIMED = "end_unclaimed_lease"
    """End it, if it is unused still."""
    READY = "ready_lease"
    """Do what a reservation needs done in the cloud long before its start, once the lease is confirmed."""

    @property
    def is_public(self) -> bool:
        return self in PUBLIC


PUBLIC = frozenset({EventType.START, EventType.BEFORE_END, EventType.END})
UNCLAIMED = frozenset({EventType.WARN_UNCLAIMED, EventType.CLOSE_UNCLAIMED, EventType.END_UNCLAIMED})
WORK = frozenset({EventType.CONVERGE, EventType.READY, EventType.DELETE})
"""What is to be done as soon as it is stored."""
UNSETTLING = WORK | {EventType.END_UNCLAIMED}
"""While one of these is open, the cloud need not have what an active lease says."""


class EventStatus(StrEnum):
    UNDONE = "UNDONE"
    IN_PROGRESS = "IN_PROGRESS"
    DONE = "DONE"
    ERROR = "ERROR"


OPEN = frozenset({EventStatus.UNDONE, EventStatus.IN_PROGRESS})


@dataclass(frozen=True, slots=True)
class Event:
    """A timed moment of a lease. ``due`` is when it is tried next: its time, or later after a failed
    attempt."""

    id: str
    lease_id: str
    event_type: EventType
    time: datetime
    status: EventStatus = EventStatus.UNDONE
    due: datetime | None = None
    attempts: int = 0
    reason: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def next_try(self) -> datetime:
        return self.due or self.time
