"""Duties in memory."""

from __future__ import annotations

from datetime import datetime

from blazar.adapters.memory.state import HeldDuty, State


class MemoryDuties:
    """The DutyRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def take(self, name: str, token: str, now: datetime, until: datetime, before: datetime) -> bool:
        known = self._state.duties.get(name, HeldDuty(None, None, None))
        farthest = until + (until - now)
        is_held = known.until is not None and now < known.until <= farthest and known.token != token
        is_done = known.done_at is not None and before < known.done_at <= now
        if is_held or is_done:
            return False
        self._state.duties[name] = HeldDuty(token, until, known.done_at)
        return True

    def done_at(self, name: str) -> datetime | None:
        known = self._state.duties.get(name)
        return None if known is None else known.done_at

    def extend(self, name: str, token: str, now: datetime, until: datetime) -> bool:
        known = self._state.duties.get(name)
        if known is None or known.token != token or known.until is None or known.until <= now:
            return False
        self._state.duties[name] = HeldDuty(token, until, known.done_at)
        return True

    def give_back(self, name: str, token: str, done_at: datetime | None) -> bool:
        known = self._state.duties.get(name)
        if known is None or known.token != token:
            return False
        self._state.duties[name] = HeldDuty(None, None, done_at or known.done_at)
        return True
