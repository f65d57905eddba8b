"""Deregistration of hosts, and what becomes of one that was cut off."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from blazar.domain.errors import BlazarError, NotFound, Stale
from blazar.domain.resource import Pool, Registration, declared, region_of
from blazar.kinds.registered_hosts.errors import CantDeleteHost, HostHavingServers, NoFreePool
from blazar.kinds.registered_hosts.pool import POOL, host_pools
from blazar.service.context import Caller
from blazar.service.ports import Aggregate, Clock, Cloud, Database, UnitOfWork
from blazar.service.request_cloud import for_undo, within_request

LOG = logging.getLogger(__name__)
CUT_OFF_AFTER = timedelta(minutes=2)
"""Longer than any request is under way."""


@dataclass(frozen=True, slots=True)
class Freepool:
    """The freepool by its name."""

    name: str

    def of(self, cloud: Cloud) -> Aggregate:
        """Return the aggregate. Raises NoFreePool."""
        freepool = cloud.compute.find_aggregate(self.name)
        if freepool is None:
            raise NoFreePool()
        return freepool


class Deregistration:
    """The story of a host that is given back.

    The host is made not reservable, is taken out of the freepool, and is forgotten, in this order.
    ``reservable: false`` says that a deregistration is under way. A crash or a failure may leave it so: a
    second call goes on from there, so does the registration of the host, and after a while ``finish_old``.
    """

    def __init__(self, database: Database, cloud: Cloud, clock: Clock, freepool: Freepool) -> None:
        self._database = database
        self._cloud = cloud
        self._clock = clock
        self._freepool = freepool

    def unregister(self, host_id: str, caller: Caller | None = None) -> None:
        """Give the host back. It keeps its empty provider: see Placement.remove_reservation_provider."""
        with self._database.read() as uow:
            known = existing_host(uow, host_id)
        cloud = within_request(self._cloud, caller, self._clock).in_region(known.region)
        goes_on = not known.reservable
        host = self._set_reservable(host_id, reservable=False)
        service_name = str(host.facts["service_name"])
        try:
            self._leave_freepool(service_name, goes_on, cloud)
        except HostHavingServers:
            self._set_reservable(host_id, reservable=True)  # nothing has been done yet
            raise
        except BlazarError:
            # Nova may have done what it did not answer. A host outside of the freepool stays unreservable, so
            # that no lease gets it and the next call goes on from there.
            undoing = for_undo(self._cloud).in_region(host.region)
            if service_name in self._freepool.of(undoing).hosts:
                self._set_reservable(host_id, reservable=True)
            raise
        if not self._forget(host):
            # The host was registered anew, or another deregistration was given up, while this call was under
            # way. This call may have taken the host out of the freepool after that.
            self._bring_back(host)
            raise CantDeleteHost(host=host.id, reason="It has been made reservable meanwhile.")

    def finish_old(self) -> None:
        """Finish each deregistration that was cut off after the host had left the freepool, and give up each
        other one. Several managers may do so at once.

        Raises CloudUnavailable, CloudRefused, TooLate, NoFreePool."""
        for pool in host_pools(self._cloud):
            self._finish_in(pool)

    def _finish_in(self, pool: Pool) -> None:
        before = self._clock.now() - CUT_OFF_AFTER
        with self._database.read() as uow:
            old = [host for host in uow.resources.unreservable(pool) if _is_cut_off(host, before)]
        if not old:
            return
        cloud = within_request(self._cloud, None, self._clock).in_region(region_of(pool))
        members = self._freepool.of(cloud).hosts
        for host in old:
            is_inside = str(host.facts["service_name"]) in members
            try:
                self._give_up(host) if is_inside else self._finish(host)
            except Stale:
                continue  # a request goes on from there
            end = "given up: the host is reservable again" if is_inside else "finished"
            LOG.warning("The deregistration of %s was cut off, and is %s", host.name, end)

    def _give_up(self, host: Registration) -> None:
        now = self._clock.now()
        self._database.transact(lambda uow: uow.resources.save(replace(host, reservable=True), now))

    def _finish(self, host: Registration) -> None:
        self._database.transact(lambda uow: _remove(uow, host))

    def _leave_freepool(self, service_name: str, goes_on: bool, cloud: Cloud) -> None:
        freepool = self._freepool.of(cloud)
        if goes_on and service_name not in freepool.hosts:
            # An earlier call got this far. Ordinary servers that are on the host by now are not in the way.
            return
        require_no_servers(service_name, cloud)
        cloud.compute.remove_host(freepool.id, service_name)

    def _forget(self, host: Registration) -> bool:
        """Remove the registration as it is now: its properties may have been changed meanwhile. Return false
        where it is reservable again; then it is made unreservable once more, unless leases have it."""
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> bool:
            stored = uow.resources.get(host.id)
            if stored is None:
                return True  # another call was faster
            if not stored.reservable:
                _remove(uow, stored)
            elif not _is_reserved(uow, host):
                uow.resources.save(replace(stored, reservable=False), now)
            return not stored.reservable

        return self._database.transact(commit)

    def _bring_back(self, host: Registration) -> None:
        """Put the host into the freepool, and only then let leases have it: were it the other way round, a
        failure in between would leave it to leases and to ordinary servers at once."""
        cloud = for_undo(self._cloud).in_region(host.region)
        cloud.compute.add_host(self._freepool.of(cloud).id, str(host.facts["service_name"]))
        self._set_reservable(host.id, reservable=True)

    def _set_reservable(self, host_id: str, reservable: bool) -> Registration:
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> Registration:
            host = existing_host(uow, host_id)
            if not reservable and _is_reserved(uow, host):
                raise CantDeleteHost(host=host_id, reason="The host is reserved.")
            return uow.resources.save(replace(host, reservable=reservable), now)

        return self._database.transact(commit)


def existing_host(uow: UnitOfWork, host_id: str) -> Registration:
    """Return the registration. Raises NotFound."""
    host = uow.resources.get(host_id)
    if host is None or declared(host.pool) != POOL:
        raise NotFound(object=str({"host_id": host_id}))
    return host


def require_no_servers(service_name: str, cloud: Cloud) -> None:
    """Raise HostHavingServers where servers are on the host."""
    servers = cloud.compute.servers_on(service_name)
    if servers:
        raise HostHavingServers(servers=", ".join(s.id for s in servers), host=service_name)


def _is_reserved(uow: UnitOfWork, host: Registration) -> bool:
    """Return whether a lease, an offer or a maintenance has the host: all but what bounds its lifetime."""
    found = uow.resources.allocations(host.pool, resource_ids=[host.id])
    lifetime = {row.id for row in uow.maintenances.lifetimes([host.id])} if found else set()
    return any(allocation.lease_id not in lifetime for allocation in found)


def _remove(uow: UnitOfWork, host: Registration) -> None:
    """Remove the registration, and what bounds the host's lifetime."""
    for row in uow.maintenances.lifetimes([host.id]):
        uow.maintenances.remove(row.id)
    uow.resources.remove(host.id, host.generation)


def _is_cut_off(host: Registration, before: datetime) -> bool:
    return host.updated_at is not None and host.updated_at <= before
