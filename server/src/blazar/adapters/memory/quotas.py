"""Quotas in memory: limits of projects, and what their leases use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from blazar.adapters.memory.state import State
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.quota import Use
from blazar.domain.time import Interval

GONE = frozenset({LeaseStatus.TERMINATED, LeaseStatus.DELETING})


class MemoryQuotas:
    """The QuotaRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def queue_up(self, project_id: str) -> None:
        self._state.quota_turns[project_id] = self._state.quota_turns.get(project_id, 0) + 1

    def limits(self, project_id: str) -> Mapping[str, int]:
        return self._state.limits.get(project_id, {})

    def all_limits(self) -> Mapping[str, Mapping[str, int]]:
        return dict(sorted(self._state.limits.items()))

    def set(self, project_id: str, limits: Mapping[str, int]) -> None:
        self._put(project_id, {**self.limits(project_id), **limits})

    def unset(self, project_id: str, names: Collection[str] | None = None) -> None:
        kept = {
            n: most for n, most in self.limits(project_id).items() if names is not None and n not in names
        }
        self._put(project_id, kept)

    def leases_ahead(self, project_id: str, now: datetime) -> int:
        return sum(
            lease.project_id == project_id and lease.interval.end > now and lease.status not in GONE
            for lease in self._state.leases_and_offers()
            if not self._has_expired(lease.id, now)
        )

    def _has_expired(self, lease_id: str, now: datetime) -> bool:
        offer = self._state.offers.get(lease_id)
        return offer is not None and offer.is_over(now)

    def uses(self, project_id: str, interval: Interval, now: datetime) -> tuple[Sequence[Use], Sequence[str]]:
        found = [
            lease
            for lease in self._state.leases_and_offers()
            if lease.project_id == project_id
            and lease.status is not LeaseStatus.DELETING
            and lease.interval.overlaps(interval)
            and not self._has_expired(lease.id, now)
        ]
        known = [
            Use(each.id, each.interval, each.quantities) for each in found if each.quantities is not None
        ]
        return known, [each.id for each in found if each.quantities is None]

    def spend(self, project_id: str, use: Use) -> None:
        last = max((number for lease_id, number in self._state.spent if lease_id == use.lease_id), default=0)
        self._state.spent[use.lease_id, last + 1] = (project_id, use)

    def spent(self, project_id: str, interval: Interval) -> Sequence[Use]:
        return [
            use
            for owner, use in self._state.spent.values()
            if owner == project_id and use.interval.overlaps(interval)
        ]

    def forget_spent(self, before: datetime) -> None:
        for key, (_, use) in list(self._state.spent.items()):
            if use.interval.end <= before:
                del self._state.spent[key]

    def _put(self, project_id: str, limits: dict[str, int]) -> None:
        if limits:
            self._state.limits[project_id] = limits
        else:
            self._state.limits.pop(project_id, None)
