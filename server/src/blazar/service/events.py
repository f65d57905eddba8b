"""What happens at an event of a lease: enter it in one transaction, act on the cloud in none, settle it in another.

All of it may be repeated after a crash at any point: the verbs are idempotent, and a settlement is written only by the
manager whose claim on the event still holds.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never
from uuid import uuid4

from blazar.domain import progress
from blazar.domain.change import was_announced, with_work
from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.domain.event import Event, EventStatus, EventType
from blazar.domain.lease import Lease, LeaseStatus
from blazar.domain.ordering import must_wait_for
from blazar.domain.outcome import Done, GiveUp, NotYet, Outcome
from blazar.domain.resource import Registration
from blazar.kinds.base import Kind, Work
from blazar.service.notices import LEASE_DELETE, event_notice, payload
from blazar.service.ports import ClaimedEvent, Clock, Cloud, Database, Stale, UnitOfWork
from blazar.service.preparation import release_trust

LOG = logging.getLogger(__name__)
SETTLE_ATTEMPTS = 20
TRUST = "trust"
"""Where the outcome for the lease's trust stands among those of its reservations."""
SHORTEST_WAIT = timedelta(seconds=0.2)
LONGEST_WAIT = timedelta(seconds=5)
UNCONFIRMED = timedelta(minutes=2)
"""Longer ahead than any creation that is under way is to be confirmed."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A claim on an event that the engine keeps alive; ``check`` raises ClaimLost when it has expired all the same."""

    claimed: ClaimedEvent
    check: Callable[[], None]

    @property
    def event(self) -> Event:
        return self.claimed.event


