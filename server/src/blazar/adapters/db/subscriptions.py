"""Subscriptions in the database, and the messages that wait to be sent.

What a lane has to do is told by its one row: how many messages wait, and when the oldest one is due. So a
lane is taken, and given back, by one comparison of one row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from blazar.adapters.db.quotas import SqlQuotas
from blazar.adapters.db.selections import chunks
from blazar.adapters.db.tables import subscriptions, webhook_messages
from blazar.domain.errors import Stale
from blazar.domain.subscription import LeaseEvent, Subscription, SubscriptionStatus
from blazar.service.ports import LONGEST_DELAY, FailedAttempt, Match, ReadyLane, WebhookMessage

S = subscriptions.c
M = webhook_messages.c
EVERY = ""
"""Of a filter that leaves all through: it is found by an index, as a value is."""
IS_ACTIVE = S.status == SubscriptionStatus.ACTIVE.value
EVENTS = frozenset(LeaseEvent)


class SqlSubscriptions:
    """The SubscriptionRepository of one transaction."""

    def __init__(self, connection: Connection, quotas: SqlQuotas) -> None:
        self._connection = connection
        self._quotas = quotas

    def queue_up(self, project_id: str) -> None:
        self._quotas.queue_up(project_id)

    def count(self, project_id: str) -> int:
        found = select(func.count()).select_from(subscriptions).where(S.project_id == project_id)
        return self._connection.scalar(found) or 0

    def add(self, subscription: Subscription, secret: str, now: datetime) -> Subscription:
        stored = replace(subscription, created_at=now, due=now)
        row = {
            **_described(stored),
            **_lane(stored),
            "id": stored.id,
            "project_id": stored.project_id,
            "user_id": stored.user_id,
            "secret": secret,
            "watched_project": stored.watched_project or EVERY,
            "lease_id": stored.lease_id or EVERY,
            "resource_type": stored.resource_type,
            "waiting": 0,
            "is_prompt": False,
            "created_at": now,
        }
        self._connection.execute(insert(subscriptions), row)
        return stored

    def get(self, subscription_id: str) -> Subscription | None:
        row = self._connection.execute(select(subscriptions).where(S.id == subscription_id)).first()
        return None if row is None else _subscription(row)

    def list(self, project_id: str | None) -> Sequence[Subscription]:
        found = select(subscriptions).order_by(S.created_at, S.id)
        if project_id is not None:
            found = found.where(S.project_id == project_id)
        return [_subscription(row) for row in self._connection.execute(found)]

    def save(self, subscription: Subscription, now: datetime) -> None:
        if not self._update(subscription.id, **_described(subscription), updated_at=now):
            raise Stale()

    def restart(self, subscription: Subscription, now: datetime) -> None:
        if not self._update(subscription.id, **_lane(subscription), token=None, updated_at=now):
            raise Stale()

    def set_secret(self, subscription_id: str, secret: str) -> None:
        self._update(subscription_id, secret=secret)

    def remove(self, subscription_id: str) -> None:
        if self._connection.execute(delete(subscriptions).where(S.id == subscription_id)).rowcount != 1:
            raise Stale()

    def watching(self, projects: Collection[str], leases: Collection[str]) -> Sequence[Subscription]:
        found = select(subscriptions).where(
            S.watched_project.in_([EVERY, *projects]), S.lease_id.in_([EVERY, *leases]), IS_ACTIVE
        )
        return [_subscription(row) for row in self._connection.execute(found)]

    def put(self, matches: Sequence[Match], now: datetime) -> None:
        numbers = Counter(each.subscription_id for each in matches)
        # In one order, so that two transactions do not wait for each other. The row of a lane is locked from
        # here on: it is not removed before its messages are in.
        there = {
            id_ for id_, number in sorted(numbers.items()) if self._update(id_, waiting=S.waiting + number)
        }
        rows = [
            {
                "subscription_id": each.subscription_id,
                "event": each.event.value,
                "document": dict(each.document),
                "created_at": now,
            }
            for each in matches
            if each.subscription_id in there
        ]
        if rows:
            self._connection.execute(insert(webhook_messages), rows)

    def suspend(self, subscription_id: str, reason: str, now: datetime) -> None:
        changed = {"status": SubscriptionStatus.SUSPENDED.value, "suspended_at": now, "last_error": reason}
        self._update(subscription_id, IS_ACTIVE, **changed, token=None)

    def ready(
        self, now: datetime, is_prompt: bool, without: Collection[str], limit: int
    ) -> Sequence[ReadyLane]:
        found = select(S.id, S.project_id).where(
            _is_due(now), S.is_prompt == is_prompt, S.project_id.not_in(list(without))
        )
        rows = self._connection.execute(found.order_by(S.due, S.id).limit(limit))
        return [ReadyLane(row.id, row.project_id) for row in rows]

    def take(self, subscription_id: str, token: str, now: datetime, until: datetime) -> WebhookMessage | None:
        if not self._update(subscription_id, _is_due(now), token=token, due=until):
            return None
        lane = self._connection.execute(select(subscriptions).where(S.id == subscription_id)).one()
        oldest = select(webhook_messages).where(M.subscription_id == subscription_id).order_by(M.id).limit(1)
        message = self._connection.execute(oldest).first()
        if message is None:
            self._update(subscription_id, waiting=0)
            return None
        return WebhookMessage(
            message.id,
            lane.id,
            lane.url,
            lane.secret,
            message.document,
            lane.attempts,
            lane.failing_since,
            token,
        )

    def sent(self, message: WebhookMessage, now: datetime, is_prompt: bool) -> None:
        gone = self._connection.execute(delete(webhook_messages).where(M.id == message.id)).rowcount
        id_ = message.subscription_id
        self._update(id_, waiting=S.waiting - gone)
        self._update(
            id_,
            S.token == message.token,
            token=None,
            attempts=0,
            failing_since=None,
            last_error=None,
            due=now,
            delivered_at=now,
            is_prompt=is_prompt,
        )

    def failed(self, message: WebhookMessage, failure: FailedAttempt, now: datetime) -> None:
        suspended = {"status": SubscriptionStatus.SUSPENDED.value, "suspended_at": now}
        self._update(
            message.subscription_id,
            S.token == message.token,
            token=None,
            attempts=message.attempts + 1,
            failing_since=failure.since,
            last_error=failure.reason,
            due=failure.due,
            is_prompt=False,
            **(suspended if failure.is_last else {}),
        )

    def counts(self) -> tuple[int, int]:
        waiting = select(func.coalesce(func.sum(S.waiting), 0)).where(S.waiting > 0)
        suspended = select(func.count()).select_from(subscriptions).where(~IS_ACTIVE)
        return int(self._connection.scalar(waiting) or 0), self._connection.scalar(suspended) or 0

    def forget(self, before: datetime) -> None:
        long_ago = and_(~IS_ACTIVE, S.waiting > 0, S.suspended_at <= before)
        ids = [id_ for id_ in self._connection.scalars(select(S.id).where(long_ago)) if self._drain(id_)]
        for some in chunks(ids):
            self._connection.execute(delete(webhook_messages).where(M.subscription_id.in_(some)))

    def _drain(self, subscription_id: str) -> bool:
        """Return whether it is still suspended: its messages are removed then."""
        return self._update(subscription_id, ~IS_ACTIVE, waiting=0)

    def _update(self, subscription_id: str, *conditions: ColumnElement[bool], **values: Any) -> bool:
        statement = update(subscriptions).where(S.id == subscription_id, *conditions).values(**values)
        return self._connection.execute(statement).rowcount == 1


def _is_due(now: datetime) -> ColumnElement[bool]:
    return and_(S.waiting > 0, IS_ACTIVE, or_(S.due <= now, S.due > now + LONGEST_DELAY))


def _described(subscription: Subscription) -> dict[str, Any]:
    return {
        "name": subscription.name,
        "url": subscription.url,
        "events": [each.value for each in subscription.events],
    }


def _lane(subscription: Subscription) -> dict[str, Any]:
    return {
        "status": subscription.status.value,
        "attempts": subscription.attempts,
        "due": subscription.due,
        "failing_since": subscription.failing_since,
        "last_error": subscription.last_error,
        "suspended_at": subscription.suspended_at,
    }


def _subscription(row: Row[Any]) -> Subscription:
    return Subscription(
        id=row.id,
        name=row.name,
        project_id=row.project_id,
        user_id=row.user_id,
        url=row.url,
        # What a newer version may have written is for that version to tell.
        events=tuple(LeaseEvent(each) for each in row.events if each in EVENTS),
        watched_project=row.watched_project or None,
        lease_id=row.lease_id or None,
        resource_type=row.resource_type,
        status=SubscriptionStatus(row.status),
        waiting=row.waiting,
        attempts=row.attempts,
        due=row.due,
        failing_since=row.failing_since,
        last_error=row.last_error,
        delivered_at=row.delivered_at,
        suspended_at=row.suspended_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
