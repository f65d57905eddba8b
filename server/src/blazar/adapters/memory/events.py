"""The engine's view on events in memory: due events, and the claims on leases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from blazar.adapters.memory.state import LeaseClaim, State
from blazar.domain.errors import ClaimLost
from blazar.domain.lease.event import WORK, Event, EventStatus
from blazar.domain.lease.lateness import lateness
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.ordering import PRECEDENCE
from blazar.domain.lease.progress import with_event
from blazar.service.ports import ANY_NUMBER, StandingClaim


class MemoryEvents:
    """The EventRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def due(self, now: datetime, limit: int, attempts: range = ANY_NUMBER) -> Sequence[Event]:
        found = [
            event
            for event in self._open()
            if event.next_try <= now and self._is_free(event.lease_id, now) and event.attempts in attempts
        ]
        found.sort(key=lambda event: (event.next_try, PRECEDENCE[event.event_type], event.id))
        return found[:limit]

    def put_off(self, event_id: str, token: str, now: datetime, due: datetime) -> None:
        self.release_claim(event_id, token, now)
        for event in [event for event in self._open() if event.id == event_id]:
            later = replace(event, due=due, attempts=event.attempts + 1)
            self._state.leases[event.lease_id] = with_event(self._state.leases[event.lease_id], later)

    def unreconciled(self, before: datetime, now: datetime, limit: int) -> Sequence[str]:
        never: list[str] = []
        found: list[str] = []
        for lease in self._state.leases.values():
            if self._is_unreconciled(lease, before) and self._is_free(lease.id, now):
                (found if lease.id in self._state.reconciled else never).append(lease.id)
        return [*never, *sorted(found, key=self._state.reconciled.__getitem__)][:limit]

    def claim_lease(
        self, lease_id: str, token: str, now: datetime, until: datetime, before: datetime
    ) -> bool:
        lease = self._state.leases.get(lease_id)
        if lease is None or not self._is_unreconciled(lease, before) or not self._is_free(lease_id, now):
            return False
        self._state.claims[lease_id] = LeaseClaim(lease_id, token, until)
        return True

    def _is_unreconciled(self, lease: Lease, before: datetime) -> bool:
        since = self._state.reconciled.get(lease.id, lease.interval.start)
        return lease.status is LeaseStatus.ACTIVE and since <= before

    def mark_reconciled(self, lease_id: str, now: datetime) -> None:
        self._state.reconciled[lease_id] = now

    def claim(self, event_id: str, token: str, now: datetime, until: datetime) -> bool:
        event = next((event for event in self._open() if event.id == event_id), None)
        if event is None or event.next_try > now or not self._is_free(event.lease_id, now):
            return False
        self._state.claims[event.lease_id] = LeaseClaim(event_id, token, until)
        return True

    def extend(self, event_id: str, token: str, now: datetime, until: datetime) -> bool:
        lease_id = self._claimed_lease(event_id, token, now)
        if lease_id is None:
            return False
        self._state.claims[lease_id] = replace(self._state.claims[lease_id], until=until)
        return True

    def release_claim(self, event_id: str, token: str, now: datetime) -> None:
        lease_id = self._claimed_lease(event_id, token, now)
        if lease_id is None:
            raise ClaimLost(event=event_id)
        del self._state.claims[lease_id]

    def claims(self) -> Sequence[StandingClaim]:
        return [StandingClaim(lease_id, c.token, c.until) for lease_id, c in self._state.claims.items()]

    def void(self, claim: StandingClaim) -> bool:
        if claim not in self.claims():
            return False
        del self._state.claims[claim.lease_id]
        return True

    def bring_forward(self, now: datetime, retry: datetime, confirmation: datetime) -> int:
        moved: list[Event] = []
        for event in self._open():
            is_creating = self._state.leases[event.lease_id].status is LeaseStatus.CREATING
            if event.event_type in WORK and event.time > (confirmation if is_creating else now):
                moved.append(replace(event, time=now, due=None))
            elif event.next_try > retry and event.status is EventStatus.IN_PROGRESS:
                moved.append(replace(event, due=now))
            elif event.next_try > max(retry, event.time):
                moved.append(replace(event, due=None))
        for event in moved:
            self._state.leases[event.lease_id] = with_event(self._state.leases[event.lease_id], event)
        return len(moved)

    def next_due(self, now: datetime) -> datetime | None:
        return min((self._next(event, now) for event in self._open()), default=None)

    def lag(self, now: datetime) -> float:
        late = (
            lateness(event, now)
            for event in self._open()
            if event.next_try <= now and self._is_free(event.lease_id, now)
        )
        return max(0.0, max((delay.total_seconds() for delay in late), default=0.0))

    def waiting(self, now: datetime, limit: int) -> int:
        return len(self.due(now, limit))

    def _open(self) -> Iterator[Event]:
        return (event for lease in self._state.leases.values() for event in lease.events if event.is_open)

    def _is_free(self, lease_id: str, now: datetime) -> bool:
        claim = self._state.claims.get(lease_id)
        return claim is None or claim.until <= now

    def _next(self, event: Event, now: datetime) -> datetime:
        claim = self._state.claims.get(event.lease_id)
        return event.next_try if claim is None or claim.until <= now else max(event.next_try, claim.until)

    def _claimed_lease(self, event_id: str, token: str, now: datetime) -> str | None:
        for lease_id, claim in self._state.claims.items():
            if (claim.event_id, claim.token) == (event_id, token) and claim.until > now:
                return lease_id
        return None
