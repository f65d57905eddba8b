"""Which preemptible servers carry a notice: those on hosts that a lease needs soon. Those that may be
migrated are asked to move at the same time, and carry one only where they could not be moved.

The notice is a key of the server's metadata. A server that has it also has a tag, by which Nova finds it: so
the cloud itself tells what is to be taken back, whichever manager looks and whatever became of the lease.

Nothing of this changes what happens at the start. Between two looks plans move: what is written then is put
right by the next look."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.domain.lease.lease import Lease, LeaseStatus, Reservation, ReservationStatus
from blazar.domain.resource import Pool, Registration
from blazar.service.moves import Moves
from blazar.service.notifications import PREEMPTION_NOTICE, PREEMPTION_NOTICE_WITHDRAWN
from blazar.service.ports import Compute, MakesWay, Server, UnitOfWork
from blazar.service.ports.kind import Dependencies, Work
from blazar.service.works import are_enabled

LOG = logging.getLogger(__name__)
NOTICE = "blazar_notice"
"""The key of the notice in a server's metadata, and the tag of servers that have it."""
LONGEST_VALUE = 255
"""Characters of a value of metadata, as Nova takes them."""
LATE = timedelta(hours=1)
"""How long after its time a start that has not begun still counts."""
AT_ONCE = 50
"""Leases that are read together."""
CHANGEABLE = frozenset({"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED"})
"""The statuses in which Nova lets metadata and tags be changed."""
Needs = Mapping[str, datetime]
"""By compute service host, when the first lease starts that needs it."""


@dataclass(frozen=True, slots=True)
class Looked:
    """How many servers a look has given a notice, and from how many it has taken one."""

    given: int = 0
    taken: int = 0


class PreemptionNotices:
    """Gives notices, and takes them back. It is used by one thread."""

    def __init__(self, dependencies: Dependencies, notice: timedelta) -> None:
        """``notice`` is how long before the start servers are told."""
        self._database = dependencies.database
        self._cloud = dependencies.cloud
        self._kinds = dependencies.kinds
        self._clock = dependencies.clock
        self._notice = notice
        self._moves = Moves()
        self._failing: set[str | None] = set()
        """The regions whose failure is told already."""

    def look(self, check: Callable[[], None]) -> Looked:
        """Look once. ``check`` is called before each request to the cloud, and raises to end the look.

        A region whose Nova fails is left until the next look, which is told once."""
        cloud, needs = self._cloud.fenced(check), self._needs()
        looked = Looked()
        for region in (None, *cloud.regions[1:]):
            found = _Region(cloud.in_region(region).compute, needs.get(region, {}), self._moves)
            try:
                found.look()
                self._failing.discard(region)
            except (CloudUnavailable, CloudRefused) as failure:
                if region not in self._failing:
                    LOG.warning("Preemptible servers cannot be given notice: %s", failure.message)
                self._failing.add(region)
            finally:
                self._tell(region, found)
            looked = Looked(looked.given + len(found.given), looked.taken + len(found.taken))
        return looked

    def _needs(self) -> Mapping[str | None, Needs]:
        """Return by region which hosts preemptible servers must leave, for leases that start within the
        notice or are starting. The first region is None."""
        now, first = self._clock.now(), next(iter(self._cloud.regions), None)
        needs: dict[str | None, dict[str, datetime]] = defaultdict(dict)
        with self._database.read() as uow:
            ids = [
                *uow.leases.ids_with_status([LeaseStatus.STARTING]),
                *uow.leases.starting(now - LATE, now + self._notice),
            ]
        for begin in range(0, len(ids), AT_ONCE):
            with self._database.read() as uow:
                for work in self._works(uow, uow.leases.get_many(ids[begin : begin + AT_ONCE])):
                    region = work.reservation.region
                    of_region = needs[None if region == first else region]
                    start = work.lease.interval.start
                    for host in self._kinds[work.reservation.resource_type].hosts_to_clear(work):
                        of_region[host] = min(of_region.get(host, start), start)
        return needs

    def _works(self, uow: UnitOfWork, leases: Sequence[Lease]) -> Iterator[Work]:
        """Return the work of each reservation that is to start."""
        pending = [
            (lease, reservation)
            for lease in leases
            if lease.is_understood and are_enabled(lease, self._kinds)
            if lease.status in (LeaseStatus.PENDING, LeaseStatus.STARTING)
            for reservation in lease.reservations
            if reservation.status is ReservationStatus.PENDING
        ]
        ids: dict[Pool, set[str]] = defaultdict(set)
        for _, reservation in pending:
            ids[self._pool_of(reservation)].update(a.resource_id for a in reservation.allocations)
        known = {r.id: r for pool in sorted(ids) for r in uow.resources.list(pool, sorted(ids[pool]))}
        for lease, reservation in pending:
            yield Work(lease, reservation, _resources(reservation, known))

    def _pool_of(self, reservation: Reservation) -> Pool:
        return self._kinds[reservation.resource_type].pool_of(reservation)

    def _tell(self, region: str | None, found: _Region) -> None:
        told: list[tuple[str, dict[str, Any]]] = []
        for event_type, servers in (
            (PREEMPTION_NOTICE, found.given),
            (PREEMPTION_NOTICE_WITHDRAWN, found.taken),
        ):
            told += [(event_type, _payload(region, each)) for each in servers]
        if told:
            now = self._clock.now()
            self._database.transact(lambda uow: uow.outbox.put_all(told, now))


