"""The creation of a lease: planned, reserved, and, where the cloud has to make something for it first,
confirmed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from blazar.domain.errors import InvalidInput, NotEnoughResources, QuotaExceeded, Stale, UsageRefused
from blazar.domain.lease import change
from blazar.domain.lease.displacement import DisplacedLease
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.start_task import StartTaskType
from blazar.domain.planning.plan import Plan
from blazar.domain.time import HORIZON, floor_minute
from blazar.service.admission import Admission, with_allocations
from blazar.service.commands import (
    ByDuration,
    ClaimByWish,
    CreateLease,
    PriorityWish,
    RequestKey,
    StartTaskWish,
)
from blazar.service.contention import Intent
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement
from blazar.service.ids import new_id
from blazar.service.leases.claim_by import claimed_by
from blazar.service.leases.confirm import CONFIRM_WITHIN, LeaseConfirmation
from blazar.service.leases.dates import moment_of
from blazar.service.leases.displace import Displacement, LeaseDisplacement
from blazar.service.leases.drafts import draft_reservation
from blazar.service.leases.late_binding import LateBinding, RoomMade
from blazar.service.leases.priority import prioritized
from blazar.service.leases.settings import LeaseSettings
from blazar.service.leases.store import LeaseChange, LeaseStore
from blazar.service.leases.wait import LeaseWait
from blazar.service.notifications import LEASE_CREATE
from blazar.service.objections import Objections
from blazar.service.ports import Clock, Nudge
from blazar.service.ports.kind import Kinds
from blazar.service.preparation import Preparation, Task
from blazar.service.start_requests import NewStart, StartRequests


@dataclass(frozen=True, slots=True)
class DisplacingPreview:
    """The lease as it would be made, and the leases that would give way to it."""

    lease: Lease
    displaced: tuple[DisplacedLease, ...] = ()


class LeaseCreation:
    """The story of a creation."""

    def __init__(
        self,
        store: LeaseStore,
        admission: Admission,
        preparation: Preparation,
        confirmation: LeaseConfirmation,
        kinds: Kinds,
        clock: Clock,
        nudge: Nudge,
        enforcement: Enforcement,
        objections: Objections,
        wait: LeaseWait,
        displacement: LeaseDisplacement,
        late_binding: LateBinding,
        starts: StartRequests,
    ) -> None:
        self._starts = starts
        self._wait = wait
        self._displacement = displacement
        self._late_binding = late_binding
        self._enforcement = enforcement
        self._objections = objections
        self._store = store
        self._admission = admission
        self._preparation = preparation
        self._confirmation = confirmation
        self._kinds = kinds
        self._clock = clock
        self._nudge = nudge

    def preview(
        self,
        command: CreateLease,
        caller: Caller,
        settings: LeaseSettings,
        by_duration: ByDuration | None,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
        start: StartTaskWish | None = None,
    ) -> Lease:
        """Return the lease that ``create`` would make now. Nothing is written or made."""
        return self.preview_displacing(
            command, caller, settings, by_duration, claim_by, priority, start
        ).lease

    def preview_displacing(
        self,
        command: CreateLease,
        caller: Caller,
        settings: LeaseSettings,
        by_duration: ByDuration | None,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
        start: StartTaskWish | None = None,
    ) -> DisplacingPreview:
        """Return the lease that ``create`` would make now, and those that would give way to it."""
        now = self._clock.now()
        draft = self.draft(command, caller, now, settings, by_duration)
        draft = prioritized(claimed_by(draft, claim_by, settings.claim_by), priority)
        draft = with_start(self._preparation.complete(None, draft, caller), start)
        self._starts.checked(start, draft, caller)
        task = self._task(draft, start, caller)
        self._preparation.require_rights(draft, task, caller)
        displaces = priority is not None and priority.displaces
        if displaces:
            self._displacement.require_allowed(by_duration, task)
        draft = self.in_regions(draft, by_duration, caller)
        plan, room = self._placement(draft, by_duration, caller, displaces)
        planned = placed(draft, plan, now)
        self._enforcement.preview(None, planned, caller)
        shown = self._store.preview(None, planned, caller)
        return DisplacingPreview(shown, room.leases if isinstance(room, Displacement) else ())

    def create(
        self,
        command: CreateLease,
        caller: Caller,
        settings: LeaseSettings,
        by_duration: ByDuration | None = None,
        key: RequestKey | None = None,
        wait_until: datetime | None = None,
        claim_by: ClaimByWish | None = None,
        priority: PriorityWish | None = None,
        start: StartTaskWish | None = None,
    ) -> Lease:
        """Create the lease, or return the one that the same request has created before. With ``wait_until``,
        one that does not fit waits in line. ``start`` is started with it."""
        if (existing := self._store.find_by_key(key, caller)) is not None:
            return self._confirmation.created_before(existing.id, caller)
        now = self._clock.now()
        draft = self.draft(command, caller, now, settings, by_duration)
        draft = prioritized(claimed_by(draft, claim_by, settings.claim_by), priority)
        draft = with_start(self._preparation.complete(None, draft, caller), start)
        started = self._starts.checked(start, draft, caller)
        task = self._task(draft, start, caller)
        displaces = priority is not None and priority.displaces
        if wait_until is not None:
            self._wait.require_allowed(wait_until, task)
        if displaces:
            self._displacement.require_allowed(by_duration, task)
        if task is None:
            first = draft
            try:
                lease = self._reserve(
                    first, draft, (LEASE_CREATE,), caller, by_duration, key, displaces, started
                )
            except NotEnoughResources as shortage:
                if wait_until is None:
                    raise
                draft = self.in_regions(draft, by_duration, caller)
                return self._wait.begin(
                    draft, command, by_duration, wait_until, key, caller, shortage, started
                )
        else:
            first = change.unconfirmed(task.marked(draft), now + CONFIRM_WITHIN, new_id)
            lease = self._reserve(first, draft, (), caller, by_duration, key)
        if not _is_of_this_call(lease, first):
            return self._confirmation.created_before(lease.id, caller)
        if task is not None:
            events = change.moved_events(draft, lease.interval, None, now, new_id)
            lease = self._confirmation.make_and_confirm(lease, task, events, caller, settings, started)
        self._nudge(lease.next_due)
        return lease

    def _task(self, draft: Lease, start: StartTaskWish | None, caller: Caller) -> Task | None:
        """Return what the lease needs in the cloud; a stack needs a trust of its own."""
        task = self._preparation.task(None, draft, caller)
        return Task({}) if task is None and start is not None and start.stack is not None else task

    # draft

    def draft(
        self,
        command: CreateLease,
        caller: Caller,
        now: datetime,
        settings: LeaseSettings,
        by_duration: ByDuration | None,
    ) -> Lease:
        """Return the lease as it was asked for, checked, with nothing allocated yet. One that starts as soon
        as there is enough has the first of the starts that would do."""
        if caller.project_id is None:
            raise InvalidInput("A lease belongs to a project: ask with a project-scoped token.")
        minute = floor_minute(now)
        start = moment_of(command.start, minute)
        end = moment_of(command.end, minute) if by_duration is None else start + by_duration.duration
        interval = change.check_new_interval(start, end, minute)
        if by_duration is not None and by_duration.latest_end is not None and by_duration.latest_end < end:
            raise InvalidInput("The lease cannot be over by its latest end.")
        lease_id = command.id or new_id()
        before_end = (
            change.check_before_end(floor_minute(command.before_end), interval)
            if command.before_end is not None
            else change.default_before_end(interval, settings.notification)
        )
        return Lease(
            id=lease_id,
            name=command.name,
            user_id=caller.user_id,
            project_id=caller.project_id,
            interval=interval,
            reservations=tuple(
                draft_reservation(lease_id, request, self._kinds) for request in command.reservations
            ),
            events=change.new_events(lease_id, interval, before_end, new_id),
        )

    # reserve

    def _reserve(
        self,
        lease: Lease,
        draft: Lease,
        notifications: tuple[str, ...],
        caller: Caller,
        by_duration: ByDuration | None,
        key: RequestKey | None,
        displaces: bool = False,
        start: NewStart | None = None,
    ) -> Lease:
        """Plan and insert the lease, if usage filters allow it. Return it as stored, or the lease that has
        its id or its key already. ``draft`` has the events that it has when it is confirmed."""
        check = self._enforcement.of_request(caller)
        now = self._clock.now()

        def attempt() -> Lease:
            with self._admission.intent() as intent:
                return reserve(intent)

        def reserve(intent: Intent) -> Lease:
            try:
                asked = self.in_regions(lease, by_duration, caller)
                plan, room = self._placement(asked, by_duration, caller, displaces, intent)
                planned = placed(asked, plan, now)
                events = change.moved_events(draft, plan.interval, None, now, new_id)
                check.check(None, replace(planned, events=events))
                decided = LeaseChange(
                    None, planned, plan.generations, key=key, notifications=notifications, start=start
                )
                stored = self._store.commit(_with_room(decided, room), caller)
                if room is None:
                    self._admission.committed(plan, stored)
                elif isinstance(room, Displacement):
                    self._displacement.tell(room)
                else:
                    self._late_binding.tell(room.replanned)
                return stored
            except (NotEnoughResources, UsageRefused, QuotaExceeded, Stale):
                # The id or the key is taken, or what is short or too much is what the lease has already: only
                # where the request was made before.
                existing = self._store.find(lease.id) or self._store.find_by_key(key, caller)
                if existing is None:
                    raise
                return existing

        return self._admission.until_committed(attempt, caller.deadline)

    def _placement(
        self,
        lease: Lease,
        by_duration: ByDuration | None,
        caller: Caller,
        displaces: bool,
        intent: Intent | None = None,
    ) -> tuple[Plan, RoomMade | Displacement | None]:
        """Return the plan as ``with_room`` does. Where that will not do, others may give way."""
        try:
            return self.with_room(lease, by_duration, caller, intent)
        except NotEnoughResources:
            # What is short may be what the lease has already, where the request was made before.
            if not displaces or self._store.find(lease.id) is not None:
                raise
            displacement = self._displacement.find(lease, caller)
            if displacement is None:
                raise
            return displacement.plan, displacement

    def with_room(
        self, lease: Lease, by_duration: ByDuration | None, caller: Caller, intent: Intent | None = None
    ) -> tuple[Plan, RoomMade | None]:
        """Return the plan as ``plan`` does. Where there is not enough at the dates that are asked for, or at
        the first of the starts that would do, room is made there."""
        try:
            plan = self.plan(lease, by_duration, caller, intent)
        except NotEnoughResources:
            room = self._room(lease, by_duration, caller)
            if room is None:
                raise
        else:
            room = self._room(lease, by_duration, caller) if plan.interval != lease.interval else None
            if room is None:
                return plan, None
        # Where it fits now, something has become free meanwhile.
        return room.plan, room if room.replanned else None

    def _room(self, lease: Lease, by_duration: ByDuration | None, caller: Caller) -> RoomMade | None:
        """Return the plan at the lease's dates, and what is planned elsewhere for it; None where there is
        none, and where quotas or usage filters allow none there while a later start will do."""
        room = self._late_binding.find(lease.reservations, lease.interval, caller)
        if room is None or self._latest(by_duration) is None:
            return room
        refusal = self._objections.of(lease, caller).refusal(lease, room.plan.outline)
        return room if refusal is None else None

    def plan(
        self, lease: Lease, by_duration: ByDuration | None, caller: Caller, intent: Intent | None = None
    ) -> Plan:
        """Return the plan at the lease's dates, or at the earliest ones that do. Raises NotEnoughResources,
        and QuotaExceeded or UsageRefused where these allow no start."""
        latest = self._latest(by_duration)
        if latest is None:
            return self._admission.plan(lease.reservations, lease.interval, caller, intent=intent)
        objections = self._objections.of(lease, caller)
        return self._admission.earliest(lease, latest, objections, caller)

    def in_regions(self, draft: Lease, by_duration: ByDuration | None, caller: Caller) -> Lease:
        """Return the draft with a region for each of its reservations. What other requests do meanwhile may
        change that, so it is asked again with each plan."""
        return self._admission.in_regions(draft, caller, self._latest(by_duration))

    def _latest(self, by_duration: ByDuration | None) -> datetime | None:
        """Return the latest start of a lease that starts as early as can be; None of one with a start."""
        if by_duration is None or not by_duration.earliest:
            return None
        latest = self._clock.now() + HORIZON - by_duration.duration
        if by_duration.latest_end is None:
            return latest
        return min(latest, floor_minute(by_duration.latest_end) - by_duration.duration)


def _with_room(decided: LeaseChange, room: RoomMade | Displacement | None) -> LeaseChange:
    """Return the change with what is changed for the lease beside it."""
    if room is None:
        return decided
    if isinstance(room, Displacement):
        return replace(
            decided, generations=room.generations, given_back=room.given_back, displaced=room.leases
        )
    return replace(decided, given_back=room.given_back, replanned=room.replanned)


def with_start(lease: Lease, start: StartTaskWish | None) -> Lease:
    """Return the lease with the type of what is started with it."""
    if start is None:
        return lease
    kind = StartTaskType.STACK if start.stack is not None else StartTaskType.WEBHOOK
    return replace(lease, start_task=kind.value)


def placed(lease: Lease, plan: Plan, now: datetime) -> Lease:
    """Return the lease at the plan's dates, with what the plan gives to it."""
    events = change.moved_events(lease, plan.interval, None, now, new_id)
    return with_allocations(replace(lease, interval=plan.interval, events=events), plan)


def _is_of_this_call(stored: Lease, draft: Lease) -> bool:
    """Return whether this call stored the lease, perhaps by a commit whose outcome was not known at first.
    Another call with the same lease id makes events with other ids."""
    return {event.id for event in draft.events} <= {event.id for event in stored.events}
