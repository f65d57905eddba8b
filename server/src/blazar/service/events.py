"""The work at an event of a lease: enter it in one transaction, act on the cloud in none, settle it in
another.

All of it may be repeated after a crash at any point: the verbs are idempotent, and a settlement is written
only by the manager whose claim on the event still holds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar, assert_never
from uuid import uuid4

from blazar.domain.errors import CloudRefused, CloudUnavailable, Stale
from blazar.domain.lease import leaving, progress, unclaimed
from blazar.domain.lease.change import was_announced, with_work
from blazar.domain.lease.event import UNCLAIMED, Event, EventStatus, EventType
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.lease.ordering import must_wait_for, shared_with
from blazar.domain.lease.outcome import Done, GiveUp, NotYet, Outcome
from blazar.domain.lease.surplus import has_surplus, only_surplus
from blazar.domain.lease.unclaimed import Finding
from blazar.domain.resource import Allocation, Registration
from blazar.service.cancellations import keep_cancelled
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.notifications import (
    DATES,
    LEASE_DEGRADED,
    LEASE_DELETE,
    LEASE_UNCLAIMED,
    LEASE_UNCLAIMED_WARNING,
    LEASE_UPDATE,
    event_notification,
    payload,
    payload_of_deleted,
)
from blazar.service.ports import ClaimedEvent, Clock, Cloud, Database, UnitOfWork
from blazar.service.ports.kind import Kind, Kinds, Work
from blazar.service.ports.steps import RunSteps, one_after_another
from blazar.service.preparation import release_trust
from blazar.service.start_requests import wake_start_task
from blazar.service.unclaimed import Watched, look
from blazar.service.usage_reports import NO_REPORTS, UsageReports
from blazar.service.utilization import keep_ended
from blazar.service.works import is_unfinished, others_of, users_of

T = TypeVar("T")
LOG = logging.getLogger(__name__)
SETTLE_ATTEMPTS = 20
TRUST = "trust"
"""Where the outcome for the lease's trust stands among those of its reservations."""
WAITING = "An earlier lease on the same resource has not ended yet."
STILL_LEAVING = "What was removed from the lease has not given back yet what is needed."
LOOKED_AT_AGAIN = timedelta(seconds=1)
"""After what time a reservation is looked at again that waits for one that leaves."""
UNCONFIRMED = timedelta(minutes=2)
"""Longer ahead than any creation that is under way is to be confirmed."""


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A claim on an event that the engine keeps alive; ``check`` raises ClaimLost when it has expired all the
    same."""

    claimed: ClaimedEvent
    check: Callable[[], None]

    @property
    def event(self) -> Event:
        return self.claimed.event


@dataclass(frozen=True, slots=True)
class _Begun:
    """A lease as it was stored when an event was entered. The verbs act on all of it, or only on its surplus
    while the rest waits for others."""

    stored: Lease
    is_shedding: bool

    @property
    def acted(self) -> Lease:
        return only_surplus(self.stored) if self.is_shedding else self.stored


class Events:
    """The use cases of events."""

    def __init__(
        self,
        database: Database,
        cloud: Cloud,
        kinds: Kinds,
        clock: Clock,
        start_retry: timedelta = timedelta(0),
        reports: UsageReports = NO_REPORTS,
        run_steps: RunSteps = one_after_another,
        warning: timedelta = unclaimed.WARNING,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        """``start_retry`` is how long a start that the cloud refuses is tried again before the lease is
        ERROR, ``run_steps`` runs the steps of verbs, ``warning`` is how long before its release an
        unused lease is warned of."""
        self._warning = warning
        self._metrics = metrics
        self._run_steps = run_steps
        self._start_retry = start_retry
        self._reports = reports
        self._database = database
        self._cloud = cloud
        self._kinds = kinds
        self._clock = clock

    def run(self, held_claim: HeldClaim) -> bool:
        """Carry the event out as far as it goes now; returns whether nothing of it waits for the cloud or for
        other leases. Raises ClaimLost where the claim was lost meanwhile."""
        begun = self._repeated(lambda _: self._enter(held_claim), held_claim)
        if begun is None:
            return False
        if held_claim.event.event_type in UNCLAIMED:
            finding = self._look(held_claim, begun.stored)
            self._repeated(
                lambda is_first: self._settle_look(held_claim, finding, begun, is_first), held_claim
            )
            return finding.use is not unclaimed.Use.UNKNOWN
        outcomes = self._act(held_claim, begun.acted)
        self._repeated(lambda is_first: self._settle(held_claim, outcomes, begun, is_first), held_claim)
        return not any(isinstance(outcome, NotYet) for outcome in outcomes.values())

    def put_off(self, held_claim: HeldClaim) -> None:
        """Try an event that met a defect again later, after all others."""
        event_id, token, now = held_claim.event.id, held_claim.claimed.token, self._clock.now()
        later = now + progress.LONGEST_RETRY
        self._database.transact(lambda uow: uow.events.put_off(event_id, token, now, later))

    def reconcile(self, held_claim: HeldClaim) -> bool:
        """Compare what an active lease has in the cloud with what it should have, and repair it. The claim is
        on the lease. Returns false where the cloud did not answer. Raises ClaimLost.

        What cannot be repaired at once becomes an event, which is repeated as others are."""
        with self._database.read() as uow:
            lease = uow.leases.get(held_claim.event.lease_id)
        outcomes: Mapping[str, Outcome] = {}
        if lease is not None and lease.is_settled:
            outcomes = self._act(held_claim, lease)
        reached = not any(isinstance(o, NotYet) and o.check_after is None for o in outcomes.values())
        self._repeated(lambda _: self._settle_reconciled(held_claim, lease, outcomes, reached), held_claim)
        return reached

    def _settle_reconciled(
        self, held_claim: HeldClaim, acted: Lease | None, outcomes: Mapping[str, Outcome], reached: bool
    ) -> None:
        now, event, token = self._clock.now(), held_claim.event, held_claim.claimed.token

        def commit(uow: UnitOfWork) -> None:
            old = uow.leases.get(event.lease_id)
            uow.events.release_claim(event.id, token, now)
            if not reached or old is None:
                return
            uow.events.mark_reconciled(event.lease_id, now)
            # What a request has changed meanwhile has an event of its own.
            if acted is not None and old.revision == acted.revision:
                new = progress.reconciled(old, event, outcomes, now, _new_id)
                if new != old:
                    uow.leases.save(new, old, now)

        self._database.transact(commit)

    def bring_forward(self) -> None:
        """Forget what a clock that was ahead has put off: retries, and our own work that was asked for by
        such a clock."""
        now = self._clock.now()
        latest = now + progress.LONGEST_RETRY
        moved = self._database.transact(lambda uow: uow.events.bring_forward(now, latest, now + UNCONFIRMED))
        if moved:
            LOG.warning("%d events were put off by a clock that was ahead; they are due again", moved)

    def _repeated(self, step: Callable[[bool], T], held_claim: HeldClaim) -> T:
        """Repeat a step that lost a race against a request for the same lease, as long as the claim holds.
        The step is told whether this is the first time."""
        for attempt in range(SETTLE_ATTEMPTS):
            held_claim.check()
            try:
                return step(attempt == 0)
            except Stale:
                self._clock.pause(0.01)
        return step(False)

    def _enter(self, held_claim: HeldClaim) -> _Begun | None:
        """Return the lease on which the event is to be carried out; None when there is nothing to do now.

        Where it must wait for others, what it has too much is taken back all the same: they may wait for
        that."""
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> _Begun | None:
            old = uow.leases.get(held_claim.event.lease_id)
            event = _event_of(old, held_claim)
            if old is None or event is None:
                return None
            step, is_shedding = progress.enter(old, event, now), False
            if isinstance(step, progress.Entered) and (wait := self._wait_for_others(uow, old, event, now)):
                is_shedding = has_surplus(old)
                step = step if is_shedding else wait
            if isinstance(step, progress.Left):
                uow.events.release_claim(event.id, held_claim.claimed.token, now)
            if step.lease != old:
                uow.leases.save(step.lease, old, now)
                self._reports.put(uow, old, step.lease, now)
                keep_ended(uow, old, step.lease, now)
                wake_start_task(uow, old, now)
            if isinstance(step, progress.Left):
                return None
            stored = replace(step.lease, revision=old.revision + 1, updated_at=now)
            return _Begun(stored, is_shedding)

        return self._database.transact(commit)

    def _wait_for_others(
        self, uow: UnitOfWork, lease: Lease, event: Event, now: datetime
    ) -> progress.Left | None:
        """Postpone the event while an earlier lease is on a resource that it takes; None where there is
        none."""
        taking = [a for a in lease.allocations if not a.bound]
        if event.event_type not in (EventType.START, EventType.CONVERGE) or not taking:
            return None
        latest = max(a.interval.start for a in taking)
        unfinished = uow.leases.unfinished_on([a.resource_id for a in taking], latest)
        shared = shared_with(taking, unfinished)
        others = must_wait_for(
            taking, unfinished, _planned(uow, shared, latest), {i: _capacity(uow, i) for i in sorted(shared)}
        )
        if not others:
            return None
        # The lease's reason is its owner's to read, who must not learn the ids of others' leases.
        told = replace(lease, status_reason=WAITING)
        reason = f"waiting for the end of lease {', '.join(sorted(others))} on the same resource"
        return progress.postpone(told, event, now + progress.waiting_pause(event, now), reason)

    def _act(self, held_claim: HeldClaim, lease: Lease) -> Mapping[str, Outcome]:
        """Bring the cloud to what the lease says, reservation by reservation."""
        cloud, event_type = self._cloud.fenced(held_claim.check), held_claim.event.event_type
        resources = self._resources_of(lease)
        outcomes: dict[str, Outcome] = {}
        if event_type in leaving.RELEASES:
            for kind, work in self._works_of(lease.leaving, lease, resources):
                outcomes[work.reservation.id] = _tried(EventType.END, kind, work, cloud)
        still_there = [each for each in lease.leaving if not isinstance(outcomes.get(each.id), Done)]
        for kind, work in self._works(event_type, lease, resources):
            outcomes[work.reservation.id] = (
                NotYet(STILL_LEAVING, LOOKED_AT_AGAIN)
                if event_type in progress.BINDING and leaving.is_hindered(work.reservation, still_there)
                else _tried(event_type, kind, work, cloud)
            )
        if event_type in progress.RELEASING and all(isinstance(o, Done) for o in outcomes.values()):
            # Last of all, for the verbs might act by it.
            outcomes[TRUST] = (
                Done() if release_trust(lease, cloud) else NotYet("the lease's trust is still there")
            )
        return outcomes

    def _works(
        self, event_type: EventType, lease: Lease, resources: Mapping[str, Registration]
    ) -> Iterator[tuple[Kind[Any], Work]]:
        """Yield what an event has to do for each reservation, and by which kind."""
        acted = [each for each in lease.reservations if progress.acts_on(event_type, each)]
        return self._works_of(acted, lease, resources)

    def _works_of(
        self, reservations: Iterable[Reservation], lease: Lease, resources: Mapping[str, Registration]
    ) -> Iterator[tuple[Kind[Any], Work]]:
        users = self._users_of(lease)
        for reservation in reservations:
            had = (*reservation.allocations, *reservation.surplus)
            occupied = {a.resource_id for a in had} & resources.keys()
            known = {i: resources[i] for i in sorted(occupied)}
            others = partial(others_of, self._database, lease, reservation)
            unfinished, now = partial(is_unfinished, self._database), self._clock.now()
            work = Work(lease, reservation, known, self._run_steps, now, others, users, unfinished)
            yield self._kinds[reservation.resource_type], work

    def _users_of(self, lease: Lease) -> tuple[str, ...]:
        """Return the other projects that may use the lease now. Where none ever could, nothing is asked."""
        if not lease.access_revision:
            return ()
        with self._database.read() as uow:
            return users_of(uow, [lease]).get(lease.id, ())

    def _look(self, held_claim: HeldClaim, lease: Lease) -> Finding:
        """Look whether the lease is used."""
        event_type = held_claim.event.event_type
        works = self._works(event_type, lease, self._resources_of(lease))
        watched = [Watched(kind, work) for kind, work in works]
        return look(event_type, watched, self._cloud.fenced(held_claim.check))

    def _settle_look(self, held_claim: HeldClaim, finding: Finding, begun: _Begun, is_first: bool) -> None:
        """Write what follows from a look. A lease that was changed since is looked at again."""
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> bool:
            old = begun.stored if is_first else uow.leases.get(held_claim.event.lease_id)
            event = _event_of(old, held_claim)
            if old is None or event is None:
                return False
            uow.events.release_claim(event.id, held_claim.claimed.token, now)
            if old.status is not LeaseStatus.ACTIVE:
                return False
            if old.revision == begun.stored.revision:
                new = unclaimed.settle(old, event, finding, now, self._warning, _new_id)
            else:
                new = unclaimed.looked_too_early(old, event, now)
            is_released = new.claim_by != old.claim_by
            wake_start_task(uow, old, now)
            if is_released:
                uow.resources.touch(old.resource_ids, now, [old.id])
            stored = uow.leases.save(new, old, now)
            self._reports.put(uow, old, stored, now)
            self._tell_unclaimed(uow, stored, event, is_released, now)
            return is_released

        if self._database.transact(commit):
            self._metrics.lease_released()
            LOG.info("The lease is unused, and is released", extra={"action": "release"})

    def _tell_unclaimed(
        self, uow: UnitOfWork, lease: Lease, event: Event, is_released: bool, now: datetime
    ) -> None:
        told = payload(lease, self._kinds)
        closing = lease.event(EventType.CLOSE_UNCLAIMED)
        if event.event_type is EventType.WARN_UNCLAIMED and closing is not None:
            told["claim_by_date"] = DATES.moment(closing.time)
            uow.outbox.put(LEASE_UNCLAIMED_WARNING, told, now)
        if is_released:
            for event_type in (LEASE_UPDATE, LEASE_UNCLAIMED):
                uow.outbox.put(event_type, told, now)

    def _resources_of(self, lease: Lease) -> Mapping[str, Registration]:
        all_of_it = (*lease.reservations, *lease.leaving)
        ids = sorted({a.resource_id for r in all_of_it for a in (*r.allocations, *r.surplus)})
        if not ids:
            return {}
        pools = {self._kinds[r.resource_type].pool_of(r) for r in all_of_it}
        with self._database.read() as uow:
            return {r.id: r for pool in sorted(pools) for r in uow.resources.list(pool, ids)}

    def _settle(
        self, held_claim: HeldClaim, outcomes: Mapping[str, Outcome], begun: _Begun, is_first: bool
    ) -> None:
        """Nearly always the lease is still as it was stored when the event was entered. Where a request has
        changed it since, the stored revision tells: Stale is raised, and the lease is read again, so that
        only what was acted on is settled."""
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> None:
            old = begun.stored if is_first else uow.leases.get(held_claim.event.lease_id)
            event = _event_of(old, held_claim)
            if old is None or event is None:
                return
            uow.events.release_claim(event.id, held_claim.claimed.token, now)
            if old.status is not progress.WHILE[event.event_type]:
                # A deletion overtook the event; its own event releases everything.
                return
            new = progress.settle(
                old, event, begun.acted, outcomes, now, self._start_retry, begun.is_shedding
            )
            stay = {a.id for a in new.allocations} if new else set()
            released = {a.resource_id for a in old.allocations if a.id not in stay}
            uow.resources.touch(sorted(released), now, [old.id])
            wake_start_task(uow, old, now)
            if new is None:
                uow.leases.remove(old)
                keep_cancelled(uow, old, now)
                if was_announced(old):
                    uow.outbox.put(LEASE_DELETE, payload_of_deleted(old, self._kinds), now)
                return
            if new.status is LeaseStatus.TERMINATED:
                new = replace(new, trust_id=None)
            if _is_started(new, event):
                new = unclaimed.started(new, now, self._warning, _new_id)
                # A reservation may have been served before the last change of who may use it.
                if new.leaving or new.access_revision:
                    new = with_work(new, EventType.CONVERGE, now, _new_id)
            stored = uow.leases.save(new, old, now)
            if stored.degraded and not old.degraded:
                uow.outbox.put(LEASE_DEGRADED, payload(stored, self._kinds), now)
            settled = next((e for e in new.events if e.id == event.id), None)
            if settled and settled.event_type.is_public and not settled.is_open:
                uow.outbox.put(event_notification(settled.event_type), payload(stored, self._kinds), now)

        self._database.transact(commit)


def _planned(uow: UnitOfWork, resource_ids: Iterable[str], moment: datetime) -> list[Allocation]:
    """Return what the calendar has on these resources at the moment."""
    registrations = (uow.resources.get(i) for i in sorted(resource_ids))
    found = (
        uow.resources.allocations(each.pool, resource_ids=[each.id], ending_after=moment)
        for each in registrations
        if each is not None
    )
    return [a for allocations in found for a in allocations if a.interval.contains(moment)]


def _capacity(uow: UnitOfWork, resource_id: str) -> Mapping[str, int]:
    registration = uow.resources.get(resource_id)
    return {name: i.capacity for name, i in registration.inventory.items()} if registration else {}


def _is_started(lease: Lease, event: Event) -> bool:
    """Return whether this event, as it was settled, has made the lease active."""
    settled = lease.event(EventType.START)
    return (
        settled is not None
        and settled.id == event.id
        and settled.status is EventStatus.DONE
        and lease.status is LeaseStatus.ACTIVE
    )


def _event_of(lease: Lease | None, held_claim: HeldClaim) -> Event | None:
    """Return the open event in the lease; None where there is none, or where only a newer version understands
    the lease: it is left to that one, and looked at again when the claim has expired."""
    if lease is None or not lease.is_understood:
        return None
    return next((e for e in lease.events if e.id == held_claim.event.id and e.is_open), None)


def _tried(event_type: EventType, kind: Kind[Any], work: Work, cloud: Cloud) -> Outcome:
    try:
        cloud = cloud.in_region(work.reservation.region)
        match event_type:
            case EventType.START | EventType.CONVERGE:
                return kind.activate(work, cloud)
            case EventType.BEFORE_END:
                return kind.before_end(work, cloud)
            case EventType.READY:
                return kind.make_ready(work, cloud)
            case EventType.END | EventType.DELETE:
                return kind.deactivate(work, cloud)
            case EventType.WARN_UNCLAIMED | EventType.CLOSE_UNCLAIMED | EventType.END_UNCLAIMED:
                raise ValueError(f"{event_type} has no verb")
            case _ as unknown:
                assert_never(unknown)
    except CloudUnavailable as failure:
        return NotYet(failure.message)
    except CloudRefused as failure:
        return GiveUp(failure.message)


def _new_id() -> str:
    return str(uuid4())
