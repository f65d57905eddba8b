"""Telling subscribers that the capacity of the next days is low, and that there is enough again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from blazar.domain.subscription import CapacityCondition, CapacityEvent, Subscription
from blazar.service.context import Caller
from blazar.service.ports import Clock, Database, Match, UnitOfWork
from blazar.service.webhooks import put

WATCHER = Caller("blazar", None, is_admin=True)
"""Who asks. What a subscriber may ask for was decided when the subscription was made."""
Least = Callable[[CapacityCondition, Caller], int | None]


class CapacityWatch:
    """Compares the capacity with the conditions of subscriptions. ``least`` tells the least that is
    available; None where it cannot tell."""

    def __init__(self, database: Database, least: Least, clock: Clock) -> None:
        self._database = database
        self._least = least
        self._clock = clock

    def look(self) -> Iterator[int]:
        """Look at each condition once, however many have it, and yield how many were told of it."""
        with self._database.read() as uow:
            found = uow.subscriptions.of_capacity()
        alike: dict[CapacityCondition, list[Subscription]] = {}
        for each in found:
            if each.capacity is not None:
                alike.setdefault(each.capacity, []).append(each)
        for condition, subscriptions in alike.items():
            least = self._least(condition, WATCHER)
            told = 0 if least is None else sum(self._tell(each, condition, least) for each in subscriptions)
            yield told

    def _tell(self, subscription: Subscription, condition: CapacityCondition, least: int) -> bool:
        """Return whether there was something to tell."""
        now = self._clock.now()
        level, event = subscription.level.seen(least >= condition.below, now)
        if level == subscription.level:
            return False

        def work(uow: UnitOfWork) -> bool:
            is_ours = uow.subscriptions.set_level(subscription, level)
            if is_ours and event is not None:
                document = _document(condition, event, least, now)
                put(uow, [subscription], [Match(subscription.id, event, document)], now)
            return is_ours and event is not None

        return self._database.transact(work)


def _document(
    condition: CapacityCondition, event: CapacityEvent, least: int, now: datetime
) -> dict[str, Any]:
    return {
        "event": event.value,
        "occurred_at": now.replace(tzinfo=None).isoformat(timespec="microseconds"),
        "capacity": {
            "minimum": least,
            "below": condition.below,
            "days": condition.days,
            "resource_type": condition.resource_type,
            "quantity": condition.quantity,
            "resource_properties": condition.resource_properties,
        },
    }
