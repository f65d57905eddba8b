"""Subscriptions in the database, and the messages that wait to be sent.

What a lane has to do is told by its one row: how many messages wait, and when the oldest one is due. So a
lane is taken, and given back, by one comparison of one row."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from blazar.adapters.db.quotas import SqlQuotas
from blazar.adapters.db.selections import chunks
from blazar.adapters.db.tables import subscriptions, webhook_messages
from blazar.adapters.db.types import JsonText, dump
from blazar.domain.errors import Stale
from blazar.domain.subscription import (
    CapacityCondition,
    CapacityLevel,
    LeaseEvent,
    ServerEvent,
    SubscribedEvent,
    Subscription,
    SubscriptionStatus,
)
from blazar.service.ports import (
    LONGEST_DELAY,
    FailedAttempt,
    KeptMessage,
    KeptMessages,
    Match,
    ReadyLane,
    WebhookMessage,
)

S = subscriptions.c
M = webhook_messages.c
EVERY = ""
"""Of a filter that leaves all through: it is found by an index, as a value is."""
IS_ACTIVE = S.status == SubscriptionStatus.ACTIVE.value
IS_STREAM = S.url == ""
EVENTS: Mapping[str, SubscribedEvent] = {each.value: each for each in (*LeaseEvent, *ServerEvent)}


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
            "capacity": None if stored.capacity is None else asdict(stored.capacity),
            "is_low": None if stored.capacity is None else stored.level.is_low,
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

    def page(self, project_id: str | None, limit: int, after: str | None) -> Sequence[Subscription]:
        found = select(subscriptions).order_by(S.id).limit(limit)
        if project_id is not None:
            found = found.where(S.project_id == project_id)
        if after is not None:
            found = found.where(S.id > after)
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

    def of_capacity(self) -> Sequence[Subscription]:
        found = select(subscriptions).where(S.is_low.is_not(None), IS_ACTIVE).order_by(S.id)
        return [_subscription(row) for row in self._connection.execute(found)]

    def set_level(self, subscription: Subscription, level: CapacityLevel) -> bool:
        old = subscription.level
        since = S.back_since.is_(None) if old.back_since is None else S.back_since == old.back_since
        return self._update(
            subscription.id,
            S.is_low == old.is_low,
            since,
            IS_ACTIVE,
            is_low=level.is_low,
            back_since=level.back_since,
        )

    def put(self, matches: Sequence[Match], now: datetime) -> None:
        numbers = Counter(each.subscription_id for each in matches)
        there = self._waiting_more(numbers)
        # One document is told to many.
        documents = {id(document): document for document in (each.document for each in matches)}
        rendered = {number: JsonText(dump(document)) for number, document in documents.items()}
        rows = [
            {
                "subscription_id": each.subscription_id,
                "event": each.event.value,
                "document": rendered[id(each.document)],
                "created_at": now,
            }
            for each in matches
            if each.subscription_id in there
        ]
        if rows:
            self._connection.execute(insert(webhook_messages), rows)

    def _waiting_more(self, numbers: Mapping[str, int]) -> Collection[str]:
        """Count so many more messages for each subscription. Return the ids of those that are there.

        Their rows are locked from here on: none is removed before its messages are in. They are locked in one
        order, so that two transactions do not wait for each other."""
        there: set[str] = set()
        for ids in chunks(sorted(numbers)):
            locked = select(S.id).where(S.id.in_(ids)).order_by(S.id).with_for_update()
            there.update(self._connection.execute(locked).scalars())
        by_number: dict[int, list[str]] = defaultdict(list)
        for id_ in sorted(there):
            by_number[numbers[id_]].append(id_)
        for number, alike in by_number.items():
            for ids in chunks(alike):
                more = update(subscriptions).where(S.id.in_(ids)).values(waiting=S.waiting + number)
                self._connection.execute(more)
        return there

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

    def take(
        self, subscription_id: str, token: str, now: datetime, until: datetime, limit: int = 1
    ) -> Sequence[WebhookMessage]:
        if not self._update(subscription_id, _is_due(now), token=token, due=until):
            return []
        columns = (M.id, M.document, S.url, S.secret, S.attempts, S.failing_since)
        oldest = (
            select(*columns)
            .join_from(webhook_messages, subscriptions, S.id == M.subscription_id)
            .where(M.subscription_id == subscription_id)
            .order_by(M.id)
            .limit(limit)
        )
        found = self._connection.execute(oldest).all()
        if not found:
            self._update(subscription_id, waiting=0)
        return [
            WebhookMessage(
                row.id,
                subscription_id,
                row.url,
                row.secret,
                row.document,
                0 if number else row.attempts,
                None if number else row.failing_since,
                token,
            )
            for number, row in enumerate(found)
        ]

    def sent(
        self, messages: Sequence[WebhookMessage], now: datetime, is_prompt: bool, is_over: bool = True
    ) -> None:
        ids = [each.id for each in messages]
        gone = self._connection.execute(delete(webhook_messages).where(M.id.in_(ids))).rowcount
        id_, token = messages[0].subscription_id, messages[0].token
        rest = S.waiting - gone
        given_back: dict[str, Any] = {"token": None, "due": now} if is_over else {}
        is_ours = self._update(
            id_,
            S.token == token,
            waiting=rest,
            attempts=0,
            failing_since=None,
            last_error=None,
            delivered_at=now,
            is_prompt=is_prompt,
            **given_back,
        )
        if not is_ours:
            self._update(id_, waiting=rest)

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

    def kept(self, subscription_id: str, after: int, limit: int) -> KeptMessages:
        # One statement: between two of them messages could be forgotten.
        newer = and_(M.subscription_id == S.id, M.id > after)
        found = (
            select(M.id, M.document, S.forgotten)
            .join_from(subscriptions, webhook_messages, newer, isouter=True)
            .where(S.id == subscription_id)
            .order_by(M.id)
            .limit(limit)
        )
        rows = self._connection.execute(found).all()
        forgotten = max((row.forgotten or 0 for row in rows), default=0)
        return KeptMessages([KeptMessage(row.id, row.document) for row in rows if row.id], forgotten)

    def newest(self, subscription_ids: Sequence[str]) -> Mapping[str, int]:
        # One look at the index for each, however many messages it has.
        last = select(M.id).where(M.subscription_id == S.id).order_by(M.id.desc()).limit(1).scalar_subquery()
        rows = [
            row
            for some in chunks(subscription_ids)
            for row in self._connection.execute(select(S.id, last.label("last")).where(S.id.in_(some)))
        ]
        return {row.id: row.last or 0 for row in rows}

    def trim(self, subscription_id: str, most: int) -> None:
        newest = select(M.id).where(M.subscription_id == subscription_id).order_by(M.id.desc())
        surplus = self._connection.scalar(newest.offset(most).limit(1))
        if surplus is not None:
            self._forget_up_to(subscription_id, surplus)

    def counts(self) -> tuple[int, int]:
        waiting = select(func.coalesce(func.sum(S.waiting), 0)).where(S.waiting > 0, ~IS_STREAM)
        suspended = select(func.count()).select_from(subscriptions).where(~IS_ACTIVE)
        return int(self._connection.scalar(waiting) or 0), self._connection.scalar(suspended) or 0

    def forget(self, before: datetime) -> None:
        long_ago = and_(~IS_ACTIVE, S.waiting > 0, S.suspended_at <= before)
        ids = [id_ for id_ in self._connection.scalars(select(S.id).where(long_ago)) if self._drain(id_)]
        for some in chunks(ids):
            self._connection.execute(delete(webhook_messages).where(M.subscription_id.in_(some)))
        old = (
            select(M.subscription_id, func.max(M.id))
            .join_from(webhook_messages, subscriptions, S.id == M.subscription_id)
            .where(IS_STREAM, M.created_at <= before)
            .group_by(M.subscription_id)
            .order_by(M.subscription_id)
        )
        for subscription_id, newest in self._connection.execute(old).all():
            self._forget_up_to(subscription_id, newest)

    def _forget_up_to(self, subscription_id: str, message_id: int) -> None:
        # Two managers may do so at once: who locks the row second finds that it is done.
        is_kept = or_(S.forgotten.is_(None), S.forgotten < message_id)
        if not self._update(subscription_id, is_kept, forgotten=message_id):
            return
        old = delete(webhook_messages).where(M.subscription_id == subscription_id, M.id <= message_id)
        self._update(subscription_id, waiting=S.waiting - self._connection.execute(old).rowcount)

    def _drain(self, subscription_id: str) -> bool:
        """Return whether it is still suspended: its messages are removed then."""
        return self._update(subscription_id, ~IS_ACTIVE, waiting=0)

    def _update(self, subscription_id: str, *conditions: ColumnElement[bool], **values: Any) -> bool:
        statement = update(subscriptions).where(S.id == subscription_id, *conditions).values(**values)
        return self._connection.execute(statement).rowcount == 1


def _is_due(now: datetime) -> ColumnElement[bool]:
    return and_(S.waiting > 0, IS_ACTIVE, ~IS_STREAM, or_(S.due <= now, S.due > now + LONGEST_DELAY))


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
        events=tuple(EVENTS[each] for each in row.events if each in EVENTS),
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
        capacity=None if row.capacity is None else _condition(row.capacity),
        level=CapacityLevel(bool(row.is_low), row.back_since),
    )


def _condition(stored: Mapping[str, Any]) -> CapacityCondition:
    # What a newer version may have written besides is for that version to know.
    names = {each.name for each in fields(CapacityCondition)}
    return CapacityCondition(**{name: value for name, value in stored.items() if name in names})
