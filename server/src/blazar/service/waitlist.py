"""The waitlist: leases that did not fit are planned again, in their turn, when something may be free.

A walk goes through the line from its front. Each lease is promoted by what a creation does: a plan on the
calendar, quotas and usage filters, and one commit that compares. What has to wait is *ahead* of all that
follow, see ``domain.planning.line``."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from blazar.domain.calendar.snapshot import CalendarSnapshot
from blazar.domain.errors import BlazarError, Busy, CloudUnavailable, Stale, TooLate
from blazar.domain.lease import change
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.waiting import starts
from blazar.domain.planning.line import Wish
from blazar.domain.resource import Pool
from blazar.service.admission import Admission, LooksAtPlans, with_allocations
from blazar.service.calendars import Calendars
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement
from blazar.service.ids import new_id
from blazar.service.leases import LeaseSettings
from blazar.service.leases.late_binding import STEPS_IN_LINE, LateBinding, RoomMade
from blazar.service.leases.store import LeaseChange, LeaseStore
from blazar.service.notifications import LEASE_CREATE, LEASE_PROMOTED, LEASE_WAIT_TIMED_OUT
from blazar.service.objections import Objections
from blazar.service.ports import Clock, Database, Nudge, PlaceInLine

LOG = logging.getLogger(__name__)
PATIENCE = timedelta(seconds=10)
"""How long a promotion may take, with all that is asked about it."""


@dataclass(frozen=True, slots=True)
class WaitingLease:
    """A lease that waits, and its position in the whole line, from 1 on."""

    lease: Lease
    position: int


@dataclass(frozen=True, slots=True)
class LineState:
    """What a walk depends on: who waits, and what is reserved."""

    line: tuple[tuple[str, int], ...]
    """The leases and their revisions."""
    calendars: tuple[weakref.ref[CalendarSnapshot], ...]
    oldest: datetime | None
    """Since when the lease waits that has waited longest."""
    gives_up: datetime | None
    """When the first lease gives up."""


class Waitlist:
    """The use cases of the waitlist in this process, as WaitlistInterface names them, and the work on it."""

    def __init__(
        self,
        database: Database,
        store: LeaseStore,
        admission: Admission,
        calendars: Calendars,
        objections: Objections,
        enforcement: Enforcement,
        late_binding: LateBinding,
        pools: Sequence[Pool],
        clock: Clock,
        nudge: Nudge,
        settings: Callable[[], LeaseSettings],
    ) -> None:
        self._database = database
        self._store = store
        self._admission = admission
        self._calendars = calendars
        self._objections = objections
        self._enforcement = enforcement
        self._late_binding = late_binding
        self._pools = pools
        self._clock = clock
        self._nudge = nudge
        self._settings = settings

    # what users see

    def list(self, project_id: str | None) -> Sequence[WaitingLease]:
        with self._database.read() as uow:
            positions = {
                each.lease_id: position
                for position, each in enumerate(uow.waitlist.line(), 1)
                if project_id in (None, each.project_id)
            }
            found = uow.leases.get_many(list(positions))
        waiting = [WaitingLease(lease, positions[lease.id]) for lease in found if lease.waiting is not None]
        return sorted(waiting, key=lambda each: each.position)

    def get_position(self, lease_id: str) -> int | None:
        ids = [each.lease_id for each in self._line()]
        return ids.index(lease_id) + 1 if lease_id in ids else None

    # what managers do

    def state(self) -> LineState:
        """Return what a walk depends on now. Where none waits, no calendar is looked at."""
        line = self._line()
        calendars = tuple(weakref.ref(self._calendars.snapshot(pool)) for pool in self._pools if line)
        oldest = min((each.waiting.since for each in line), default=None)
        gives_up = min((each.waiting.until for each in line), default=None)
        revisions = tuple((each.lease_id, each.revision) for each in line)
        return LineState(revisions, calendars, oldest, gives_up)

    def walk(self) -> Iterator[str]:
        """Go through the line once, and promote what fits. Yield the id of each lease when it was looked at:
        the walk may be interrupted there for any time, for it compares all that it writes.

        Raises CloudUnavailable where the database does not answer."""
        ahead: list[Wish] = []
        for place in self._line():
            wish = self._look_at(place.lease_id, ahead)
            if wish is not None:
                ahead.append(wish)
            yield place.lease_id

    def _line(self) -> Sequence[PlaceInLine]:
        with self._database.read() as uow:
            return uow.waitlist.line()

    def _look_at(self, lease_id: str, ahead: Sequence[Wish]) -> Wish | None:
        """Promote the lease, or let it wait, or end its wait. Return its wish where those behind have to
        leave it what suits it."""
        caller: Caller | None = None
        wish: Wish | None = None

        def attempt() -> Wish | None:
            nonlocal caller, wish
            lease = self._store.find(lease_id)
            if lease is None or lease.status is not LeaseStatus.WAITING or lease.waiting is None:
                return None
            found = starts(lease.waiting, lease.interval, self._clock.now())
            if found is None:
                self._end(lease)
                return None
            caller = caller or self._caller(lease)
            wish = self._admission.wish(lease, found)
            return self._promote(replace(lease, interval=found.interval), lease, wish, ahead, caller)

        try:
            return self._admission.until_committed(attempt, self._clock.now() + PATIENCE)
        except (Busy, TooLate):
            return wish
        except CloudUnavailable as failure:
            if failure.fields.get("service") == "database":
                raise
            LOG.warning("Lease %s cannot be promoted now: %s", lease_id, failure)
        except BlazarError as refusal:
            # A quota or a usage filter, whose decision may be another one later.
            LOG.info("Lease %s goes on waiting: %s", lease_id, refusal)
        return None

    def _promote(
        self, moved: Lease, stored: Lease, wish: Wish, ahead: Sequence[Wish], caller: Caller
    ) -> Wish | None:
        objections = self._objections.of(moved, caller)
        # In a turn of its own: those of the project itself may be taken by its requests.
        own_turn = replace(caller, project_id=None)
        plan, is_left_to = self._admission.promotion(moved, wish, ahead, objections, own_turn)
        room = RoomMade(plan) if plan else self._room(moved, wish, ahead, objections, own_turn)
        if room is None:
            return wish if is_left_to else None
        plan = room.plan
        notification = self._settings().notification
        planned = with_allocations(change.promoted(stored, plan.interval, notification, new_id), plan)
        self._enforcement.check(None, planned, caller)
        told = (LEASE_CREATE, LEASE_PROMOTED)
        promoted = LeaseChange(
            stored,
            planned,
            plan.generations,
            room.given_back,
            notifications=told,
            replanned=room.replanned,
        )
        lease = self._store.commit(promoted, caller)
        if room.replanned:
            self._late_binding.tell(room.replanned)
        else:
            self._admission.committed(plan, lease)
        self._nudge(lease.next_due)
        LOG.info("Lease %s has waited and is promoted", lease.id, extra={"action": "promote"})
        return None

    def _room(
        self, moved: Lease, wish: Wish, ahead: Sequence[Wish], objections: LooksAtPlans, caller: Caller
    ) -> RoomMade | None:
        """Return the plan of a lease that does not fit at the first start that it may have, and what is
        planned elsewhere for it; None where there is none. Where others are ahead of it, none moves: it might
        go where they will want to be."""
        if any(not each.requests.keys().isdisjoint(wish.requests) for each in ahead):
            return None
        room = self._late_binding.find(moved.reservations, moved.interval, caller, steps=STEPS_IN_LINE)
        if room is None or objections.refusal(moved, room.plan.outline) is not None:
            return None
        return room

    def _end(self, lease: Lease) -> None:
        """End the wait of a lease that has waited long enough; another one may have done so already."""
        over = LeaseChange(lease, change.waited_in_vain(lease), notifications=(LEASE_WAIT_TIMED_OUT,))
        try:
            self._store.commit(over)
        except Stale:
            return
        LOG.info("Lease %s has waited in vain", lease.id, extra={"action": "give up"})

    def _caller(self, lease: Lease) -> Caller:
        """Return who asks: the owner, without rights in the cloud."""
        return Caller(lease.user_id, lease.project_id, deadline=self._clock.now() + PATIENCE)