class _Region:
    """One look in one region, and what it has done, as far as it came."""

    def __init__(self, compute: Compute, needs: Needs, moves: Moves) -> None:
        self._compute = compute
        self._needs = needs
        self._moves = moves
        self.given: list[Server] = []
        """Servers with the metadata that they have now."""
        self.taken: list[Server] = []
        """Servers with the metadata that they had before."""

    def look(self) -> None:
        """Give notices, and then take them from all that are not in the way."""
        carrying = self._compute.servers_with_tag(NOTICE)
        in_the_way = set[str]()
        for host, start in sorted(self._needs.items(), key=lambda each: (each[1], each[0])):
            text = notice_of(host, start)
            found = self._compute.preemptible_servers_on(host)
            moving = self._moves.make_way(found[MakesWay.MIGRATED], host, self._compute)
            for servers in found.values():
                for server in servers:
                    in_the_way.add(server.id)
                    if server in moving:
                        continue
                    if server.metadata.get(NOTICE) != text and self._give(server, text):
                        self.given.append(replace(server, metadata={**server.metadata, NOTICE: text}))
        for server in carrying:
            if server.id not in in_the_way and self._take_back(server) and NOTICE in server.metadata:
                self.taken.append(server)

    def _give(self, server: Server, text: str) -> bool:
        """Return whether the server has the notice now. The tag comes first, so that no notice is lost."""

        def give() -> None:
            self._compute.add_server_tag(server.id, NOTICE)
            self._compute.set_server_metadata(server.id, NOTICE, text)

        return _changed(server, give)

    def _take_back(self, server: Server) -> bool:
        """Return whether the server has neither notice nor tag now."""

        def take_back() -> None:
            if NOTICE in server.metadata:
                self._compute.remove_server_metadata(server.id, NOTICE)
            self._compute.remove_server_tag(server.id, NOTICE)

        return _changed(server, take_back)


def notice_of(host: str, start: datetime) -> str:
    """Return what the metadata of a server tell; it names neither a project nor a lease."""
    told = f"is needed by a lease that starts at {start.astimezone(UTC):%Y-%m-%dT%H:%MZ}"
    room = LONGEST_VALUE - len(f"host  {told}")
    return f"host {host[:room]} {told}"


def _changed(server: Server, change: Callable[[], None]) -> bool:
    """Return whether Nova has made the change. It refuses while it is at something else: the next look tries
    again."""
    if server.status not in CHANGEABLE or server.is_being_deleted:
        return False
    try:
        change()
    except CloudRefused as refusal:
        LOG.debug("The notice of server %s is not changed yet: %s", server.id, refusal.message)
        return False
    return True


def _resources(reservation: Reservation, known: Mapping[str, Registration]) -> Mapping[str, Registration]:
    occupied = {each.resource_id for each in reservation.allocations}
    return {each: known[each] for each in sorted(occupied & known.keys())}


def _payload(region: str | None, server: Server) -> dict[str, Any]:
    return {
        "server_id": server.id,
        "project_id": server.project_id,
        "host": server.host,
        "region": region,
        "notice": server.metadata[NOTICE],
    }
