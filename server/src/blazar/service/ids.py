"""The ids of new objects: one function, so that all ids of leases, reservations, allocations and events look
alike."""

from __future__ import annotations

from uuid import uuid4


def new_id() -> str:
    """Return a random UUID in its 36 characters."""
    return str(uuid4())
