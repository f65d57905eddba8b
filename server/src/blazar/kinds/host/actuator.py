"""The verbs of a host reservation in Nova: it gets an aggregate of its own, into which hosts move from the
freepool.

Each verb compares what Nova has with what the reservation's allocations say, and does only what is missing,
so that it may be repeated at any time. Names and keys are those of the wire specification, chapter 3.6;
blazarnova's filter relies on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from blazar.domain.lease.outcome import Done, Outcome
from blazar.domain.lease.surplus import surplus_slots
from blazar.domain.resource import Allocation
from blazar.kinds.aggregates import (
    AGGREGATE_ID,
    NamedAggregate,
    existing_aggregate,
    known_aggregate,
    service_name,
)
from blazar.kinds.deletions import Deletions
from blazar.kinds.for_each import Failure, Results, for_each, unfinished
from blazar.kinds.host.lending import HostLending, LendingLook, LendingSettings, is_own
from blazar.kinds.host.schema import Match, lends, match_of
from blazar.kinds.preemptibles import Preemptibles
from blazar.kinds.shelving import REFUSED, Shelving
from blazar.service.ports import Aggregate, Cloud, Compute, Server
from blazar.service.ports.kind import Work


@dataclass(frozen=True, slots=True)
class HostKindSettings:
    """The names under which the operator's Nova and ours meet."""

    freepool: str = "freepool"
    availability_zone_prefix: str = "blazar_"
    owner_key: str = "blazar:owner"
    backfill: bool = False
    """Whether servers with a known end run on hosts of the freepool."""
    preemptibles_make_way: bool = False
    """Whether preemptible servers leave as their flavors say: otherwise all are deleted."""
    lending: LendingSettings | None = None
    """None where no reservation lends hosts that it does not use."""


MATCH_KEY = "blazar:match"
"""The key of an aggregate's metadata that tells the filter which servers its hosts take. One that has no such
key takes those with the hint."""
SHARED = "blazar:shared"
"""What the metadata of an aggregate have for each other project that may use the reservation, under its id.
The filter lets servers of a project in whose id is a key, whatever its value."""
CLOSED = "closed"
"""The owner of an aggregate whose hosts no project may use; no project has this id."""


@dataclass(frozen=True, slots=True)
class _Moved:
    """What came of moving hosts: those that are not where they should be, why some of them cannot be moved
    yet, and what the cloud said of others."""

    missing: Collection[str]
    waiting: Sequence[str]
    failures: Sequence[Failure]


