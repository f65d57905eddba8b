"""How a host reservation becomes real in Nova: an aggregate of its own, into which hosts move from the freepool.

Each verb compares what Nova has with what the reservation's allocations say, and does only what is missing, so that it may
be repeated at any time. Names and keys are those of the wire specification, chapter 3.6; blazarnova's filter relies on them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from blazar.domain.errors import CloudRefused
from blazar.domain.lease import Reservation
from blazar.domain.outcome import Done, NotYet, Outcome
from blazar.kinds.base import Work
from blazar.service.ports import Aggregate, Cloud, Compute, Server

AGGREGATE_ID = "aggregate_id"
CHECK_SERVERS_AFTER = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class HostNames:
    """The names under which the operator's Nova and ours meet."""

    freepool: str = "freepool"
    availability_zone_prefix: str = "blazar_"
    owner_key: str = "blazar:owner"


class HostActuator:
    """Moves hosts between the freepool and the aggregates of reservations."""

    def __init__(self, names: HostNames) -> None:
        self._names = names
        self._freepool: int | None = None
        self._lock = threading.Lock()

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        """Move the allocated hosts into the reservation's aggregate, and others that are in it back."""
        compute = cloud.compute
        aggregate = self._aggregate(work, compute)
        remembered = {AGGREGATE_ID: aggregate.id}
        freepool_id = self._freepool_id(compute)
        wanted = self._hosts(work)
        busy = []
        for host, bound in wanted.items():
            if bound and host in aggregate.hosts:
                continue
            # The servers of those who have the host already are theirs; any others are in the way.
            if bound or self._emptied(compute, host):
                self._move(compute, host, freepool_id, aggregate.id)
            else:
                busy.append(host)
        for host in sorted(set(aggregate.hosts) - set(wanted)):
            if self._emptied(compute, host):
                self._move(compute, host, aggregate.id, freepool_id)
            else:
                busy.append(host)
        return _being_emptied(busy, remembered) if busy else Done(remembered)

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        """Delete the servers, then give the hosts back to the freepool, then remove the aggregate."""
        compute = cloud.compute
        aggregate = self._existing(work.reservation, compute)
        members = aggregate.hosts if aggregate is not None else ()
        # Somebody may have taken hosts out of the aggregate; they are the reservation's all the same.
        astray = [host for host, bound in self._hosts(work).items() if bound and host not in members]
        busy = [host for host in (*members, *astray) if not self._emptied(compute, host)]
        if busy:
            return _being_emptied(busy, {})
        for host in astray:
            compute.add_host(self._freepool_id(compute), host)
        if aggregate is not None:
            for host in members:
                self._move(compute, host, aggregate.id, self._freepool_id(compute))
            compute.delete_aggregate(aggregate.id)
        return Done()

    def servers(self, work: Work, cloud: Cloud) -> list[Server]:
        """All that run on the reservation's hosts."""
        return [server for host in self._hosts(work) for server in cloud.compute.servers_on(host)]

    # parts

    def _aggregate(self, work: Work, compute: Compute) -> Aggregate:
        return self._existing(work.reservation, compute, by_name=False) or compute.create_aggregate(
            work.reservation.id,
            self._names.availability_zone_prefix + work.reservation.id,
            {self._names.owner_key: work.lease.project_id},
        )

    def _existing(self, reservation: Reservation, compute: Compute, by_name: bool = True) -> Aggregate | None:
        known = reservation.cloud.get(AGGREGATE_ID)
        aggregate = compute.aggregate(known) if known is not None else None
        if aggregate is not None and aggregate.name == reservation.id:
            return aggregate
        return compute.find_aggregate(reservation.id) if by_name else None

    def _hosts(self, work: Work) -> dict[str, bool]:
        """The compute service hosts that are allocated, and whether each serves the reservation already."""
        return {
            str(work.resources[a.resource_id].facts["service_name"]): a.bound
            for a in work.reservation.allocations
            if a.resource_id in work.resources
        }

    def _freepool_id(self, compute: Compute) -> int:
        with self._lock:
            if self._freepool is None:
                freepool = compute.find_aggregate(self._names.freepool)
                if freepool is None:
                    raise CloudRefused(service="Nova", reason=f"there is no aggregate {self._names.freepool}")
                self._freepool = freepool.id
            return self._freepool

    def _emptied(self, compute: Compute, host: str) -> bool:
        """Ask for the deletion of every server on the host; true where there is none."""
        servers = compute.servers_on(host)
        for server in servers:
            compute.delete_server(server.id)
        return not servers

    def _move(self, compute: Compute, host: str, source: int, target: int) -> None:
        # In this order the host is in both aggregates for a moment, and after a crash, but never in none of them.
        compute.add_host(target, host)
        compute.remove_host(source, host)


def _being_emptied(hosts: Sequence[str], cloud: Mapping[str, Any]) -> NotYet:
    return NotYet(f"servers on host {', '.join(hosts)} are being deleted", CHECK_SERVERS_AFTER, cloud)
