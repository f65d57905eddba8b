"""The notifications that the service sends of leases, and their payload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.lease.share import LeaseShare
from blazar.service.documents import lease_document, without_zone
from blazar.service.ports import UnitOfWork
from blazar.service.ports.kind import Kinds

DATES = without_zone("microseconds")
LEASE_CREATE = "lease.create"
LEASE_UPDATE = "lease.update"
LEASE_DELETE = "lease.delete"
LEASE_WAITLISTED = "lease.waitlisted"
LEASE_PROMOTED = "lease.promoted"
LEASE_WAIT_TIMED_OUT = "lease.wait_timed_out"
LEASE_WAIT_CANCELLED = "lease.wait_cancelled"
LEASE_OFFERED = "lease.offered"
LEASE_START_SOON = "lease.start_soon"
LEASE_DEGRADED = "lease.degraded"
LEASE_MOVED = "lease.moved"
LEASE_DISPLACED = "lease.displaced"
LEASE_UNCLAIMED_WARNING = "lease.unclaimed_warning"
LEASE_UNCLAIMED = "lease.unclaimed"
LEASE_SHARED = "lease.shared"
LEASE_TAKEN_OVER = "lease.taken_over"
LEASE_UNSHARED = "lease.unshared"
LEASE_STACK_CREATED = "lease.stack_created"
LEASE_STACK_FAILED = "lease.stack_failed"
LEASE_STACK_LATE = "lease.stack_late"
"""The stack is still there after the lease's end, and its deletion goes on."""
LEASE_STACK_DELETED = "lease.stack_deleted"
LEASE_STACK_LEFT = "lease.stack_left"
PREEMPTION_NOTICE = "server.preemption_notice"
"""A preemptible server is told that its host is needed soon. It and the next one tell of a server, not of a
lease."""
PREEMPTION_NOTICE_WITHDRAWN = "server.preemption_notice.withdrawn"
WARNING_WITHDRAWN = "lease.event.before_end_lease.stop"
"""The warning of the end was given, but the end has moved since: it will be given again."""


PLANNED_ELSEWHERE = "It was planned on other resources at {:%Y-%m-%d %H:%M}, to make room."
"""What a notification tells of a lease that has not begun and is served by other resources. The lease itself
does not say so: for its user nothing is different."""


def event_notification(event_type: EventType) -> str:
    return f"lease.event.{event_type}"


def lease_notification(word: str) -> str:
    return f"lease.{word}"


def notifications_of_healing(new: Lease, old: Lease) -> Sequence[str]:
    """Return what is to be told where resources have failed, are taken away or are replaced."""
    before = {each.id: each for each in old.reservations}
    pairs = [(each, before[each.id]) for each in new.reservations if each.id in before]
    has_moved = any(_resources(after) != _resources(each) for after, each in pairs)
    lacks = any(after.missing_resources and not each.missing_resources for after, each in pairs)
    return [*([LEASE_MOVED] if has_moved else []), *([LEASE_DEGRADED] if lacks else [])]


def tell_healing(
    uow: UnitOfWork, kinds: Kinds, changes: Sequence[tuple[Lease, Lease]], now: datetime
) -> None:
    """Put what is to be told of leases, as they are and as they were, into the outbox."""
    told: list[tuple[str, dict[str, Any]]] = []
    for new, old in changes:
        event_types = notifications_of_healing(new, old)
        document = payload(replace(new, updated_at=now), kinds) if event_types else {}
        told += [(event_type, document) for event_type in event_types]
    uow.outbox.put_all(told, now)


def tell_planned_elsewhere(uow: UnitOfWork, kinds: Kinds, leases: Sequence[Lease], now: datetime) -> None:
    """Put into the outbox that other resources are planned for these leases."""
    reason = PLANNED_ELSEWHERE.format(now)
    told = [replace(each, updated_at=now, status_reason=reason) for each in leases]
    uow.outbox.put_all([(LEASE_MOVED, payload(each, kinds)) for each in told], now)


def _resources(reservation: Reservation) -> frozenset[str]:
    return frozenset(each.resource_id for each in reservation.allocations)


def payload(lease: Lease, kinds: Kinds) -> dict[str, Any]:
    """Return the flat payload that consumers of API 1.0's notifications know: the fields of the API's
    answers, with ``lease_id`` in place of ``id``, and dates in ISO 8601 with microseconds, UTC without
    zone."""
    document = lease_document(lease, kinds, DATES)
    return {"lease_id": document.pop("id"), **document}


def payload_of_share(lease: Lease, share: LeaseShare, kinds: Kinds) -> dict[str, Any]:
    """Return the payload of a lease, with the project that it is or was shared with, and its right."""
    told = {"shared_with": share.project_id, "shared_right": share.right.value, "shared_by": share.user_id}
    return {**payload(lease, kinds), **told}


def payload_of_deleted(lease: Lease, kinds: Kinds) -> dict[str, Any]:
    """Return the payload of a lease that is removed: as it was, but for its status."""
    return payload(replace(lease, status=LeaseStatus.DELETING), kinds)
