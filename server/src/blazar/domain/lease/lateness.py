"""How late an event begins."""

from __future__ import annotations

from datetime import datetime, timedelta

from blazar.domain.lease.event import Event


def lateness(event: Event, now: datetime) -> timedelta:
    """Return by how much an attempt at the event is late that begins ``now``; negative where it is early.

    An event is due at its time, or at its next attempt after a failed one. An event that was made after its
    time, such as the start of a lease that starts now, was not due before it was made."""
    return now - max(event.next_try, event.created_at or event.next_try)
