"""The split of a lease: some of what it reserves becomes a lease of its own, at the same dates and on the
same resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from blazar.domain.errors import BlazarError, Busy, InvalidInput, InvalidStatus
from blazar.domain.lease import change
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation
from blazar.domain.lease.split import Halves, allotted, split, units_of
from blazar.domain.planning.demand import Grouping
from blazar.service.admission import Admission
from blazar.service.commands import RequestKey, SplitLease
from blazar.service.context import Caller
from blazar.service.enforcement import Enforcement
from blazar.service.ids import new_id
from blazar.service.leases.precondition import Precondition
from blazar.service.leases.store import LeaseStore
from blazar.service.ports import Clock, Nudge
from blazar.service.ports.kind import Kinds


class LeaseSplit:
    """The story of a split. Nothing is planned and nothing is made, so it cannot fail for a shortage."""

    def __init__(
        self,
        store: LeaseStore,
        admission: Admission,
        enforcement: Enforcement,
        kinds: Kinds,
        clock: Clock,
        nudge: Nudge,
    ) -> None:
        self._store = store
        self._admission = admission
        self._enforcement = enforcement
        self._kinds = kinds
        self._clock = clock
        self._nudge = nudge

    def split(
        self,
        lease_id: str,
        command: SplitLease,
        caller: Caller,
        expected: Precondition,
        key: RequestKey | None = None,
    ) -> Lease:
        """Return the new lease, or the one that the same request has made before. Raises InvalidStatus,
        InvalidInput, LeaseChanged, QuotaExceeded, UsageRefused."""
        part_id = new_id()  # however often it is tried, so that usage filters know it again
        of_rest, of_part = self._enforcement.of_request(caller), self._enforcement.of_request(caller)

        def attempt() -> Lease:
            caller.require_time(self._clock.now())
            old = self._store.load(lease_id)
            if (made := self._made_before(part_id, key, old, caller)) is not None:
                return made
            expected.require(old)
            rest, part = divided(old, command, part_id, self._kinds, self._clock.now())
            of_rest.check(old, rest)
            of_part.check(None, part)
            return self._store.commit_split(old, rest, part, caller, key)

        part = self._admission.until_committed(attempt, caller.deadline)
        self._nudge(part.next_due)
        return part

    def _made_before(self, part_id: str, key: RequestKey | None, old: Lease, caller: Caller) -> Lease | None:
        """Return the lease that an attempt of this request has made, or the same request before."""
        of_its_project = replace(caller, project_id=old.project_id)
        return self._store.find(part_id) or self._store.find_by_key(key, of_its_project)


def divided(
    lease: Lease, command: SplitLease, part_id: str, kinds: Kinds, now: datetime
) -> tuple[Lease, Lease]:
    """Return the lease with what stays in it, and the one with what goes. Raises InvalidStatus, InvalidInput,
    Busy."""
    _require_unbegun(lease, now)
    wanted = {each.id: each.units for each in command.reservations}
    if unknown := [each for each in wanted if lease.reservation(each) is None]:
        raise InvalidInput(
            f"Please enter valid reservation IDs. Invalid reservation IDs are: {','.join(unknown)}"
        )
    whole: set[str] = set()
    halves: dict[str, Halves] = {}
    for each in lease.reservations:
        if each.id not in wanted:
            continue
        _require_untouched(each, kinds)
        units = wanted[each.id]
        if units is None or units == units_of(each):
            whole.add(each.id)
        else:
            halves[each.id] = _halved(each, units, kinds)
    if len(whole) == len(lease.reservations):
        raise InvalidInput("Something has to stay in the lease: what goes into the other one is all of it.")
    return split(lease, whole, halves, part_id, command.name, new_id)


def _require_unbegun(lease: Lease, now: datetime) -> None:
    change.require_understood(lease)
    if lease.status is LeaseStatus.CREATING:
        raise Busy()
    if lease.status is not LeaseStatus.PENDING:
        raise InvalidStatus(reason=f"the lease is {lease.status}; it is split before it starts only.")
    if lease.interval.start <= now:
        raise InvalidStatus(reason="the lease is about to start; it is split before it starts only.")
    if lease.start_task is not None:
        raise InvalidInput("What starts with the lease needs all that it reserves.")


def _require_untouched(reservation: Reservation, kinds: Kinds) -> None:
    """Refuse a reservation for which something was made in the cloud, or is to be made in the name of its
    user: that belongs to its lease."""
    kind = kinds[reservation.resource_type]
    is_prepared = kind.preparing(None, reservation) is not None or bool(reservation.cloud_state)
    if is_prepared or kind.acts_for_user(reservation):
        raise InvalidInput(
            f"What is made in the cloud for reservation {reservation.id} of {reservation.resource_type} "
            "belongs to its lease."
        )


def _halved(reservation: Reservation, units: int, kinds: Kinds) -> Halves:
    """Return the reservation in two, each of which asks for as many units as it has. Raises InvalidInput
    where that cannot be."""
    kind, has = kinds[reservation.resource_type], units_of(reservation)
    if not 0 < units < has:
        raise InvalidInput(f"Reservation {reservation.id} has {has} units, of which {units} cannot go.")
    demand = kind.demand(reservation)
    if demand.grouping is not Grouping.ANY or demand.must_include or reservation.missing_resources:
        raise _undivided(reservation)
    stay, go = allotted(reservation.allocations, units, new_id)
    return Halves(
        replace(reservation, parameters=_of_units(reservation, has - units, kinds), allocations=stay),
        replace(
            reservation,
            id=new_id(),
            resource_id=new_id(),
            parameters=_of_units(reservation, units, kinds),
            allocations=go,
            created_at=None,
            updated_at=None,
        ),
    )


def _of_units(reservation: Reservation, units: int, kinds: Kinds) -> Mapping[str, object]:
    kind = kinds[reservation.resource_type]
    changes = kind.with_units(kind.asked(reservation), units)
    if not changes:
        raise _undivided(reservation)
    try:
        return kind.encode(kind.revise(reservation, changes))
    except BlazarError:
        raise _undivided(reservation) from None


def _undivided(reservation: Reservation) -> InvalidInput:
    return InvalidInput(
        f"Reservation {reservation.id} of {reservation.resource_type} goes as a whole, or not at all."
    )
