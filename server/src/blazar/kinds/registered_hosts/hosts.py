"""The use cases of hosts: operators register them, describe them, and give them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, count
from zlib import crc32

from blazar.domain.errors import BlazarError, Busy, CloudUnavailable, InvalidInput, OutcomeUnknown, Stale
from blazar.domain.lease.maintenance import EVERLASTING, Lifetime, check_lifetime, lifetime_row
from blazar.domain.lease.offer import Offer
from blazar.domain.resource import Pool, Registration, database_order, pool_in
from blazar.domain.time import floor_minute
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.kinds.registered_hosts.deregistration import (
    Deregistration,
    Freepool,
    existing_host,
    require_no_servers,
)
from blazar.kinds.registered_hosts.errors import (
    CantAddExtraCapability,
    HostAlreadyRegistered,
    HostNotFound,
    PropertyNotFound,
)
from blazar.kinds.registered_hosts.pool import POOL, host_pools, region_fact
from blazar.kinds.registered_hosts.views import PropertyView
from blazar.service.context import Caller
from blazar.service.ids import new_id
from blazar.service.pages import ResourcePage, resource_page
from blazar.service.polling import DATABASE_PAUSES, until
from blazar.service.ports import Clock, Cloud, Database, Hypervisor, PropertyRecord, UnitOfWork
from blazar.service.ports.kind import Kinds
from blazar.service.private_properties import RESOURCE_TYPE, shown
from blazar.service.request_cloud import PATIENCE, for_undo, within_request

FIRST_OWN_ID = 2**32
"""Nova's numbers are smaller. Clients of API 1.0 take a host's id for digits."""
ATTEMPTS = 10
"""How often an id is looked for, where other hosts get the same one at the same time."""


@dataclass(frozen=True, slots=True)
class HostSettings:
    freepool: str = "freepool"
    """The name of the aggregate of hosts in our care that are in no active reservation."""
    zone_prefix: str = "blazar_"
    """What the availability zones of host reservations begin with."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The lifetime that a host is registered with, and who has set it."""

    lifetime: Lifetime
    user_id: str

    def check(self, now: datetime) -> None:
        """Raise InvalidInput where the host would never be there."""
        check_lifetime(self.lifetime, now)
        if self.lifetime.available_until is not None and self.lifetime.available_until <= now:
            raise InvalidInput("available_until must lie in the future.")

    def store(self, uow: UnitOfWork, host: Registration, is_new: bool, now: datetime) -> None:
        """Store what takes the host away outside of its lifetime, in place of what did so before."""
        for row in () if is_new else uow.maintenances.lifetimes([host.id]):
            uow.maintenances.remove(row.id)
        found = lifetime_row(new_id(), host.id, self.lifetime, self.user_id, floor_minute(now), new_id)
        if found is not None:
            uow.maintenances.add(found, now)


