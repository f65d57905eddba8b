"""Subscriptions in memory, and the messages that wait to be sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from blazar.adapters.memory.state import HeldLane, HeldMessage, State
from blazar.adapters.stored import through_json
from blazar.domain.errors import Stale
from blazar.domain.subscription import CapacityLevel, Subscription, SubscriptionStatus
from blazar.service.ports import (
    LONGEST_DELAY,
    FailedAttempt,
    KeptMessage,
    KeptMessages,
    Match,
    ReadyLane,
    WebhookMessage,
)

ACTIVE, SUSPENDED = SubscriptionStatus.ACTIVE, SubscriptionStatus.SUSPENDED


class MemorySubscriptions:
    """The SubscriptionRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def queue_up(self, project_id: str) -> None:
        """Do nothing: there is one writer at a time."""

    def count(self, project_id: str) -> int:
        return len(self.list(project_id))

    def add(self, subscription: Subscription, secret: str, now: datetime) -> Subscription:
        stored = replace(subscription, created_at=now, due=now)
        self._state.subscriptions[stored.id] = HeldLane(stored, secret)
        return stored

    def get(self, subscription_id: str) -> Subscription | None:
        held = self._state.subscriptions.get(subscription_id)
        return None if held is None else held.subscription

    def list(self, project_id: str | None) -> Sequence[Subscription]:
        found = [each.subscription for each in self._state.subscriptions.values()]
        wanted = [each for each in found if project_id in (None, each.project_id)]
        return sorted(wanted, key=lambda each: (each.created_at is None, each.created_at, each.id))

    def page(self, project_id: str | None, limit: int, after: str | None) -> Sequence[Subscription]:
        in_order = sorted(self.list(project_id), key=lambda each: each.id)
        return [each for each in in_order if after is None or each.id > after][:limit]

    def save(self, subscription: Subscription, now: datetime) -> None:
        held = self._there(subscription.id)
        s = subscription
        self._put(_with(held, name=s.name, url=s.url, events=s.events, updated_at=now))

    def restart(self, subscription: Subscription, now: datetime) -> None:
        held = self._there(subscription.id)
        s = subscription
        restarted = _with(
            held,
            status=s.status,
            attempts=s.attempts,
            due=s.due,
            failing_since=s.failing_since,
            last_error=s.last_error,
            suspended_at=s.suspended_at,
            updated_at=now,
        )
        self._put(replace(restarted, token=None))

    def set_secret(self, subscription_id: str, secret: str) -> None:
        held = self._state.subscriptions.get(subscription_id)
        if held is not None:
            self._put(replace(held, secret=secret))

    def remove(self, subscription_id: str) -> None:
        if self._state.subscriptions.pop(subscription_id, None) is None:
            raise Stale()
        self._drop(subscription_id)

    def watching(self, projects: Collection[str], leases: Collection[str]) -> Sequence[Subscription]:
        return [
            each
            for each in self.list(None)
            if each.status is ACTIVE
            and (each.watched_project is None or each.watched_project in projects)
            and (each.lease_id is None or each.lease_id in leases)
        ]

    def of_capacity(self) -> Sequence[Subscription]:
        found = [each for each in self.list(None) if each.capacity is not None and each.status is ACTIVE]
        return sorted(found, key=lambda each: each.id)

    def set_level(self, subscription: Subscription, level: CapacityLevel) -> bool:
        held = self._state.subscriptions.get(subscription.id)
        if held is None or held.subscription.status is not ACTIVE:
            return False
        if held.subscription.level != subscription.level:
            return False
        self._put(_with(held, level=level))
        return True

    def put(self, matches: Sequence[Match], now: datetime) -> None:
        for each in matches:
            held = self._state.subscriptions.get(each.subscription_id)
            if held is None:
                continue
            self._state.last_message += 1
            document = through_json(dict(each.document))
            self._state.messages[self._state.last_message] = HeldMessage(each.subscription_id, document, now)
            self._put(_with(held, waiting=held.subscription.waiting + 1))

    def suspend(self, subscription_id: str, reason: str, now: datetime) -> None:
        held = self._state.subscriptions.get(subscription_id)
        if held is not None and held.subscription.status is ACTIVE:
            full = _with(held, status=SUSPENDED, suspended_at=now, last_error=reason)
            self._put(replace(full, token=None))

    def ready(
        self, now: datetime, is_prompt: bool, without: Collection[str], limit: int
    ) -> Sequence[ReadyLane]:
        found = [
            each
            for each in self._state.subscriptions.values()
            if each.is_prompt is is_prompt
            and _is_due(each.subscription, now)
            and each.subscription.project_id not in without
        ]
        found.sort(key=lambda each: (each.subscription.due or now, each.subscription.id))
        return [ReadyLane(each.subscription.id, each.subscription.project_id) for each in found[:limit]]

    def take(
        self, subscription_id: str, token: str, now: datetime, until: datetime, limit: int = 1
    ) -> Sequence[WebhookMessage]:
        held = self._state.subscriptions.get(subscription_id)
        if held is None or not _is_due(held.subscription, now):
            return []
        lane = held.subscription
        self._put(replace(_with(held, due=until), token=token))
        return [
            WebhookMessage(
                id_,
                lane.id,
                lane.url,
                held.secret,
                self._state.messages[id_].document,
                0 if number else lane.attempts,
                None if number else lane.failing_since,
                token,
            )
            for number, id_ in enumerate(self._ids(subscription_id)[:limit])
        ]

    def sent(
        self, messages: Sequence[WebhookMessage], now: datetime, is_prompt: bool, is_over: bool = True
    ) -> None:
        gone = [each.id for each in messages if self._state.messages.pop(each.id, None) is not None]
        held = self._state.subscriptions.get(messages[0].subscription_id)
        if held is None:
            return
        is_ours = held.token == messages[0].token
        held = _with(held, waiting=held.subscription.waiting - len(gone))
        if is_ours:
            good = _with(held, attempts=0, failing_since=None, last_error=None, delivered_at=now)
            held = replace(good, is_prompt=is_prompt)
        if is_ours and is_over:
            held = replace(_with(held, due=now), token=None)
        self._put(held)

    def failed(self, message: WebhookMessage, failure: FailedAttempt, now: datetime) -> None:
        held = self._state.subscriptions.get(message.subscription_id)
        if held is None or held.token != message.token:
            return
        failing = _with(
            held,
            attempts=message.attempts + 1,
            failing_since=failure.since,
            last_error=failure.reason,
            due=failure.due,
        )
        if failure.is_last:
            failing = _with(failing, status=SUSPENDED, suspended_at=now)
        self._put(replace(failing, token=None, is_prompt=False))

    def kept(self, subscription_id: str, after: int, limit: int) -> KeptMessages:
        held = self._state.subscriptions.get(subscription_id)
        ids = [id_ for id_ in self._ids(subscription_id) if id_ > after][:limit]
        found = [KeptMessage(id_, self._state.messages[id_].document) for id_ in ids]
        return KeptMessages(found, held.forgotten if held else 0)

    def newest(self, subscription_ids: Sequence[str]) -> Mapping[str, int]:
        there = [id_ for id_ in subscription_ids if id_ in self._state.subscriptions]
        return {id_: max(self._ids(id_), default=0) for id_ in there}

    def trim(self, subscription_id: str, most: int) -> None:
        ids = self._ids(subscription_id)
        self._forget_messages(subscription_id, ids[: max(len(ids) - most, 0)])

    def counts(self) -> tuple[int, int]:
        found = self.list(None)
        suspended = [each for each in found if each.status is SUSPENDED]
        return sum(each.waiting for each in found if not each.is_stream), len(suspended)

    def forget(self, before: datetime) -> None:
        for held in list(self._state.subscriptions.values()):
            since = held.subscription.suspended_at
            if held.subscription.status is SUSPENDED and since is not None and since <= before:
                self._drop(held.subscription.id)
                self._put(_with(held, waiting=0))
            elif held.subscription.is_stream:
                ids = self._ids(held.subscription.id)
                old = [id_ for id_ in ids if self._state.messages[id_].created_at <= before]
                self._forget_messages(held.subscription.id, old)

    def _ids(self, subscription_id: str) -> Sequence[int]:
        """Return the ids of the messages of a subscription, oldest first."""
        return sorted(
            i for i, each in self._state.messages.items() if each.subscription_id == subscription_id
        )

    def _forget_messages(self, subscription_id: str, ids: Sequence[int]) -> None:
        if not ids:
            return
        for id_ in ids:
            del self._state.messages[id_]
        held = self._there(subscription_id)
        left = _with(held, waiting=held.subscription.waiting - len(ids))
        self._put(replace(left, forgotten=ids[-1]))

    def _there(self, subscription_id: str) -> HeldLane:
        held = self._state.subscriptions.get(subscription_id)
        if held is None:
            raise Stale()
        return held

    def _put(self, held: HeldLane) -> None:
        self._state.subscriptions[held.subscription.id] = held

    def _drop(self, subscription_id: str) -> None:
        for id_, each in list(self._state.messages.items()):
            if each.subscription_id == subscription_id:
                del self._state.messages[id_]


def _with(held: HeldLane, **changes: object) -> HeldLane:
    return replace(held, subscription=replace(held.subscription, **changes))  # type: ignore[arg-type]  # names of fields


def _is_due(subscription: Subscription, now: datetime) -> bool:
    due = subscription.due or now
    if subscription.is_stream:
        return False
    return subscription.status is ACTIVE and subscription.waiting > 0 and not now < due <= now + LONGEST_DELAY
