"""Subscriptions: who is told what becomes of leases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from blazar.domain.errors import InvalidInput, Stale, SubscriptionNotFound
from blazar.domain.subscription import CapacityCondition, Subscription
from blazar.domain.time import floor_minute
from blazar.service.capacity import CapacityQuestion, CapacityReport, question_of
from blazar.service.commands import UNSET, CreateSubscription, UpdateSubscription
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.pages import ResourcePage
from blazar.service.ports import Clock, Database, UnitOfWork
from blazar.service.ports.kind import Kinds
from blazar.service.receivers import SubscriptionSettings, require_place
from blazar.service.webhook_signature import body_of, new_secret

Capacity = Callable[[CapacityQuestion, Caller], CapacityReport]


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """A subscription with its secret, which is told once: where it is made, or made anew."""

    subscription: Subscription
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """A message of a stream. ``body`` is what a receiver of the subscription would be sent."""

    id: int
    event: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StreamPage:
    """A stream, and its messages after one, oldest first."""

    subscription: Subscription
    messages: Sequence[StreamMessage]
    missed: int = 0
    """The id of the last message that was not told and is no longer kept; 0 where there is none."""


class Subscriptions:
    """The use cases of subscriptions."""

    def __init__(
        self,
        database: Database,
        kinds: Kinds,
        clock: Clock,
        settings: SubscriptionSettings,
        capacity: Capacity,
    ) -> None:
        """``capacity`` answers a question, or refuses it."""
        self._database = database
        self._kinds = kinds
        self._clock = clock
        self._settings = settings
        self._capacity = capacity

    def create(self, command: CreateSubscription, caller: Caller) -> NewSubscription:
        """Raises InvalidInput, TooManySubscriptions, and TooLate where the caller has stopped to wait."""
        if command.url:
            self._settings.require_sendable(command.url)
        if command.resource_type is not None and command.resource_type not in self._kinds:
            raise InvalidInput(f"There is no resource type {command.resource_type}.")
        if command.capacity is not None:
            self._require_answer(command.capacity, caller)
        subscription = Subscription(
            id=new_id(),
            name=command.name,
            project_id=str(caller.project_id),
            user_id=caller.user_id,
            url=command.url,
            events=command.events,
            watched_project=command.watched_project,
            lease_id=command.lease_id,
            resource_type=command.resource_type,
            capacity=command.capacity,
        )
        secret = new_secret()
        stored = self._database.transact(lambda uow: self._add(uow, subscription, secret, caller))
        return NewSubscription(stored, None if stored.is_stream else secret)

    def _add(self, uow: UnitOfWork, subscription: Subscription, secret: str, caller: Caller) -> Subscription:
        require_place(uow, subscription.project_id, self._settings.most)
        self._require_lease(uow, subscription)
        stored = uow.subscriptions.add(subscription, secret, self._clock.now())
        caller.require_time(self._clock.now())  # as late as possible
        return stored

    def _require_answer(self, condition: CapacityCondition, caller: Caller) -> None:
        """Raises what the question about the capacity is refused for."""
        end = floor_minute(self._clock.now()) + timedelta(days=condition.days)
        self._capacity(question_of(condition, end), caller)

    def _require_lease(self, uow: UnitOfWork, subscription: Subscription) -> None:
        if subscription.lease_id is None:
            return
        lease = uow.leases.get(subscription.lease_id)
        if lease is None or subscription.watched_project not in (None, lease.project_id):
            raise InvalidInput(f"There is no lease {subscription.lease_id}.")

    def get(self, subscription_id: str) -> Subscription:
        with self._database.read() as uow:
            return _found(uow, subscription_id)

    def list(self, project_id: str | None, page: ResourcePage | None = None) -> Sequence[Subscription]:
        with self._database.read() as uow:
            if page is None:
                return uow.subscriptions.list(project_id)
            return uow.subscriptions.page(project_id, page.limit, page.after)

    def find_newest(self, subscription_ids: Sequence[str]) -> Mapping[str, int]:
        with self._database.read() as uow:
            return uow.subscriptions.newest(subscription_ids)

    def read_messages(self, subscription_id: str, after: int | None, limit: int) -> StreamPage:
        with self._database.read() as uow:
            found = _found(uow, subscription_id)
            kept = uow.subscriptions.kept(subscription_id, after or 0, limit)
        messages = [
            StreamMessage(each.id, each.document["event"], body_of(each.id, found.id, each.document))
            for each in kept.messages
        ]
        has_missed = after is not None and after < kept.forgotten
        return StreamPage(found, messages, kept.forgotten if has_missed else 0)

    def update(self, subscription_id: str, command: UpdateSubscription, caller: Caller) -> NewSubscription:
        if command.url is not UNSET:
            self._settings.require_sendable(str(command.url))
        secret = new_secret() if command.renew_secret else None

        def work(uow: UnitOfWork) -> Subscription:
            now = self._clock.now()
            old = _found(uow, subscription_id)
            if old.capacity is not None and command.events is not UNSET:
                raise InvalidInput("A subscription to capacity has no events of leases.")
            if old.is_stream and (command.url is not UNSET or secret is not None):
                raise InvalidInput("A subscription that was made without a url has neither url nor secret.")
            changed = replace(
                old,
                name=old.name if command.name is UNSET else command.name,
                url=old.url if command.url is UNSET else command.url,
                events=old.events if command.events is UNSET else command.events,
            )
            # Another receiver has not failed yet.
            if command.resume or changed.url != old.url:
                uow.subscriptions.restart(changed.resumed(now), now)
            uow.subscriptions.save(changed, now)
            if secret is not None:
                uow.subscriptions.set_secret(subscription_id, secret)
            caller.require_time(self._clock.now())
            return _found(uow, subscription_id)

        return NewSubscription(self._database.transact(work), secret)

    def delete(self, subscription_id: str, caller: Caller) -> None:
        def work(uow: UnitOfWork) -> None:
            try:
                uow.subscriptions.remove(subscription_id)
            except Stale:
                raise SubscriptionNotFound(subscription=subscription_id) from None

        self._database.transact(work)


def _found(uow: UnitOfWork, subscription_id: str) -> Subscription:
    found = uow.subscriptions.get(subscription_id)
    if found is None:
        raise SubscriptionNotFound(subscription=subscription_id)
    return found
