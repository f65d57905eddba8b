"""Calls in memory that were begun."""

from __future__ import annotations

from datetime import datetime

from blazar.adapters.memory.state import State
from blazar.domain.errors import Stale


class MemoryCalls:
    """The CallRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def begin(self, call_id: str, now: datetime) -> None:
        if call_id in self._state.calls:
            raise Stale()
        self._state.calls[call_id] = now

    def forget(self, before: datetime) -> None:
        for call_id, begun in list(self._state.calls.items()):
            if begun < before:
                del self._state.calls[call_id]
