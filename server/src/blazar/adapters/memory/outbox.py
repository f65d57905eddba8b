"""Notifications in memory that were committed with what they tell and wait for the relay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

from blazar.adapters.memory.state import State
from blazar.adapters.stored import through_json
from blazar.domain.errors import Stale
from blazar.service.ports import Notification


class MemoryOutbox:
    """The Outbox of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def put(self, event_type: str, payload: Mapping[str, Any], now: datetime) -> int:
        self._state.last_notice += 1
        notification = Notification(self._state.last_notice, event_type, through_json(dict(payload)), now)
        self._state.notifications[notification.id] = notification
        return notification.id

    def put_all(self, told: Sequence[tuple[str, Mapping[str, Any]]], now: datetime) -> None:
        for event_type, payload in told:
            self.put(event_type, payload, now)

    def peek(self, limit: int) -> Sequence[Notification]:
        delivered = self._state.notices_delivered
        waiting = (each for id_, each in sorted(self._state.notifications.items()) if id_ not in delivered)
        return list(islice(waiting, limit))

    def take(self, limit: int, now: datetime, until: datetime) -> Sequence[Notification]:
        oldest = self.peek(limit)
        farthest = until + (until - now)
        if any(
            now < self._state.notices_held.get(notification.id, now) <= farthest for notification in oldest
        ):
            return []
        self._state.notices_held.update({notification.id: until for notification in oldest})
        return oldest

    def unmatched(self, limit: int) -> Sequence[Notification]:
        waiting = [each for _, each in sorted(self._state.notifications.items()) if not each.matched]
        return waiting[:limit]

    def mark_matched(self, ids: Sequence[int]) -> None:
        for id_ in ids:
            notification = self._state.notifications.get(id_)
            if notification is None or notification.matched:
                raise Stale()
            self._state.notifications[id_] = replace(notification, matched=True)
        self.remove([id_ for id_ in ids if id_ in self._state.notices_delivered])

    def give_back(self, ids: Sequence[int]) -> None:
        for id_ in ids:
            self._state.notices_held.pop(id_, None)

    def mark_delivered(self, ids: Sequence[int]) -> None:
        there = [self._state.notifications[id_] for id_ in ids if id_ in self._state.notifications]
        self._state.notices_delivered |= {each.id: True for each in there}
        self.remove([each.id for each in there if each.matched])

    def remove(self, ids: Sequence[int]) -> None:
        for id_ in ids:
            self._state.notifications.pop(id_, None)
            self._state.notices_held.pop(id_, None)
            self._state.notices_delivered.pop(id_, None)

    def depth(self) -> int:
        return len(self._state.notifications.keys() - self._state.notices_delivered.keys())
