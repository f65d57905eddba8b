"""The notifications that the service sends of leases, and their payload."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.service.documents import lease_document, without_zone
from blazar.service.ports.kind import Kinds

DATES = without_zone("microseconds")
LEASE_CREATE = "lease.create"
LEASE_UPDATE = "lease.update"
LEASE_DELETE = "lease.delete"
LEASE_WAITLISTED = "lease.waitlisted"
LEASE_PROMOTED = "lease.promoted"
LEASE_WAIT_TIMED_OUT = "lease.wait_timed_out"
LEASE_WAIT_CANCELLED = "lease.wait_cancelled"
LEASE_UNCLAIMED_WARNING = "lease.unclaimed_warning"
LEASE_UNCLAIMED = "lease.unclaimed"
WARNING_WITHDRAWN = "lease.event.before_end_lease.stop"
"""The warning of the end was given, but the end has moved since: it will be given again."""


def event_notification(event_type: EventType) -> str:
    return f"lease.event.{event_type}"


def payload(lease: Lease, kinds: Kinds) -> dict[str, Any]:
    """Return the flat payload that consumers of API 1.0's notifications know: the fields of the API's
    answers, with ``lease_id`` in place of ``id``, and dates in ISO 8601 with microseconds, UTC without
    zone."""
    document = lease_document(lease, kinds, DATES)
    return {"lease_id": document.pop("id"), **document}


def payload_of_deleted(lease: Lease, kinds: Kinds) -> dict[str, Any]:
    """Return the payload of a lease that is removed: as it was, but for its status."""
    return payload(replace(lease, status=LeaseStatus.DELETING), kinds)
