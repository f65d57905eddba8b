"""The programs that run, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from blazar.adapters.memory.state import State
from blazar.service.ports import Presence


class MemoryPresences:
    """The PresenceRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def put(self, presence: Presence) -> None:
        self._state.presences[presence.id] = presence

    def remove(self, id: str) -> None:
        self._state.presences.pop(id, None)

    def forget(self, before: datetime) -> None:
        for each in list(self._state.presences.values()):
            if each.seen_at < before:
                del self._state.presences[each.id]

    def list(self) -> Sequence[Presence]:
        return sorted(self._state.presences.values(), key=lambda e: (e.program, e.host, e.started_at))
