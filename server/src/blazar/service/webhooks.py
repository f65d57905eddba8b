"""What subscribers are told: which notification concerns which subscription, and the messages that wait.

Notifications are compared with the subscriptions after the commit that made them, so that no change of a
lease waits for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.subscription import LeaseEvent, Subscription
from blazar.service.mails import NO_MAIL, MailPlan, keep_mails
from blazar.service.notifications import (
    LEASE_CREATE,
    LEASE_DELETE,
    LEASE_DISPLACED,
    LEASE_MOVED,
    LEASE_PROMOTED,
    LEASE_UPDATE,
    LEASE_WAIT_CANCELLED,
    LEASE_WAIT_TIMED_OUT,
    LEASE_WAITLISTED,
    event_notification,
    lease_notification,
)
from blazar.service.ports import Match, Notification, UnitOfWork

MOST_WAITING = 1000
"""Messages that may wait for one subscription. It is suspended at the next one, and a stream is trimmed."""
TRIMMED = 900
"""Messages that are left of a stream then."""
START = event_notification(EventType.START)
EVENTS: Mapping[str, LeaseEvent] = {
    LEASE_CREATE: LeaseEvent.CREATED,
    LEASE_UPDATE: LeaseEvent.UPDATED,
    LEASE_WAITLISTED: LeaseEvent.WAITLISTED,
    LEASE_PROMOTED: LeaseEvent.PROMOTED,
    LEASE_MOVED: LeaseEvent.MOVED,
    LEASE_DISPLACED: LeaseEvent.DISPLACED,
    LEASE_WAIT_TIMED_OUT: LeaseEvent.EXPIRED,
    LEASE_WAIT_CANCELLED: LeaseEvent.DELETED,
    LEASE_DELETE: LeaseEvent.DELETED,
    START: LeaseEvent.STARTED,
    event_notification(EventType.BEFORE_END): LeaseEvent.END_SOON,
    event_notification(EventType.END): LeaseEvent.ENDED,
}
WORDS = {lease_notification(event): event for event in LeaseEvent}
"""The words of notifications that have the name of an event."""
LEFT_OUT = frozenset({"trust_id"})
"""What only the service itself needs to know of a lease."""
OF_A_LEASE = frozenset({"project_id", "lease_id", "reservations"})
"""What the payload of a notification of a lease has, of whatever version it is."""


def event_of(notification: Notification) -> LeaseEvent | None:
    """Return what a notification tells, in the words of subscriptions; None for what they do not tell."""
    has_failed = notification.payload.get("status") == LeaseStatus.ERROR.value
    if notification.event_type == START and has_failed:
        return LeaseEvent.FAILED
    return EVENTS.get(notification.event_type) or WORDS.get(notification.event_type)


def match(
    uow: UnitOfWork,
    notifications: Sequence[Notification],
    now: datetime,
    mail: MailPlan = NO_MAIL,
) -> int:
    """Store a message for each subscription that one of these notifications concerns, and return how many.
    What is told by ``mail`` is stored for the users of the leases.

    Raises Stale where another manager has done so."""
    new = [each for each in notifications if not each.matched]
    uow.outbox.mark_matched([each.id for each in new])
    of_leases = [each for each in new if each.payload.keys() >= OF_A_LEASE]
    told = [(each, event) for each in of_leases if (event := event_of(each)) is not None]
    projects = {str(each.payload["project_id"]) for each, _ in told}
    leases = {str(each.payload["lease_id"]) for each, _ in told}
    watching = uow.subscriptions.watching(projects, leases) if told else ()
    matches = [
        Match(subscription.id, event, _document(notification, event))
        for notification, event in told
        for subscription in watching
        if _wants(subscription, notification, event)
    ]
    put(uow, watching, matches, now)
    keep_mails(uow, told, mail, now)
    return len(matches)


def put(uow: UnitOfWork, watching: Sequence[Subscription], matches: Sequence[Match], now: datetime) -> None:
    """Store messages for these subscriptions. Those for which more wait than may are suspended; of streams
    the oldest messages are forgotten."""
    uow.subscriptions.put(matches, now)
    reason = f"More than {MOST_WAITING} messages wait to be delivered."
    for each in watching:
        new = sum(match.subscription_id == each.id for match in matches)
        if not new or each.waiting + new <= MOST_WAITING:
            continue
        if each.is_stream:
            uow.subscriptions.trim(each.id, TRIMMED)
        else:
            uow.subscriptions.suspend(each.id, reason, now)


def _wants(subscription: Subscription, notification: Notification, event: LeaseEvent) -> bool:
    lease = notification.payload
    kinds = {str(each.get("resource_type")) for each in lease["reservations"]}
    return subscription.wants(event, lease["project_id"], lease["lease_id"], kinds)


def _document(notification: Notification, event: LeaseEvent) -> dict[str, Any]:
    lease = {name: value for name, value in notification.payload.items() if name not in LEFT_OUT}
    return {
        "event": event.value,
        "occurred_at": notification.created_at.replace(tzinfo=None).isoformat(timespec="microseconds"),
        "lease": {"id": lease.pop("lease_id"), **lease},
    }
