"""The beginning of a wait: a lease that does not fit is stored in line, if its user wants it so, and may be
given longer."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from blazar.domain.errors import (
    InvalidInput,
    InvalidStatus,
    NotEnoughResources,
    QuotaExceeded,
    Stale,
    WaitlistFull,
)
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.waiting import Waiting, gives_up, latest_start, shortest_wait, turn_of
from blazar.domain.time import floor_minute
from blazar.service.admission import Admission
from blazar.service.commands import NOW, UNSET, ByDuration, CreateLease, RequestKey, UpdateLease
from blazar.service.context import Caller
from blazar.service.leases.precondition import Precondition
from blazar.service.leases.settings import WaitSettings
from blazar.service.leases.store import LeaseChange, LeaseStore
from blazar.service.notifications import LEASE_WAITLISTED
from blazar.service.ports import Clock, UnitOfWork
from blazar.service.preparation import Task
from blazar.service.start_requests import NewStart

HOUR = timedelta(hours=1)
WAITING_LEASES = "waiting_leases"
"""The name under which a refusal tells the limit of leases that wait at once."""
OWN_RIGHTS = (
    "This lease cannot wait: instances with an affinity, snapshots before the end, and stacks, need your own "
    "rights in the cloud at the moment when the lease is made. Ask without on_shortage."
)
ONLY_THESE = "the lease waits: only its name and on_shortage can change. Delete it, and create another one."


class LeaseWait:
    """The story of a lease that begins to wait. It is part of a creation."""

    def __init__(self, store: LeaseStore, admission: Admission, clock: Clock, settings: WaitSettings) -> None:
        self._store = store
        self._admission = admission
        self._clock = clock
        self._settings = settings

    def require_allowed(self, wait_until: datetime, task: Task | None) -> None:
        """Raise InvalidInput where a lease may not wait so long, or not at all."""
        self._require_moment(wait_until)
        if task is not None:
            raise InvalidInput(OWN_RIGHTS)

    def begin(
        self,
        draft: Lease,
        command: CreateLease,
        by_duration: ByDuration | None,
        wait_until: datetime,
        key: RequestKey | None,
        caller: Caller,
        shortage: NotEnoughResources,
        start: NewStart | None = None,
    ) -> Lease:
        """Store the lease in line. Return it as stored.

        Raises the shortage where it would be over before it could be served, or not fit if nothing else were
        reserved. Raises QuotaExceeded where too many of the project wait, WaitlistFull where there is no
        place left."""
        lease = self._waiting(draft, command, by_duration, wait_until, shortage)
        if lease is None or not self._admission.could_fit(draft, caller):
            raise shortage
        change = LeaseChange(None, lease, key=key, notifications=(LEASE_WAITLISTED,), start=start)
        return self._admission.until_committed(lambda: self._commit(change, caller), caller.deadline)

    def change(
        self,
        old: Lease,
        command: UpdateLease,
        wait_until: datetime | None,
        expected: Precondition,
        caller: Caller,
        is_preview: bool = False,
    ) -> Lease:
        """Give a waiting lease another name, or another time to wait. Raises InvalidStatus where more is
        asked for."""
        waiting = old.waiting
        if replace(command, name=UNSET) != UpdateLease() or waiting is None:
            raise InvalidStatus(reason=ONLY_THESE)
        new = old if command.name is UNSET else replace(old, name=command.name)
        if wait_until is not None:
            self._require_moment(wait_until)
            until = self._until(old, waiting, wait_until)
            new = replace(new, waiting=replace(waiting, until=until))
        if new == old:
            return old
        expected.require(old)
        return new if is_preview else self._store.commit(LeaseChange(old, new), caller)

    def _require_moment(self, wait_until: datetime) -> None:
        now, longest = self._clock.now(), self._settings.longest
        if wait_until < shortest_wait(now):
            raise InvalidInput("A lease cannot wait until a moment that is not ahead.")
        if wait_until > now + longest:
            raise InvalidInput(f"A lease may wait for at most {longest // HOUR} hours.")

    def _waiting(
        self,
        draft: Lease,
        command: CreateLease,
        by_duration: ByDuration | None,
        wait_until: datetime,
        shortage: NotEnoughResources,
    ) -> Lease | None:
        """Return the lease as it waits; None where it could not start any more."""
        now = self._clock.now()
        is_flexible = by_duration is not None and by_duration.earliest
        waiting = Waiting(
            since=now,
            until=floor_minute(wait_until),
            turn=now,
            starts_now=command.start is NOW and not is_flexible,
            is_flexible=is_flexible,
            duration=by_duration.duration if by_duration else None,
            latest_end=by_duration.latest_end if by_duration else None,
            before_end=None if command.before_end is None else floor_minute(command.before_end),
        )
        waiting = replace(waiting, until=self._until(draft, waiting, waiting.until))
        first = shortage.fields.get("first_possible_start")
        if waiting.starts_now and isinstance(first, str):
            start = datetime.fromisoformat(first)
            waiting = replace(waiting, expected=start if start <= waiting.until else None)
        if waiting.until <= now:
            return None
        return replace(draft, status=LeaseStatus.WAITING, events=(), quantities={}, waiting=waiting)

    def _until(self, lease: Lease, waiting: Waiting, wait_until: datetime) -> datetime:
        latest = None
        if waiting.is_flexible and waiting.duration is not None:
            latest = latest_start(waiting.latest_end, waiting.duration, floor_minute(self._clock.now()))
        until = floor_minute(wait_until)
        return gives_up(until, lease.interval, waiting.starts_now, waiting.duration, latest)

    def _commit(self, change: LeaseChange, caller: Caller) -> Lease:
        """Commit, or return the lease that has its id or its key already: the request was made before."""
        assert change.new is not None  # noqa: S101 - it is the lease that begins to wait
        try:
            return self._store.commit(change, caller, self._joined)
        except (QuotaExceeded, WaitlistFull, Stale):
            existing = self._store.find(change.new.id) or self._store.find_by_key(change.key, caller)
            if existing is None:
                raise
            return existing

    def _joined(self, uow: UnitOfWork, lease: Lease, now: datetime) -> Lease:
        """Return the lease with its turn. The others of the line wait from here on, so that no two of them
        count the same leases."""
        uow.waitlist.queue_up()
        line, settings = uow.waitlist.line(), self._settings
        own = sum(each.project_id == lease.project_id for each in line)
        if own >= settings.most:
            raise QuotaExceeded(WAITING_LEASES, settings.most, own, 1)
        if len(line) >= settings.places:
            raise WaitlistFull(places=settings.places)
        assert lease.waiting is not None  # noqa: S101 - it begins to wait
        return replace(lease, waiting=replace(lease.waiting, turn=turn_of(now, own)))
