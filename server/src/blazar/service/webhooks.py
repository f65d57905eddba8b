"""What subscribers are told: which notification concerns which subscription, and the messages that wait.

Notifications are compared with the subscriptions after the commit that made them, so that no change of a
lease waits for it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from blazar.domain.lease.event import EventType
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.subscription import LeaseEvent, ServerEvent, SubscribedEvent, Subscription
from blazar.service.mails import NO_MAIL, MailPlan, keep_mails
from blazar.service.notifications import (
    LEASE_CREATE,
    LEASE_DELETE,
    LEASE_DISPLACED,
    LEASE_MOVED,
    LEASE_PROMOTED,
    LEASE_TAKEN_OVER,
    LEASE_UPDATE,
    LEASE_WAIT_CANCELLED,
    LEASE_WAIT_TIMED_OUT,
    LEASE_WAITLISTED,
    PREEMPTION_NOTICE,
    PREEMPTION_NOTICE_WITHDRAWN,
    event_notification,
    lease_notification,
)
from blazar.service.ports import Match, Notification, UnitOfWork

PIECE = 200
"""Messages, at least, with which a transaction ends that stores them: requests come first after it."""
MOST_WAITING = 1000
"""Messages that may wait for one subscription. It is suspended at the next one, and a stream is trimmed."""
TRIMMED = 900
"""Messages that are left of a stream then."""
START = event_notification(EventType.START)
EVENTS: Mapping[str, LeaseEvent] = {
    LEASE_CREATE: LeaseEvent.CREATED,
    LEASE_UPDATE: LeaseEvent.UPDATED,
    LEASE_TAKEN_OVER: LeaseEvent.UPDATED,
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
OF_A_SERVER = frozenset({"project_id", "server_id", "region", "notice"})
"""What the payload of a notification of a server has."""
SHOWN_OF_A_SERVER = ("project_id", "region", "notice")
"""Of these, what subscribers are told beside the id: not the host, which users are not told."""
SERVER_EVENTS: Mapping[str, ServerEvent] = {
    PREEMPTION_NOTICE: ServerEvent.PREEMPTION_NOTICE,
    PREEMPTION_NOTICE_WITHDRAWN: ServerEvent.PREEMPTION_NOTICE_WITHDRAWN,
}


def event_of(notification: Notification) -> SubscribedEvent | None:
    """Return what a notification tells, in the words of subscriptions; None for what they do not tell."""
    told = notification.payload.keys()
    if told >= OF_A_SERVER:
        return SERVER_EVENTS.get(notification.event_type)
    return lease_event_of(notification) if told >= OF_A_LEASE else None


def lease_event_of(notification: Notification) -> LeaseEvent | None:
    """Return what a notification tells of a lease."""
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
    """Store a message for each subscription that one of these notifications concerns. What is told by
    ``mail`` is stored for the users of the leases. With ``PIECE`` messages what is left is not compared.
    Return how many notifications were.

    Raises Stale where another manager has compared them."""
    events = _events(notifications)
    watching = _watching(uow, [each for each in notifications if each.id in events])
    compared: list[Notification] = []
    matches: list[Match] = []
    for each in notifications:
        if len(matches) >= PIECE:
            break
        compared.append(each)
        if each.id in events:
            matches += _matches(watching, each, events[each.id])
    uow.outbox.mark_matched([each.id for each in compared])
    put(uow, list(chain.from_iterable(watching.values())), matches, now)
    told = [(each, event) for each in compared if isinstance(event := events.get(each.id), LeaseEvent)]
    keep_mails(uow, told, mail, now)
    return len(compared)


def put(uow: UnitOfWork, watching: Sequence[Subscription], matches: Sequence[Match], now: datetime) -> None:
    """Store messages for these subscriptions. Those for which more wait than may are suspended; of streams
    the oldest messages are forgotten."""
    uow.subscriptions.put(matches, now)
    reason = f"More than {MOST_WAITING} messages wait to be delivered."
    new = Counter(each.subscription_id for each in matches)
    for each in watching:
        if not new[each.id] or each.waiting + new[each.id] <= MOST_WAITING:
            continue
        if each.is_stream:
            uow.subscriptions.trim(each.id, TRIMMED)
        else:
            uow.subscriptions.suspend(each.id, reason, now)


def _events(notifications: Sequence[Notification]) -> Mapping[int, SubscribedEvent]:
    """Return what the notifications tell, by their ids."""
    return {each.id: event for each in notifications if (event := event_of(each)) is not None}


def _watching(
    uow: UnitOfWork, notifications: Sequence[Notification]
) -> Mapping[str | None, Sequence[Subscription]]:
    """Return the subscriptions that some of the notifications may concern, by the project that they watch."""
    projects = {str(each.payload["project_id"]) for each in notifications}
    leases = {str(each.payload["lease_id"]) for each in notifications if "lease_id" in each.payload}
    found: dict[str | None, list[Subscription]] = defaultdict(list)
    for each in uow.subscriptions.watching(projects, leases) if notifications else ():
        found[each.watched_project].append(each)
    return found


def _matches(
    watching: Mapping[str | None, Sequence[Subscription]], notification: Notification, event: SubscribedEvent
) -> Sequence[Match]:
    about, document = notification.payload, _document(notification, event)
    kinds = {str(each.get("resource_type")) for each in about.get("reservations", ())}
    return [
        Match(subscription.id, event, document)
        for project in (None, about["project_id"])
        for subscription in watching.get(project, ())
        if subscription.wants(event, about["project_id"], about.get("lease_id"), kinds)
    ]


def _document(notification: Notification, event: SubscribedEvent) -> dict[str, Any]:
    return {
        "event": event.value,
        "occurred_at": notification.created_at.replace(tzinfo=None).isoformat(timespec="microseconds"),
        **_subject(notification.payload, event),
    }


def _subject(payload: Mapping[str, Any], event: SubscribedEvent) -> Mapping[str, Any]:
    """Return the lease or the server that a message is about."""
    if isinstance(event, ServerEvent):
        return {"server": {"id": payload["server_id"], **{name: payload[name] for name in SHOWN_OF_A_SERVER}}}
    lease = {name: value for name, value in payload.items() if name not in LEFT_OUT}
    return {"lease": {"id": lease.pop("lease_id"), **lease}}
