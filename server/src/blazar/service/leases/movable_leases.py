"""What is known of leases that may get other resources before they begin.

To read some hundred leases takes longer than to plan them anew, so what was read is kept for the requests
that follow. Which resources a lease has is not kept: the calendar tells it. All else may have changed since,
so what is to move is read again before it is committed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from threading import Lock
from typing import NamedTuple

from blazar.domain.lease.late_binding import may_be_replanned
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.planning.demand import Demand
from blazar.domain.planning.movable import is_same
from blazar.domain.resource import Allocation, PlannedMove, Pool
from blazar.domain.time import floor_minute
from blazar.service.leases.settings import LateBindingSettings
from blazar.service.ports import Database
from blazar.service.ports.kind import Kinds

MOST_KEPT = 10_000
"""Leases, some kilobytes each: those used last."""
AllocationsOfLeases = Mapping[str, Sequence[Allocation]]
"""By the ids of leases: what they have in a calendar."""


class _Movable(NamedTuple):
    """A reservation that may get other resources of a pool, until the lead before its start."""

    pool: Pool
    lead: timedelta
    demand: Demand
    """Without what it has."""


@dataclass(frozen=True, slots=True)
class KnownLease:
    """What is known of a lease. ``reservations`` are by their ids: None is one that keeps what it has."""

    start: datetime
    reservations: Mapping[str, _Movable | None]

    def demands(self, rows: Sequence[Allocation], pool: Pool, now: datetime) -> Iterator[Demand]:
        """Yield what may move of these allocations in the pool."""
        for id_, movable in self.reservations.items():
            own = tuple(row for row in rows if row.reservation_id == id_)
            if movable and own and movable.pool == pool and self.start >= floor_minute(now) + movable.lead:
                yield replace(movable.demand, current=own)

    def may_have(self, rows: Sequence[Allocation]) -> bool:
        """Return whether the lease has all the reservations of these allocations."""
        return self.reservations.keys() >= {row.reservation_id for row in rows}


class MovableLeases:
    """The leases that were read, for all threads of a manager."""

    def __init__(self, database: Database, kinds: Kinds, settings: LateBindingSettings) -> None:
        self._database = database
        self._kinds = kinds
        self._settings = settings
        self._known: dict[str, KnownLease] = {}
        self._lock = Lock()

    def known(self, allocations: AllocationsOfLeases) -> dict[str, KnownLease]:
        """Return what is known of the leases that have these allocations, but of those for which something is
        under way. What is not known yet is read."""
        with self._lock:
            known = {id_: self._known.pop(id_) for id_ in allocations if id_ in self._known}
            self._known |= known  # at the end: they were used last
        known = {id_: each for id_, each in known.items() if each.may_have(allocations[id_])}
        return known | self._keep(self._read(allocations.keys() - known.keys()))

    def read_again(
        self, moves: Iterable[PlannedMove], known: Mapping[str, KnownLease]
    ) -> dict[str, Lease] | None:
        """Return the leases that are to move, by their ids; None where one is not as it was known, or has not
        what the calendar says."""
        moving = [move.allocation for move in moves]
        leases = self._read({row.lease_id for row in moving})
        now_known = self._keep(leases)
        rows = {row.id: row for lease in leases for row in lease.allocations}
        for row in moving:
            if now_known.get(row.lease_id) != known[row.lease_id] or not is_same(row, rows.get(row.id)):
                return None
        return {lease.id: lease for lease in leases}

    def _read(self, lease_ids: Collection[str]) -> Sequence[Lease]:
        if not lease_ids:
            return ()
        with self._database.read() as uow:
            return uow.leases.get_many(sorted(lease_ids))

    def _keep(self, leases: Sequence[Lease]) -> dict[str, KnownLease]:
        """Keep what may move of these leases, and return it."""
        may_move = {each.id: may_be_replanned(each, each.interval.start) for each in leases}
        known = {each.id: self._known_lease(each) for each in leases if may_move[each.id]}
        with self._lock:
            for id_ in may_move:
                self._known.pop(id_, None)
            self._known |= known
            for id_ in list(islice(self._known, max(0, len(self._known) - MOST_KEPT))):
                del self._known[id_]
        return known

    def _known_lease(self, lease: Lease) -> KnownLease:
        return KnownLease(lease.interval.start, {each.id: self._movable(each) for each in lease.reservations})

    def _movable(self, reservation: Reservation) -> _Movable | None:
        kind = self._kinds.get(reservation.resource_type)
        lead = self._settings.lead_of(reservation.resource_type)
        if kind is None or lead is None or not reservation.allocations:
            return None
        demand = replace(kind.demand(reservation), current=())
        return _Movable(kind.pool_of(reservation), lead, demand)
