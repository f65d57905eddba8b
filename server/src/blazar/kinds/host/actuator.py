"""The verbs of a host reservation in Nova: it gets an aggregate of its own, into which hosts move from the
freepool.

Each verb compares what Nova has with what the reservation's allocations say, and does only what is missing,
so that it may be repeated at any time. Names and keys are those of the wire specification, chapter 3.6;
blazarnova's filter relies on them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from blazar.domain.lease.outcome import Done, NotYet, Outcome
from blazar.domain.lease.surplus import surplus_slots
from blazar.domain.resource import Allocation
from blazar.kinds.aggregates import (
    AGGREGATE_ID,
    Freepool,
    existing_aggregate,
    known_aggregate,
    service_name,
)
from blazar.kinds.deletions import Deletions
from blazar.service.ports import Aggregate, Cloud, Compute, Server
from blazar.service.ports.kind import Work

CHECK_SERVERS_AFTER = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class HostKindSettings:
    """The names under which the operator's Nova and ours meet."""

    freepool: str = "freepool"
    availability_zone_prefix: str = "blazar_"
    owner_key: str = "blazar:owner"


class HostActuator:
    """Moves hosts between the freepool and the aggregates of reservations."""

    def __init__(self, settings: HostKindSettings) -> None:
        self._settings = settings
        self._freepool = Freepool(settings.freepool)
        self._deletions = Deletions()

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        """Move the allocated hosts into the reservation's aggregate, and others that are in it back.

        A host is emptied before it joins the aggregate, and never afterwards: its membership proves that its
        servers are the tenant's, whether the settlement that binds the allocation was written or not. A host
        that is bound and not in the aggregate was taken out by an operator; it comes back with the tenant's
        servers."""
        compute = cloud.compute
        aggregate = self._aggregate(work, compute)
        remembered = {AGGREGATE_ID: aggregate.id}
        wanted = self._hosts(work)
        surplus = sorted(set(aggregate.hosts) - set(wanted))
        freepool = self._freepool.find(compute)
        astray = freepool.hosts if freepool is not None else ()
        if not surplus and all(
            a.bound and host in aggregate.hosts and host not in astray for host, a in wanted.items()
        ):
            return Done(remembered)
        freepool = freepool or self._freepool.require(compute)
        waiting: list[str] = []
        serving: set[str] = set()
        for host, allocation in wanted.items():
            if host in aggregate.hosts:
                compute.remove_host(freepool.id, host)  # the second half of a move that a crash cut off
            elif allocation.bound:
                self._move(compute, host, freepool.id, aggregate.id)
            elif reason := self._occupied(compute, host, freepool):
                waiting.append(reason)
                continue
            else:
                self._move(compute, host, freepool.id, aggregate.id)
            serving.add(allocation.resource_id)
        busy = [host for host in surplus if not self._emptied(compute, host)]
        for host in surplus:
            if host not in busy:
                self._move(compute, host, aggregate.id, freepool.id)
        waiting += [_deleting(host) for host in busy]
        if waiting:
            freed = {i for i in surplus_slots(work.reservation) if service_name(work, i) not in busy}
            reason = "; ".join(waiting)
            return NotYet(reason, CHECK_SERVERS_AFTER, remembered, frozenset(serving), frozenset(freed))
        return Done(remembered)

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        """Delete the servers, then give the hosts back to the freepool, then remove the aggregate.

        A host that served the reservation and is not in its aggregate was taken out by an operator, who may
        use it for others by now. Of its servers only those of the lease's project are deleted. It goes back
        to the freepool unless others have servers on it.

        While Nova is at the deletion of every server that is left, one look at each host is all."""
        compute = cloud.compute
        hosts = [host for host, allocation in self._hosts(work).items() if allocation.bound]
        servers = [server for host in hosts for server in compute.servers_on(host)]
        if self._deletions.are_under_way(servers):
            busy = [host for host in hosts if any(server.host == host for server in servers)]
            return NotYet("; ".join(map(_deleting, busy)), CHECK_SERVERS_AFTER)
        aggregate = existing_aggregate(work.reservation, compute)
        members = aggregate.hosts if aggregate is not None else ()
        astray = [host for host in hosts if host not in members]
        project = work.lease.project_id
        busy = [host for host in members if not self._emptied(compute, host)]
        busy += [host for host in astray if not self._emptied(compute, host, project)]
        if busy:
            return NotYet("; ".join(map(_deleting, busy)), CHECK_SERVERS_AFTER)
        if members or astray:
            freepool = self._freepool.require(compute)
            for host in astray:
                if not compute.servers_on(host):
                    compute.add_host(freepool.id, host)
            if aggregate is not None:
                for host in members:
                    self._move(compute, host, aggregate.id, freepool.id)
        if aggregate is not None:
            compute.delete_aggregate(aggregate.id)
        return Done()

    def servers(self, work: Work, cloud: Cloud) -> list[Server]:
        """Return all servers that run on the reservation's hosts."""
        return [server for host in self._hosts(work) for server in cloud.compute.servers_on(host)]

    # parts

    def _aggregate(self, work: Work, compute: Compute) -> Aggregate:
        name, metadata = work.reservation.id, {self._settings.owner_key: work.lease.project_id}
        known = known_aggregate(work.reservation, compute)
        if known is not None and metadata.items() <= known.metadata.items():
            return known
        return compute.create_aggregate(name, self._settings.availability_zone_prefix + name, metadata)

    def _hosts(self, work: Work) -> dict[str, Allocation]:
        """Return the allocation of each compute service host."""
        return {
            str(work.resources[a.resource_id].facts["service_name"]): a
            for a in work.reservation.allocations
            if a.resource_id in work.resources
        }

    def _occupied(self, compute: Compute, host: str, freepool: Aggregate) -> str | None:
        """Return why the host cannot be taken yet; None where it is empty. Its servers are deleted where it
        is in the freepool; elsewhere an operator has put it to use, and has to decide."""
        if host in freepool.hosts:
            return None if self._emptied(compute, host) else _deleting(host)
        if compute.servers_on(host):
            return f"host {host} is not in the aggregate {freepool.name} and has servers"
        return None

    def _emptied(self, compute: Compute, host: str, project_id: str | None = None) -> bool:
        """Ask for the deletion of every server on the host, or of those of one project; true where there is
        none."""
        servers = [s for s in compute.servers_on(host) if project_id in (None, s.project_id)]
        self._deletions.ask(servers, compute)
        return not servers

    def _move(self, compute: Compute, host: str, source: int, target: int) -> None:
        # In this order the host is in both aggregates for a moment, and after a crash, but never in none of
        # them.
        compute.add_host(target, host)
        compute.remove_host(source, host)


def _deleting(host: str) -> str:
    return f"servers on host {host} are being deleted"