class Events:
    """The use cases of events."""

    def __init__(self, database: Database, cloud: Cloud, kinds: Mapping[str, Kind], clock: Clock) -> None:
        self._database = database
        self._cloud = cloud
        self._kinds = kinds
        self._clock = clock

    def run(self, hold: Hold) -> None:
        """Carry the event out as far as it goes now. Raises ClaimLost where the claim was lost meanwhile."""
        lease = self._repeated(lambda _: self._enter(hold), hold)
        if lease is not None:
            outcomes = self._act(hold, lease)
            self._repeated(lambda is_first: self._settle(hold, outcomes, lease if is_first else None), hold)

    def converge_all(self) -> int:
        """Have every active lease compared with the cloud and repaired; returns how many there are."""
        now = self._clock.now()

        with self._database.read() as uow:
            ids = uow.leases.ids_with_status([LeaseStatus.ACTIVE])

        def ask_for(lease_id: str) -> Callable[[UnitOfWork], None]:
            def commit(uow: UnitOfWork) -> None:
                lease = uow.leases.get(lease_id)
                if lease is not None and lease.status is LeaseStatus.ACTIVE:
                    uow.leases.save(with_work(lease, EventType.CONVERGE, now, _new_id), lease, now)

            return commit

        for lease_id in ids:
            # A lease that is being changed at this moment is looked at by whoever changes it.
            with contextlib.suppress(Stale):
                self._database.transact(ask_for(lease_id))
        return len(ids)

    def bring_forward(self) -> None:
        """Forget what a clock that was ahead has put off: retries, and our own work that was asked for by such a clock."""
        now = self._clock.now()
        latest = now + progress.LONGEST_RETRY
        moved = self._database.transact(lambda uow: uow.events.bring_forward(now, latest, now + UNCONFIRMED))
        if moved:
            LOG.warning("%d events were put off by a clock that was ahead; they are due again", moved)

    def _repeated(self, step: Callable[[bool], Lease | None], hold: Hold) -> Lease | None:
        """Repeat a step that lost a race against a request for the same lease, as long as the claim holds. The step is told
        whether this is the first time."""
        for attempt in range(SETTLE_ATTEMPTS):
            hold.check()
            try:
                return step(attempt == 0)
            except Stale:
                self._clock.pause(0.01)
        return step(False)

    def _enter(self, hold: Hold) -> Lease | None:
        """The lease on which the event is to be carried out; None when there is nothing to do now."""
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> Lease | None:
            old = uow.leases.get(hold.event.lease_id)
            event = _event_of(old, hold)
            if old is None or event is None:
                return None
            step = progress.enter(old, event, now)
            if isinstance(step, progress.Entered) and (wait := self._wait_for_others(uow, old, event, now)):
                step = wait
            if isinstance(step, progress.Left):
                uow.events.settle(event.id, hold.claimed.token, now)
            if step.lease != old:
                uow.leases.save(step.lease, old, now)
            if isinstance(step, progress.Left):
                return None
            return replace(step.lease, revision=old.revision + 1, updated_at=now)  # as it is stored now

        return self._database.transact(commit)

    def _wait_for_others(self, uow: UnitOfWork, lease: Lease, event: Event, now: datetime) -> progress.Left | None:
        """Nobody takes a resource before the one who had it has left it."""
        taking = [a for a in lease.allocations if not a.bound]
        if event.event_type not in (EventType.START, EventType.CONVERGE) or not taking:
            return None
        latest = max(a.interval.start for a in taking)
        others = must_wait_for(taking, uow.leases.unfinished_on([a.resource_id for a in taking], latest))
        if not others:
            return None
        pause = min(max((now - event.time) / 4, SHORTEST_WAIT), LONGEST_WAIT)
        reason = f"waiting for the end of lease {', '.join(sorted(others))} on the same resource"
        return progress.postpone(lease, event, now + pause, reason)

    def _act(self, hold: Hold, lease: Lease) -> Mapping[str, Outcome]:
        """Bring the cloud to what the lease says, reservation by reservation."""
        cloud = self._cloud.fenced(hold.check)
        resources = self._resources_of(lease)
        outcomes: dict[str, Outcome] = {}
        for reservation in lease.reservations:
            if progress.acts_on(hold.event.event_type, reservation):
                kind = self._kinds[reservation.resource_type]
                occupied = {a.resource_id for a in reservation.allocations} & resources.keys()
                work = Work(lease, reservation, {i: resources[i] for i in sorted(occupied)})
                outcomes[reservation.id] = _tried(hold.event.event_type, kind, work, cloud)
        if hold.event.event_type in progress.RELEASING and all(isinstance(o, Done) for o in outcomes.values()):
            # Last of all, for the verbs might act by it.
            outcomes[TRUST] = Done() if release_trust(lease, cloud) else NotYet("the lease's trust is still there")
        return outcomes

    def _resources_of(self, lease: Lease) -> Mapping[str, Registration]:
        ids = sorted({a.resource_id for a in lease.allocations})
        if not ids:
            return {}
        pools = {self._kinds[r.resource_type].pool for r in lease.reservations}
        with self._database.read() as uow:
            return {r.id: r for pool in sorted(pools) for r in uow.resources.list(pool, ids)}

    def _settle(self, hold: Hold, outcomes: Mapping[str, Outcome], known: Lease | None) -> None:
        """``known`` is the lease as it was stored when the event was entered. Nearly always it still is, and where it is not,
        the stored revision tells: Stale is raised, and it is to be read again."""
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> None:
            old = known or uow.leases.get(hold.event.lease_id)
            event = _event_of(old, hold)
            if old is None or event is None:
                return
            uow.events.settle(event.id, hold.claimed.token, now)
            if old.status is not progress.WHILE[event.event_type]:
                # A deletion overtook the event; its own event releases everything.
                return
            new = progress.settle(old, event, outcomes, now)
            released = {a.resource_id for a in old.allocations} - {
                a.resource_id for a in (new.allocations if new else ())
            }
            uow.resources.touch(sorted(released), now)
            if new is None:
                uow.leases.remove(old)
                if was_announced(old):
                    uow.outbox.put(LEASE_DELETE, payload(old, self._kinds), now)
                return
            if new.status is LeaseStatus.TERMINATED:
                new = replace(new, trust_id=None)
            uow.leases.save(new, old, now)
            settled = next(e for e in new.events if e.id == event.id)
            if settled.event_type.is_public and settled.status is EventStatus.DONE:
                uow.outbox.put(event_notice(settled.event_type), payload(new, self._kinds), now)

        self._database.transact(commit)


def _event_of(lease: Lease | None, hold: Hold) -> Event | None:
    return next((e for e in lease.events if e.id == hold.event.id and e.is_open), None) if lease else None


def _tried(event_type: EventType, kind: Kind, work: Work, cloud: Cloud) -> Outcome:
    try:
        match event_type:
            case EventType.START | EventType.CONVERGE:
                return kind.activate(work, cloud)
            case EventType.BEFORE_END:
                return kind.before_end(work, cloud)
            case EventType.END | EventType.DELETE:
                return kind.deactivate(work, cloud)
            case _ as unknown:
                assert_never(unknown)
    except CloudUnavailable as failure:
        return NotYet(failure.message)
    except CloudRefused as failure:
        return GiveUp(failure.message)


def _new_id() -> str:
    return str(uuid4())
