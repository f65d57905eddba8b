"""Hosts that a reservation has and does not use: preemptible servers of other projects may run there
meanwhile.

An aggregate of its own tells the filter which hosts these are; its metadata have the reservations that lend,
with their leases. The filter lets a preemptible server onto a host only where both are so: the host is in
this aggregate, and the one reservation that has it is in the metadata. So a host that goes to another
reservation is not lent there, whatever became of the manager that should have taken it out.

Nothing is decided but in a look, which compares all hosts of a reservation with what it uses. What was cut
off is done by the next one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from blazar.domain.lease.lease import Reservation
from blazar.kinds.aggregates import NamedAggregate
from blazar.kinds.for_each import for_each
from blazar.kinds.host.schema import kept_free, lends
from blazar.kinds.preemptibles import Preemptibles
from blazar.service.ports import Aggregate, Cloud, Compute, Server, is_reservation_id
from blazar.service.ports.kind import Lent, Work

TAKEN_BACK = "by the project that has reserved it"
"""By whom the host is needed, for the metadata of servers that have to leave."""


@dataclass(frozen=True, slots=True)
class LendingSettings:
    """Where hosts that are lent are found, and how long a host has to be idle before it is."""

    aggregate: str = "lent"
    idle: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class IdleHost:
    """A host on which no server of the reservation's projects runs."""

    name: str
    others: int
    """How many servers of other projects run there."""
    is_lent: bool


def is_own(server: Server, work: Work) -> bool:
    """Return whether the server is of a project that may use the reservation, as far as Nova tells."""
    return server.project_id in (work.lease.project_id, *work.users, None)


def to_keep_free(idle: Collection[IdleHost], number: int) -> frozenset[str]:
    """Return the names of so many idle hosts that are kept free for the reservation's own projects: those
    first that are free, so that as few servers as possible have to leave."""
    chosen = sorted(idle, key=lambda each: (each.others, each.is_lent, each.name))
    return frozenset(each.name for each in chosen[:number])


class HostLending:
    """Lends hosts and takes them back. Any thread may call it, one at a time ``look``."""

    def __init__(self, settings: LendingSettings) -> None:
        self._settings = settings
        self._aggregate = NamedAggregate(settings.aggregate)
        self._preemptibles = Preemptibles(True, TAKEN_BACK)
        self._idle_since: dict[tuple[str, str], datetime] = {}
        """By reservation and host."""

    def begin(self, work: Work, arriving: Collection[str], compute: Compute) -> None:
        """Note that the reservation lends, for the looks and for the filter. None of the hosts that it gets
        is lent yet: one may still be in the aggregate for a lease that has just ended."""
        lender = {work.reservation.id: work.lease.id}
        lent = self._aggregate.find(compute)
        if lent is not None:
            for host in sorted(set(arriving) & set(lent.hosts)):
                compute.remove_host(lent.id, host)
        if lent is None or not lender.items() <= lent.metadata.items():
            compute.create_aggregate(self._settings.aggregate, None, lender)

    def end(self, reservation: Reservation, compute: Compute) -> None:
        """Let no more servers of others onto its hosts. They stay in the aggregate up to the next look."""
        lent = self._aggregate.find(compute)
        if lent is not None and reservation.id in lent.metadata:
            compute.remove_metadata(lent.id, [reservation.id])

    def look(self, cloud: Cloud) -> LendingLook | None:
        """Begin a look; None where nothing is lent."""
        lent = self._aggregate.find(cloud.compute)
        return LendingLook(lent, cloud, self) if lent is not None else None

    def has_been_idle(self, work: Work, hosts: Collection[str]) -> frozenset[str]:
        """Remember since when the hosts are idle, and return those that are so for long enough."""
        reservation_id = work.reservation.id
        self._forget({key for key in self._idle_since if key[0] == reservation_id and key[1] not in hosts})
        since = {each: self._idle_since.setdefault((reservation_id, each), work.now) for each in hosts}
        return frozenset(each for each in hosts if work.now - since[each] >= self._settings.idle)

    def forget_others(self, lenders: Collection[str]) -> None:
        """Forget what reservations have that do not lend any more."""
        self._forget({key for key in self._idle_since if key[0] not in lenders})

    def _forget(self, keys: Collection[tuple[str, str]]) -> None:
        for key in keys:
            del self._idle_since[key]

    def have_kept(self, host: str, cloud: Cloud) -> Sequence[Server]:
        """Have those servers leave the host whose flavors say that they are not deleted; return them."""
        return self._preemptibles.kept_on(host, cloud)

    def have_leave(self, others: Mapping[str, Sequence[Server]], work: Work, cloud: Cloud) -> int:
        """Have those of these servers leave, by host, that are preemptible. Return how many are still there.

        Only what was seen leaves: servers of the reservation's projects may be preemptible, too, and the host
        may have another reservation by now."""
        seen = {server.id for servers in others.values() for server in servers}
        leaving = self._preemptibles.leave(
            others, cloud, work.run_steps, lambda server: server.id in seen
        ).require()
        return sum(map(len, leaving.values()))


class LendingLook:
    """One look at the hosts of all reservations that lend, in one region."""

    def __init__(self, lent: Aggregate, cloud: Cloud, lending: HostLending) -> None:
        self._lent = lent
        self._cloud = cloud
        self._lending = lending
        self._seen: set[str] = set()
        self.lenders: Mapping[str, str] = {
            key: value for key, value in lent.metadata.items() if is_reservation_id(key)
        }

    def lend(self, work: Work) -> Lent:
        """Lend the hosts that an active reservation has not used for some time, and take back those that it
        needs. Nothing is lent where it does not want that any more. What is planned and not bound yet is left
        alone: another lease may have it still, past its end."""
        compute = self._cloud.compute
        bound = {each.resource_id for each in work.reservation.allocations if each.bound}
        hosts = sorted(
            str(each.facts["service_name"]) for id_, each in work.resources.items() if id_ in bound
        )
        self._seen.update(hosts)
        servers = for_each(hosts, compute.servers_on, work.run_steps).require()
        others = {host: [each for each in servers[host] if not is_own(each, work)] for host in hosts}
        idle = [
            IdleHost(host, len(others[host]), host in self._lent.hosts)
            for host in hosts
            if lends(work.reservation) and len(others[host]) == len(servers[host])
        ]
        lendable = {each.name for each in idle} - to_keep_free(idle, kept_free(work.reservation))
        long_idle = self._lending.has_been_idle(work, {each.name for each in idle})
        taken_back = [each for each in hosts if each in self._lent.hosts and each not in lendable]
        for host in taken_back:
            compute.remove_host(self._lent.id, host)
        busy = {host: others[host] for host in hosts if others[host] and host not in lendable}
        leaving = self._lending.have_leave(busy, work, self._cloud)
        for host in sorted(lendable & long_idle - set(self._lent.hosts)):
            compute.add_host(self._lent.id, host)
        lent = len(lendable & (long_idle | set(self._lent.hosts)))
        return Lent(lent, len(taken_back), leaving)

    def finish(self, over: Collection[str]) -> None:
        """Forget the reservations that are over, and take hosts out of the aggregate that none has that
        lends."""
        compute = self._cloud.compute
        if over:
            compute.remove_metadata(self._lent.id, sorted(over))
        for host in self._lent.hosts:
            if host not in self._seen:
                compute.remove_host(self._lent.id, host)
        self._lending.forget_others(self.lenders.keys() - over)
