"""Maintenances in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from blazar.adapters.memory.state import State
from blazar.adapters.stored import allocation_key, fitting
from blazar.domain.errors import Stale
from blazar.domain.lease.maintenance import Maintenance, Purpose


class MemoryMaintenances:
    """The MaintenanceRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def get(self, maintenance_id: str) -> Maintenance | None:
        return self._state.maintenances.get(maintenance_id)

    def list(self) -> Sequence[Maintenance]:
        return sorted(self._state.maintenances.values(), key=lambda each: (each.interval.start, each.id))

    def lifetimes(self, resource_ids: Sequence[str]) -> Sequence[Maintenance]:
        asked = set(resource_ids)
        found = (
            each
            for each in self._state.maintenances.values()
            if each.purpose is Purpose.LIFETIME and not asked.isdisjoint(each.resource_ids)
        )
        return sorted(found, key=lambda each: each.id)

    def count(self, purpose: Purpose | None = None) -> int:
        return sum(purpose in (None, each.purpose) for each in self._state.maintenances.values())

    def add(self, maintenance: Maintenance, now: datetime) -> Maintenance:
        if self._state.knows(maintenance.id):
            raise Stale()
        allocations = (replace(each, created_at=now) for each in maintenance.allocations)
        stored = replace(
            maintenance,
            allocations=tuple(sorted(allocations, key=allocation_key)),
            reason=fitting(maintenance.reason),
            created_at=now,
        )
        self._state.maintenances[stored.id] = stored
        return stored

    def remove(self, maintenance_id: str) -> None:
        if self._state.maintenances.pop(maintenance_id, None) is None:
            raise Stale()

    def over(self, now: datetime) -> Sequence[Maintenance]:
        found = (each for each in self._state.maintenances.values() if each.interval.end <= now)
        return sorted(found, key=lambda each: (each.interval.end, each.id))
