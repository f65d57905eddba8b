"""Notifications in memory that were committed with what they tell and wait for the relay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from blazar.adapters.memory.state import State, through_json
from blazar.service.ports import Notice


class MemoryOutbox:
    """The Outbox of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def put(self, event_type: str, payload: Mapping[str, Any], now: datetime) -> int:
        self._state.last_notice += 1
        notice = Notice(self._state.last_notice, event_type, through_json(dict(payload)), now)
        self._state.notices[notice.id] = notice
        return notice.id

    def peek(self, limit: int) -> Sequence[Notice]:
        return [notice for _, notice in sorted(self._state.notices.items())[:limit]]

    def take(self, limit: int, now: datetime, until: datetime) -> Sequence[Notice]:
        oldest = self.peek(limit)
        farthest = until + (until - now)
        if any(now < self._state.notices_held.get(notice.id, now) <= farthest for notice in oldest):
            return []
        self._state.notices_held.update({notice.id: until for notice in oldest})
        return oldest

    def give_back(self, ids: Sequence[int]) -> None:
        for id_ in ids:
            self._state.notices_held.pop(id_, None)

    def remove(self, ids: Sequence[int]) -> None:
        for id_ in ids:
            self._state.notices.pop(id_, None)
            self._state.notices_held.pop(id_, None)

    def depth(self) -> int:
        return len(self._state.notices)