class HostActuator:
    """Moves hosts between the freepool and the aggregates of reservations."""

    def __init__(self, settings: HostKindSettings) -> None:
        self._settings = settings
        self._freepool = NamedAggregate(settings.freepool)
        self._deletions = Deletions()
        self._bounded = Shelving(REFUSED)
        self._preemptibles = Preemptibles(settings.preemptibles_make_way)
        self._lending = HostLending(settings.lending) if settings.lending is not None else None

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        """Move the allocated hosts into the reservation's aggregate, and others that are in it back.

        A host is emptied before it joins the aggregate, and never afterwards: its membership proves that its
        servers are the tenant's, whether the settlement that binds the allocation was written or not. A host
        that is bound and not in the aggregate was taken out by an operator; it comes back with the tenant's
        servers."""
        compute = cloud.compute
        aggregate = self._aggregate(work, compute)
        wanted = self._hosts(work)
        if self._lending is not None and lends(work.reservation):
            self._lending.begin(work, wanted.keys() - set(aggregate.hosts), compute)
        remembered = {AGGREGATE_ID: aggregate.id}
        surplus = sorted(set(aggregate.hosts) - set(wanted))
        freepool = self._freepool.find(compute)
        astray = freepool.hosts if freepool is not None else ()
        if not surplus and all(
            a.bound and host in aggregate.hosts and host not in astray for host, a in wanted.items()
        ):
            return Done(remembered)
        freepool = freepool or self._freepool.require(compute)
        arriving = [host for host in wanted if host not in aggregate.hosts or host in freepool.hosts]

        def occupied(host: str) -> str | None:
            is_ours = host in aggregate.hosts or wanted[host].bound
            return None if is_ours else self._occupied(cloud, host, freepool)

        def busy(host: str) -> str | None:
            servers = compute.servers_on(host)
            return self._have_leave(host, servers, work, cloud) if servers else None

        joined = self._move(arriving, freepool, aggregate, work, compute, occupied)
        if sum(not a.bound and host not in joined.missing for host, a in wanted.items()) > 1:
            # Where several leave at once, schedulers may forget one for another, too.
            compute.refresh_aggregate(freepool)
        left = self._move(surplus, aggregate, freepool, work, compute, busy)
        failures, waiting = [*joined.failures, *left.failures], [*joined.waiting, *left.waiting]
        if not failures and not waiting:
            return Done(remembered)
        serving = frozenset(a.resource_id for host, a in wanted.items() if host not in joined.missing)
        given_up = surplus_slots(work.reservation)
        freed = frozenset(i for i in given_up if service_name(work, i) not in left.missing)
        return unfinished(failures, waiting, cloud_state=remembered, serving=serving, freed=freed)

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        """Delete the servers, then give the hosts back to the freepool, then remove the aggregate.

        A host that served the reservation and is not in its aggregate was taken out by an operator, who may
        use it for others by now. Of its servers only those of the lease's project are deleted. It goes back
        to the freepool unless others have servers on it.

        While Nova is at the deletion of every server that is left, one look at each host is all.

        Before the first look, no ordinary servers are let in any more, and none of those that the hosts are
        lent to: what is booted all the time would take the place of what is deleted."""
        compute, run_steps = cloud.compute, work.run_steps
        if match_of(work.reservation) is Match.OPEN:
            self._require_hints(work, compute)
        if self._lending is not None and lends(work.reservation):
            self._lending.end(work.reservation, compute)
        hosts = [host for host, allocation in self._hosts(work).items() if allocation.bound]
        looks = for_each(hosts, compute.servers_on, run_steps)
        servers = [server for found in looks.done.values() for server in found]
        if not looks.failures and self._deletions.are_under_way(servers):
            return unfinished([], [_deleting(host) for host, found in looks.done.items() if found])
        aggregate = existing_aggregate(work.reservation, compute)
        members = aggregate.hosts if aggregate is not None else ()
        more = for_each([host for host in members if host not in hosts], compute.servers_on, run_steps)
        found = {**looks.done, **more.done}
        asked = self._have_all_leave(found, members, work, cloud)
        failures = [*looks.failures, *more.failures, *asked.failures]
        if failures or asked.done:
            return unfinished(failures, list(asked.done.values()))
        astray = [host for host in hosts if host not in members and not found[host]]
        return self._given_back(work, compute, aggregate, astray)

    def lending(self, cloud: Cloud) -> LendingLook | None:
        """Begin a look at the hosts of reservations that lend; None where none does."""
        return self._lending.look(cloud) if self._lending is not None else None

    def servers(self, work: Work, cloud: Cloud) -> list[Server]:
        """Return all servers on the reservation's hosts that are of projects which may use it."""
        looks = self._servers(work, cloud).values()
        return [server for found in looks for server in found if is_own(server, work)]

    def used(self, work: Work, cloud: Cloud) -> int:
        """Return on how many of the reservation's hosts a project that may use them has a server."""
        looks = self._servers(work, cloud).values()
        return sum(any(is_own(server, work) for server in found) for found in looks)

    def close(self, work: Work, cloud: Cloud) -> bool:
        """Give the aggregate an owner that is no project: Nova's filter lets no new server onto its hosts."""
        aggregate, closed = existing_aggregate(work.reservation, cloud.compute), self._owner(CLOSED)
        users = users_in(aggregate)
        if aggregate is None or (closed.items() <= aggregate.metadata.items() and not users):
            return False
        cloud.compute.create_aggregate(aggregate.name, aggregate.availability_zone, closed)
        if users:
            cloud.compute.remove_metadata(aggregate.id, users)
        return True

    # parts

    def _servers(self, work: Work, cloud: Cloud) -> Mapping[str, Sequence[Server]]:
        """Return the servers on each of the reservation's hosts."""
        return for_each(self._hosts(work), cloud.compute.servers_on, work.run_steps).require()

    def _require_hints(self, work: Work, compute: Compute) -> None:
        """Let no more servers without the hint onto the reservation's hosts."""
        aggregate, closed = existing_aggregate(work.reservation, compute), {MATCH_KEY: Match.EXPLICIT.value}
        if aggregate is not None and aggregate.metadata.get(MATCH_KEY) != Match.EXPLICIT:
            compute.create_aggregate(aggregate.name, aggregate.availability_zone, closed)

    def _owner(self, project_id: str) -> Mapping[str, str]:
        return {self._settings.owner_key: project_id}

    def _aggregate(self, work: Work, compute: Compute) -> Aggregate:
        """Return the aggregate, which lets in the lease's project and those that may use it."""
        name, metadata = work.reservation.id, {**self._owner(work.lease.project_id)}
        known, match = known_aggregate(work.reservation, compute), match_of(work.reservation)
        if match is not Match.EXPLICIT or (known is not None and MATCH_KEY in known.metadata):
            metadata[MATCH_KEY] = match.value
        metadata |= dict.fromkeys(to_let_in(work, known), SHARED)
        if known is None or not metadata.items() <= known.metadata.items():
            zone = self._settings.availability_zone_prefix + name
            known = compute.create_aggregate(name, zone, metadata)
        if no_longer := [each for each in users_in(known) if each not in work.users]:
            compute.remove_metadata(known.id, no_longer)
        return known

    def _hosts(self, work: Work) -> dict[str, Allocation]:
        """Return the allocation of each compute service host."""
        return {
            str(work.resources[a.resource_id].facts["service_name"]): a
            for a in work.reservation.allocations
            if a.resource_id in work.resources
        }

    def _occupied(self, cloud: Cloud, host: str, freepool: Aggregate) -> str | None:
        """Return why the host cannot be taken yet; None where it is empty. Its servers are deleted where it
        is in the freepool; elsewhere an operator has put it to use, and has to decide."""
        if host in freepool.hosts:
            return self._making_way(cloud, host)
        if cloud.compute.servers_on(host):
            return f"host {host} is not in the aggregate {freepool.name} and has servers"
        return None

    def _making_way(self, cloud: Cloud, host: str) -> str | None:
        """Have the servers on a host of the freepool leave; None where there is none. Those with a known end
        are shelved, preemptible ones leave as their flavors say, and others are deleted."""
        compute = cloud.compute
        servers = compute.servers_on(host)
        if not servers:
            return None
        bounded = compute.bounded_servers_on(host) if self._settings.backfill else ()
        leaving = [
            *self._bounded.make_way(bounded, host, cloud),
            *self._preemptibles.kept_on(host, cloud),
        ]
        kept = {each.id for each in leaving}
        others = [each for each in servers if each.id not in kept]
        self._deletions.ask(_still_there(others, host, compute), compute)
        return _emptying(host) if kept else _deleting(host)

    def _have_leave(self, host: str, servers: Sequence[Server], work: Work, cloud: Cloud) -> str:
        """Have the servers leave the reservation's host, and return what is waited for: those that it was
        lent to as their flavors say, others are deleted."""
        is_lent = self._lending is not None and not all(is_own(server, work) for server in servers)
        leaving = self._lending.have_kept(host, cloud) if self._lending is not None and is_lent else ()
        kept = {each.id for each in leaving}
        self._deletions.ask([each for each in servers if each.id not in kept], cloud.compute)
        return _emptying(host) if kept else _deleting(host)

    def _have_all_leave(
        self, found: Mapping[str, Sequence[Server]], members: Collection[str], work: Work, cloud: Cloud
    ) -> Results[str, str]:
        """Have the servers on the hosts leave: all on the ``members`` of the aggregate, and those of the
        lease's project elsewhere. The results are of the hosts that have some."""
        project = work.lease.project_id
        unwanted = {
            host: [server for server in servers if host in members or server.project_id == project]
            for host, servers in found.items()
        }
        busy = [host for host, servers in unwanted.items() if servers]
        return for_each(
            busy, lambda host: self._have_leave(host, unwanted[host], work, cloud), work.run_steps
        )

    def _given_back(
        self, work: Work, compute: Compute, aggregate: Aggregate | None, astray: Sequence[str]
    ) -> Outcome:
        """Put the aggregate's hosts, and those that are astray, into the freepool, then remove the
        aggregate."""
        members = aggregate.hosts if aggregate is not None else ()
        if members or astray:
            freepool = self._freepool.require(compute)
            moved = self._move([*astray, *members], aggregate, freepool, work, compute)
            if moved.failures:
                return unfinished(moved.failures, [])
        if aggregate is not None:
            compute.delete_aggregate(aggregate.id)
        return Done()

    def _move(
        self,
        hosts: Sequence[str],
        source: Aggregate | None,
        target: Aggregate,
        work: Work,
        compute: Compute,
        hindrance: Callable[[str], str | None] = lambda host: None,
    ) -> _Moved:
        """Move the hosts, but for those that a ``hindrance`` keeps.

        A host joins the target before it leaves the source: it is in both for a moment, and after a crash,
        but never in none of them. Where several join at once, Nova's schedulers are told of all of them
        before any leaves, for they learn of each by itself, and may forget one for another."""

        def join(host: str) -> str | None:
            reason = hindrance(host)
            if reason is None and host not in target.hosts:
                compute.add_host(target.id, host)
            return reason

        def leave(host: str) -> None:
            if source is not None:
                compute.remove_host(source.id, host)

        joined = for_each(hosts, join, work.run_steps)
        arrived = [host for host, reason in joined.done.items() if reason is None]
        if len(arrived) > 1:
            compute.refresh_aggregate(target)
        left = for_each(arrived, leave, work.run_steps)
        waiting = [reason for reason in joined.done.values() if reason is not None]
        missing = set(hosts) - left.done.keys()
        return _Moved(missing, waiting, [*joined.failures, *left.failures])


def to_let_in(work: Work, aggregate: Aggregate | None) -> Sequence[str]:
    """Return the other projects for which the aggregate is to have a key, sorted: those that may use the
    reservation, without those that an operator lets in."""
    metadata = aggregate.metadata if aggregate is not None else {}
    return sorted(each for each in work.users if metadata.get(each, SHARED) == SHARED)


def users_in(aggregate: Aggregate | None) -> Sequence[str]:
    """Return the other projects that an aggregate lets in. What operators have put there is not ours."""
    metadata = aggregate.metadata if aggregate is not None else {}
    return sorted(key for key, value in metadata.items() if value == SHARED)


def _still_there(servers: Sequence[Server], host: str, compute: Compute) -> Sequence[Server]:
    """Return those that are on the host now: one that was shelved between two looks at it was not among those
    that are shelved, and is not to be deleted."""
    there = {each.id for each in compute.servers_on(host)} if servers else ()
    return [each for each in servers if each.id in there]


def _emptying(host: str) -> str:
    return f"servers on host {host} are being shelved or moved"


def _deleting(host: str) -> str:
    return f"servers on host {host} are being deleted"
