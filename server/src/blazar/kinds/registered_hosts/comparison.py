"""The comparison of registered hosts with the cloud: the freepool, and the providers of reservations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta
from functools import partial

from blazar.domain.resource import Pool, Registration, pool_in
from blazar.domain.time import Interval
from blazar.kinds.aggregates import all_aggregates, still_used
from blazar.kinds.registered_hosts.pool import POOL
from blazar.service.ports import Aggregate, Cloud, Difference, Look, Repair, is_reservation_id
from blazar.service.ports.kind import Dependencies

SOON = timedelta(minutes=5)
"""A host that is to be reserved within this time is left to the reservation."""
MAKE_FREEPOOL = "make it: openstack aggregate create {name}"
UNREGISTERED = "register the host, or take it out: openstack aggregate remove host {name} {host}"


class HostComparison:
    """Compares the registered hosts with the cloud."""

    def __init__(self, dependencies: Dependencies, freepool: str, zone_prefix: str) -> None:
        self._dependencies = dependencies
        self._freepool = freepool
        self._zone_prefix = zone_prefix

    def differences(self, look: Look) -> Iterator[tuple[Difference, Repair | None]]:
        """Return what differs. A host that a request is at work on meanwhile does not count."""
        before = _by_id(look)
        all_aggregates(look)  # asked for between the two readings
        providers = frozenset(look.once("providers", look.cloud.placement.reservation_providers))
        after = _by_id(look)
        hosts = [host for host in after.values() if _is_unchanged(host, before)]
        yield from self._of_freepool(look, hosts, after)
        for host in hosts:
            if host.name not in providers:
                yield _of_provider(host)

    def _of_freepool(
        self,
        look: Look,
        hosts: Sequence[Registration],
        registered: dict[str, Registration],
    ) -> Iterator[tuple[Difference, Repair | None]]:
        name, aggregates = self._freepool, all_aggregates(look)
        freepool = next((each for each in aggregates if each.name == name), None)
        if freepool is None:
            advice = MAKE_FREEPOOL.format(name=name)
            yield Difference("freepool", f"aggregate {name}", "there", "missing", advice=advice), None
            return
        inside = {*freepool.hosts, *self._reserved(aggregates)}
        outside = {host.id: host for host in hosts if _service(host) not in inside}
        for host_id in sorted(outside.keys() - self._served(list(outside), pool_in(POOL, look.region))):
            host = outside[host_id]
            difference = Difference("freepool", f"host {host.name}", f"in {name}", "in no aggregate of ours")
            yield difference, partial(self._put_back, host)
        for each in self._strangers(look, freepool, {_service(host) for host in registered.values()}):
            advice = UNREGISTERED.format(name=name, host=each)
            yield Difference("freepool", f"host {each}", "registered", f"in {name} only", advice=advice), None

    def _strangers(self, look: Look, freepool: Aggregate, registered: AbstractSet[str]) -> Sequence[str]:
        """Return the hosts in the freepool that are not registered. One that was given back after the look
        is none."""
        strangers = set(freepool.hosts) - registered
        again = look.cloud.compute.aggregate(freepool.id) if strangers else None
        return sorted(strangers & set(again.hosts if again is not None else ()))

    def _reserved(self, aggregates: Sequence[Aggregate]) -> Iterator[str]:
        """Return the hosts in the aggregates of host reservations: of leases, and of none."""
        for each in aggregates:
            if each.availability_zone == self._zone_prefix + each.name and is_reservation_id(each.name):
                yield from each.hosts

    def _served(self, host_ids: Sequence[str], pool: Pool) -> set[str]:
        """Return those of the hosts that a lease has as a whole, or soon will have."""
        now = self._dependencies.clock.now()
        soon = Interval(now, now + SOON)
        with self._dependencies.database.read() as uow:
            allocations = uow.resources.allocations(pool, resource_ids=host_ids, ending_after=now)
        return {a.resource_id for a in allocations if a.usage.whole and a.interval.overlaps(soon)}

    def _put_back(self, host: Registration, cloud: Cloud) -> str | None:
        """Put an empty host into the freepool. Where a request, a lease or a server was faster, take it out
        again: ordinary servers on a host in the freepool are deleted when a reservation gets it."""
        compute, service = cloud.compute, _service(host)
        reason = self._reason_against(host, cloud)
        freepool = compute.find_aggregate(self._freepool)
        if reason or freepool is None:
            return reason or f"there is no aggregate {self._freepool}"
        compute.add_host(freepool.id, service)
        reason = self._reason_against(host, cloud)
        if reason:
            compute.remove_host(freepool.id, service)
        return reason

    def _reason_against(self, host: Registration, cloud: Cloud) -> str | None:
        with self._dependencies.database.read() as uow:
            known = uow.resources.get(host.id)
        if known is None or not known.reservable:
            return "the host is being deregistered"
        if self._served([host.id], host.pool):
            return "a reservation is about to get the host"
        return still_used(cloud.compute.servers_on(_service(host)), f"are on host {host.name}")


def _of_provider(host: Registration) -> tuple[Difference, Repair]:
    def repair(cloud: Cloud) -> None:
        cloud.placement.ensure_reservation_provider(host.name)

    return Difference("provider", f"provider blazar_{host.name}", "there", "missing"), repair


def _by_id(look: Look) -> dict[str, Registration]:
    return {host.id: host for host in look.registered(POOL)}


def _is_unchanged(host: Registration, before: dict[str, Registration]) -> bool:
    return host.reservable and host.id in before and before[host.id].generation == host.generation


def _service(host: Registration) -> str:
    return str(host.facts["service_name"])
