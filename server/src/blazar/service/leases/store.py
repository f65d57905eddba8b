"""The store of the stories: it loads a lease, and commits what a story has decided in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain

from blazar.domain.errors import KeyReused, NotFound
from blazar.domain.lease.displacement import DisplacedLease, DisplacementEffect
from blazar.domain.lease.lease import Lease
from blazar.service.cancellations import keep_cancelled
from blazar.service.commands import RequestKey
from blazar.service.context import Caller
from blazar.service.notifications import (
    LEASE_CREATE,
    LEASE_DISPLACED,
    LEASE_MOVED,
    LEASE_UPDATE,
    payload,
    payload_of_deleted,
    tell_planned_elsewhere,
)
from blazar.service.polling import LEASE_PAUSES, until
from blazar.service.ports import (
    Clock,
    Database,
    KeptKey,
    LeasePage,
    LeaseQuery,
    LeaseRepository,
    ListPage,
    UnitOfWork,
)
from blazar.service.ports.kind import Kinds
from blazar.service.quotas import Quotas
from blazar.service.start_requests import NewStart, wake_start_task
from blazar.service.usage_reports import NO_REPORTS, UsageReports
from blazar.service.utilization import keep_ended


@dataclass(frozen=True, slots=True)
class LeaseChange:
    """The change of a lease in one transaction. Without ``old`` the lease is new; without ``new`` it is
    removed."""

    old: Lease | None
    """The lease that the decision was made on: the commit fails where it is no longer the stored one."""
    new: Lease | None
    generations: Mapping[str, int] = field(default_factory=dict)
    """The generations of the resources that the plan relies on. The commit compares them, and raises each by
    one."""
    given_back: Sequence[str] = ()
    """Ids of resources on which the lease leaves something free. Their generations are raised without
    comparison."""
    key: RequestKey | None = None
    """The key of the request that creates the lease. The commit keeps it."""
    notifications: tuple[str, ...] = ()
    """The event types of the notifications that are sent of the stored lease."""
    displaced: Sequence[DisplacedLease] = ()
    """The leases that give way to this one."""
    start: NewStart | None = None
    """What is started with the new lease."""
    replanned: Sequence[tuple[Lease, Lease]] = ()
    """Leases that get other resources to make room for this one, as they are to be and as they were read."""

    @property
    def lease_ids(self) -> tuple[str, ...]:
        """Return the ids of all leases that it changes."""
        of_this = [each.id for each in (self.old, self.new) if each is not None]
        of_others = [each.old.id for each in self.displaced], [old.id for _, old in self.replanned]
        return (*of_this, *chain(*of_others))


Settled = Callable[[UnitOfWork, Lease, datetime], Lease]
"""Returns the new lease as it is to be stored in the transaction of this moment."""


class LeaseStore:
    """The database, as the stories of leases use it."""

    def __init__(
        self,
        database: Database,
        kinds: Kinds,
        clock: Clock,
        quotas: Quotas,
        reports: UsageReports = NO_REPORTS,
    ) -> None:
        self._quotas = quotas
        self._reports = reports
        self._database = database
        self._kinds = kinds
        self._clock = clock

    def find(self, lease_id: str) -> Lease | None:
        with self._database.read() as uow:
            return uow.leases.get(lease_id)

    def find_by_key(self, key: RequestKey | None, caller: Caller) -> Lease | None:
        """Return the lease that the request with this key has created. Raises KeyReused where that was
        another request of the project, or where the lease is another project's by now."""
        if key is None or caller.project_id is None:
            return None
        with self._database.read() as uow:
            kept = uow.leases.kept_key(caller.project_id, key.name)
            lease = uow.leases.get(kept.lease_id) if kept is not None else None
        if lease is None or kept is None:
            return None
        if kept.fingerprint != key.fingerprint or lease.project_id != caller.project_id:
            raise KeyReused(key=key.name)
        return lease

    def load(self, lease_id: str) -> Lease:
        """Return the lease. Raises NotFound."""
        lease = self.find(lease_id)
        if lease is None:
            raise not_found(lease_id)
        return lease

    def list(self, project_id: str | None, page: ListPage | None) -> Sequence[Lease]:
        """Return the leases of a project, or of all projects, oldest first: all at once, or one page."""
        with self._database.read() as uow:
            return uow.leases.list(project_id) if page is None else uow.leases.page(page, project_id)

    def search(self, query: LeaseQuery) -> LeasePage:
        """Return a page of the leases that are asked for."""
        with self._database.read() as uow:
            return uow.leases.find(query)

    def preview(self, old: Lease | None, new: Lease, caller: Caller) -> Lease:
        """Return the new lease as ``commit`` would store it. Raises QuotaExceeded."""
        counted = self._quotas.counted(old, new)
        asked = self._quotas.asked_for(old, counted, caller)
        with self._database.read() as uow:
            self._quotas.preview(uow, old, counted, self._clock.now(), asked)
        return counted

    def commit(
        self, change: LeaseChange, caller: Caller | None = None, settled: Settled | None = None
    ) -> Lease:
        """Commit the change, with its notifications. Return the lease as stored, or the one that was removed.
        ``settled`` may return another new lease, by what it finds in the transaction.

        Raises Stale where the lease or a resource has changed since it was read, or its key is kept already,
        QuotaExceeded where the
        project would have more than its limits allow, CloudUnavailable where Keystone has these and does not
        tell. Raises TooLate where ``caller`` has stopped to wait for the answer: a caller that gave up may
        have asked again, and must not get two leases."""
        now = self._clock.now()
        if change.new is not None:
            change = replace(change, new=self._quotas.counted(change.old, change.new))
        asked = self._quotas.asked_for(change.old, change.new, caller)

        def work(uow: UnitOfWork) -> Lease:
            self._quotas.admit(uow, change.old, change.new, now, asked)
            uow.resources.touch(change.given_back, now, change.lease_ids)
            uow.resources.bump(change.generations, now, change.lease_ids)
            final = change
            if settled is not None and change.new is not None:
                final = replace(change, new=settled(uow, change.new, now))
            lease = _written(final, uow.leases, now)
            if change.start is not None:
                change.start.put(uow, lease, now)
            elif change.old is not None:
                wake_start_task(uow, change.old, now)
            if change.new is None:
                keep_cancelled(uow, lease, now)
            keep_ended(uow, change.old, change.new and lease, now)
            self._report(uow, change.old, change.new and lease, now)
            told = payload(lease, self._kinds) if change.new else payload_of_deleted(lease, self._kinds)
            for event_type in change.notifications:
                uow.outbox.put(event_type, told, now)
            for each in change.displaced:
                self._displace(uow, each, now)
            if change.replanned:
                uow.leases.save_all(change.replanned, now)
                tell_planned_elsewhere(uow, self._kinds, [new for new, _ in change.replanned], now)
            if caller is not None:
                caller.require_time(self._clock.now())  # as late as possible
            return lease

        return self._database.transact(work)

    def commit_split(
        self, old: Lease, rest: Lease, part: Lease, caller: Caller, key: RequestKey | None
    ) -> Lease:
        """Commit the two leases that ``old`` becomes, with their notifications. Return the new one as stored.

        What they have stays on its resources, whose generations are raised without comparison: calendars
        learn whose it is. Raises as ``commit`` does."""
        now = self._clock.now()
        rest, part = self._quotas.counted(old, rest), self._quotas.counted(None, part)
        asked = self._quotas.asked_for(None, part, caller)

        def work(uow: UnitOfWork) -> Lease:
            self._quotas.admit_half(uow, part, now, asked)
            uow.resources.touch(part.resource_ids, now, [old.id, part.id])
            stays = uow.leases.save(rest, old, now)
            made = _written(LeaseChange(None, part, key=key), uow.leases, now)
            self._reports.put(uow, old, stays, now)
            self._reports.put(uow, None, made, now)
            uow.outbox.put(LEASE_UPDATE, payload(stays, self._kinds), now)
            uow.outbox.put(LEASE_CREATE, payload(made, self._kinds), now)
            caller.require_time(self._clock.now())  # as late as possible
            return made

        return self._database.transact(work)

    def _report(self, uow: UnitOfWork, old: Lease | None, new: Lease | None, now: datetime) -> None:
        """Store what usage filters are told. A lease that changes hands ends for one project, and is new to
        the other."""
        if old is not None and new is not None and old.project_id != new.project_id:
            self._reports.put(uow, old, None, now)
            self._reports.put(uow, None, new, now)
        else:
            self._reports.put(uow, old, new, now)

    def _displace(self, uow: UnitOfWork, displaced: DisplacedLease, now: datetime) -> None:
        """Store a lease that gives way, and what its user and usage filters are told."""
        stored = uow.leases.save(displaced.new, displaced.old, now)
        self._reports.put(uow, displaced.old, stored, now)
        event_type = LEASE_MOVED if displaced.effect is DisplacementEffect.MOVES else LEASE_DISPLACED
        uow.outbox.put(event_type, payload(stored, self._kinds), now)

    def wait_until_gone(self, lease_id: str, deadline: datetime) -> None:
        """Return when the lease is removed, or at the deadline."""
        for _ in until(deadline, self._clock, LEASE_PAUSES):
            with self._database.read() as uow:
                if not uow.leases.exists(lease_id):
                    return


def not_found(lease_id: str) -> NotFound:
    return NotFound(object=str({"lease_id": lease_id}))


def _written(change: LeaseChange, leases: LeaseRepository, now: datetime) -> Lease:
    if change.new is None:
        assert change.old is not None  # noqa: S101 - a change has an old lease or a new one
        leases.remove(change.old)
        return change.old
    if change.old is not None:
        return leases.save(change.new, change.old, now)
    lease, key = leases.add(change.new, now), change.key
    if key is not None:
        leases.keep_key(KeptKey(lease.project_id, key.name, key.fingerprint, lease.id))
    return lease