class Hosts:
    """The use cases of hosts. ``kinds`` tell which properties a reservation asks for."""

    def __init__(
        self,
        database: Database,
        cloud: Cloud,
        kinds: Kinds,
        clock: Clock,
        settings: HostSettings,
    ) -> None:
        self._database = database
        self._cloud = cloud
        self._pools = host_pools(cloud)
        self._kinds = kinds
        self._clock = clock
        self._freepool = Freepool(settings.freepool)
        self._deregistration = Deregistration(database, cloud, clock, self._freepool)

    # see

    def get(self, host_id: str, caller: Caller) -> Registration:
        with self._database.read() as uow:
            (host,) = shown([existing_host(uow, host_id)], uow, caller)
            return host

    def list(self, caller: Caller, page: ResourcePage | None = None) -> Sequence[Registration]:
        with self._database.read() as uow:
            found = self._all(uow) if page is None else resource_page(uow, self._pools, page)
            return shown(found, uow, caller)

    def _all(self, uow: UnitOfWork) -> Sequence[Registration]:
        found = (host for pool in self._pools for host in uow.resources.list(pool))
        return sorted(found, key=lambda host: database_order(host.id))

    # take into care and give back

    def register(
        self, command: RegisterHost, caller: Caller | None = None, lifetime: Lifetime | None = None
    ) -> Registration:
        """Check, put the host into the freepool, then remember it: what fails half-way is undone, and may be
        repeated.

        A host whose deregistration was cut off is registered anew, with the properties of this command."""
        region = self._region(command.region)
        cloud = within_request(self._cloud, caller, self._clock).in_region(region)
        bounds = _Bounds(lifetime or EVERLASTING, caller.user_id if caller else "")
        bounds.check(floor_minute(self._clock.now()))
        hypervisor = cloud.compute.find_hypervisor(command.reference)
        if hypervisor is None:
            raise HostNotFound(host=command.reference)
        pool = pool_in(POOL, region)
        former = self._half_deregistered(pool, hypervisor)
        require_no_servers(hypervisor.service_name, cloud)
        freepool_id = self._freepool.of(cloud).id
        try:
            cloud.placement.ensure_reservation_provider(hypervisor.hypervisor_hostname)
            cloud.compute.add_host(freepool_id, hypervisor.service_name)
            described = _described(pool, hypervisor, former, command.capabilities, cloud)
            described = replace(described, facts={**described.facts, **region_fact(region, self._cloud)})
            return self._remembered(described, former, bounds, caller)
        except OutcomeUnknown:
            # The host may be registered: then it must stay in the freepool, or ordinary servers come onto it.
            raise
        except Stale:
            # Another request registered the same host a moment earlier: what the cloud has is its work now.
            raise HostAlreadyRegistered(host=hypervisor.hypervisor_hostname) from None
        except BlazarError:
            if not self._is_kept(pool, hypervisor, former):
                undoing = for_undo(self._cloud).in_region(region)
                undoing.compute.remove_host(freepool_id, hypervisor.service_name)
            raise

    def _is_kept(self, pool: Pool, hypervisor: Hypervisor, former: Registration | None) -> bool:
        """Return whether the host is to stay in the freepool although this registration has failed: another
        request has registered it meanwhile, or its deregistration was given up. Where the database does not
        tell, one that was registered before stays."""
        try:
            known = self._registered(pool, hypervisor.hypervisor_hostname, hypervisor.uuid)
        except (Busy, CloudUnavailable):
            return former is not None
        return any(host.reservable for host in known)

    def _region(self, name: str | None) -> str | None:
        """Return the region of this name; None is the first one. Raises InvalidInput."""
        regions = self._cloud.regions
        if name is None or name == next(iter(regions), None):
            return None
        if name not in regions:
            there = f"there are {', '.join(regions)}" if regions else "this service has no regions"
            raise InvalidInput(f"There is no region {name}: {there}.")
        return name

    def _half_deregistered(self, pool: Pool, hypervisor: Hypervisor) -> Registration | None:
        """Return the registration of the hypervisor where its deregistration was cut off. Raises
        HostAlreadyRegistered."""
        name = hypervisor.hypervisor_hostname
        known = self._registered(pool, name, hypervisor.uuid)
        if not known:
            return None
        if any(host.name != name or host.reservable for host in known):
            raise HostAlreadyRegistered(host=name)
        return known[0]

    def _registered(self, pool: Pool, name: str, cloud_id: str | None) -> Sequence[Registration]:
        """Return what is registered under this name, and under this cloud_id."""
        with self._database.read() as uow:
            by_name = uow.resources.find(pool, name)
            by_cloud_id = uow.resources.find_by_cloud_id(pool, cloud_id) if cloud_id else None
        return [host for host in (by_name, by_cloud_id) if host is not None]

    def _remembered(
        self, host: Registration, former: Registration | None, bounds: _Bounds, caller: Caller | None
    ) -> Registration:
        """Store the registration, and find out whether it was stored where the database is lost meanwhile,
        for as long as the caller waits. Raises Stale, Busy, OutcomeUnknown."""
        try:
            return self._remember(host, former, bounds)
        except OutcomeUnknown as lost:
            # A generation is never used twice, so it tells whose work a registration is.
            ours = {host.generation, former.generation + 1} if former else {host.generation}
            deadline = (caller.deadline if caller else None) or self._clock.now() + PATIENCE
            self._clock.pause(DATABASE_PAUSES.first)
            for _ in until(deadline, self._clock, DATABASE_PAUSES):
                # Not a plain look: the first commit may still be under way, and the second waits for it.
                with suppress(Busy, CloudUnavailable):
                    return self._remember(host, former, bounds, ours)
            raise lost from None

    def _remember(
        self,
        host: Registration,
        former: Registration | None,
        bounds: _Bounds,
        ours: AbstractSet[int] = frozenset(),
    ) -> Registration:
        """Store the registration, or return what is stored where that has a generation of ``ours``. Raises
        Stale where another request has registered the same host, Busy, OutcomeUnknown."""
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> Registration:
            if former is None:
                stored = uow.resources.add(replace(host, id=_free_id(uow, host)), now)
            else:
                # The generation goes on: a calendar elsewhere may know the host as it was before.
                stored = uow.resources.save(replace(host, generation=former.generation), now)
            uow.resources.add_properties(RESOURCE_TYPE, host.capabilities, now)
            bounds.store(uow, stored, is_new=former is None, now=now)
            return stored

        for _ in range(ATTEMPTS):
            try:
                return self._database.transact(commit)
            except Stale:
                known = self._known(host)
                if mine := [each for each in known if each.generation in ours]:
                    return mine[0]
                if known:
                    raise
                # A host of another cell has got the id meanwhile, or the former registration has ended.
                former = None
        raise Busy()

    def _known(self, host: Registration) -> Sequence[Registration]:
        """Return what is registered as the host is. Raises OutcomeUnknown where the database does not tell:
        the host must then stay in the freepool."""
        try:
            return self._registered(host.pool, host.name, host.cloud_id)
        except (Busy, CloudUnavailable) as lost:
            raise OutcomeUnknown(service="database", reason=lost.message) from lost

    def unregister(self, host_id: str, caller: Caller | None = None) -> None:
        self._deregistration.unregister(host_id, caller)

    def finish_deregistrations(self) -> None:
        """Finish or give up what requests have left half-done: see Deregistration."""
        self._deregistration.finish_old()

    # describe

    def set_capabilities(self, host_id: str, capabilities: Mapping[str, str | None]) -> Registration:
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> Registration:
            host = existing_host(uow, host_id)
            changed = {
                k for k, v in capabilities.items() if k in host.capabilities and host.capabilities[k] != v
            }
            relied_on = sorted(changed & self._asked_for(uow, host))
            if relied_on:
                raise CantAddExtraCapability(
                    keys=relied_on, host=host_id, reason="reservations on the host rely on the present value."
                )
            kept = {k: v for k, v in host.capabilities.items() if k not in capabilities}
            added = {k: v for k, v in capabilities.items() if v is not None}
            stored = uow.resources.save(replace(host, capabilities=kept | added), now)
            uow.resources.add_properties(RESOURCE_TYPE, added, now)
            return stored

        return self._database.transact(commit)

    def _asked_for(self, uow: UnitOfWork, host: Registration) -> frozenset[str]:
        """Return the properties that present and future reservations on the host, and offers, ask for."""
        now = self._clock.now()
        allocations = uow.resources.allocations(host.pool, resource_ids=[host.id], ending_after=now)
        asked: frozenset[str] = frozenset()
        for lease_id in {a.lease_id for a in allocations}:
            found = uow.leases.get(lease_id) or uow.offers.get(lease_id)
            lease = found.lease if isinstance(found, Offer) else found
            for reservation in lease.reservations if lease else ():
                asked |= self._kinds[reservation.resource_type].demand(reservation).requirement.names
        return asked

    def properties(self, include_private: bool) -> Sequence[PropertyView]:
        with self._database.read() as uow:
            records = uow.resources.private_properties(RESOURCE_TYPE)
            hosts = self._all(uow)
        found: dict[str, set[str]] = {}
        for host in hosts:
            for name, value in host.capabilities.items():
                found.setdefault(name, set()).add(value)
        views = [
            PropertyView(name, name in records and records[name].private, tuple(sorted(values)))
            for name, values in sorted(found.items())
        ]
        return [view for view in views if include_private or not view.private]

    def set_property_private(self, name: str, private: bool) -> PropertyRecord:
        now = self._clock.now()
        record = self._database.transact(
            lambda uow: uow.resources.set_property_private(RESOURCE_TYPE, name, private, now)
        )
        if record is None:
            raise PropertyNotFound(name=name)
        return record


def _described(
    pool: Pool,
    hypervisor: Hypervisor,
    former: Registration | None,
    capabilities: Mapping[str, str],
    cloud: Cloud,
) -> Registration:
    provider = cloud.placement.provider(hypervisor.hypervisor_hostname)
    return Registration(
        id=former.id if former else str(hypervisor.number),
        pool=pool,
        name=hypervisor.hypervisor_hostname,
        facts=hypervisor.facts,
        capabilities=capabilities,
        traits=provider.traits if provider else frozenset(),
        inventory=provider.inventory if provider else {},
        cloud_id=hypervisor.uuid,
    )


def _free_id(uow: UnitOfWork, host: Registration) -> str:
    """Return Nova's number of the host, or one of our own where a host of another cell has that one.

    Ours is made of the host's cloud_id, so that the host has the same one whenever it is registered, and no
    other host gets it in between, but for the rare one with the same checksum."""
    own = count(FIRST_OWN_ID + crc32(str(host.cloud_id).encode()))
    return next(each for each in chain([host.id], map(str, own)) if uow.resources.get(each) is None)
