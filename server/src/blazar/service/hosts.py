"""What operators do with hosts: take them into care, describe them, and give them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from blazar.domain.errors import (
    BlazarError,
    CantAddExtraCapability,
    CantDeleteHost,
    HostAlreadyRegistered,
    HostHavingServers,
    HostNotFound,
    NoFreePool,
    NotFound,
    PropertyNotFound,
)
from blazar.domain.resource import Pool, Registration
from blazar.kinds.base import Kind
from blazar.service.commands import RegisterHost
from blazar.service.context import Caller
from blazar.service.ports import Clock, Cloud, Database, Hypervisor, PropertyRecord, Stale, UnitOfWork
from blazar.service.views import PropertyView

RESOURCE_TYPE = "physical:host"
"""The resource type under which API 1.0 files the properties of hosts."""


@dataclass(frozen=True, slots=True)
class HostRules:
    freepool: str = "freepool"
    """The name of the aggregate of hosts in our care that are in no active reservation."""


class Hosts:
    """The use cases of hosts. ``kinds`` tell which properties a reservation asks for."""

    def __init__(
        self, database: Database, cloud: Cloud, kinds: Mapping[str, Kind], clock: Clock, rules: HostRules
    ) -> None:
        self._database = database
        self._cloud = cloud
        self._kinds = kinds
        self._clock = clock
        self._rules = rules

    # see

    def get(self, host_id: str, caller: Caller) -> Registration:
        with self._database.read() as uow:
            return existing_host(uow, host_id)

    def list(self, caller: Caller) -> Sequence[Registration]:
        with self._database.read() as uow:
            return uow.resources.list(Pool.HOST)

    # take into care and give back

    def register(self, command: RegisterHost, caller: Caller) -> Registration:
        """Check, put the host into the freepool, then remember it: what fails half-way is undone, and may be repeated."""
        hypervisor = self._cloud.compute.find_hypervisor(command.reference)
        if hypervisor is None:
            raise HostNotFound(host=command.reference)
        with self._database.read() as uow:
            if uow.resources.get(hypervisor.id) or uow.resources.find(Pool.HOST, hypervisor.hypervisor_hostname):
                raise HostAlreadyRegistered(host=hypervisor.hypervisor_hostname)
        self._require_no_servers(hypervisor.service_name)
        freepool_id = self._freepool_id()
        try:
            self._cloud.placement.ensure_reservation_provider(hypervisor.hypervisor_hostname)
            self._cloud.compute.add_host(freepool_id, hypervisor.service_name)
            return self._remember(self._described(hypervisor, command.capabilities))
        except Stale:
            # Another request registered the same host a moment earlier: what the cloud has is its work now.
            raise HostAlreadyRegistered(host=hypervisor.hypervisor_hostname) from None
        except BlazarError:
            self._give_back(freepool_id, hypervisor.service_name, hypervisor.hypervisor_hostname)
            raise

    def _described(self, hypervisor: Hypervisor, capabilities: Mapping[str, str]) -> Registration:
        provider = self._cloud.placement.provider(hypervisor.hypervisor_hostname)
        return Registration(
            id=hypervisor.id,
            pool=Pool.HOST,
            name=hypervisor.hypervisor_hostname,
            facts=hypervisor.facts,
            capabilities=capabilities,
            traits=provider.traits if provider else frozenset(),
            inventory=provider.inventory if provider else {},
        )

    def _remember(self, host: Registration) -> Registration:
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> Registration:
            uow.resources.add(host, now)
            uow.resources.add_properties(RESOURCE_TYPE, host.capabilities, now)
            return existing_host(uow, host.id)

        return self._database.transact(commit)

    def unregister(self, host_id: str, caller: Caller) -> None:
        """First nobody can reserve it any more, then it leaves the freepool, then it is forgotten."""
        host = self._set_reservable(host_id, reservable=False)
        service_name = str(host.facts["service_name"])
        try:
            self._require_no_servers(service_name)
            self._give_back(self._freepool_id(), service_name, host.name)
        except BlazarError:
            self._set_reservable(host_id, reservable=True)
            raise
        self._database.transact(lambda uow: uow.resources.remove(host_id, host.generation))

    def _set_reservable(self, host_id: str, reservable: bool) -> Registration:
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> Registration:
            host = existing_host(uow, host_id)
            if not reservable and uow.resources.allocations(Pool.HOST, resource_id=host_id):
                raise CantDeleteHost(host=host_id, reason="The host is reserved.")
            uow.resources.save(replace(host, reservable=reservable), now)
            return existing_host(uow, host_id)

        return self._database.transact(commit)

    def _give_back(self, freepool_id: int, service_name: str, hypervisor_hostname: str) -> None:
        self._cloud.compute.remove_host(freepool_id, service_name)
        self._cloud.placement.remove_reservation_provider(hypervisor_hostname)

    def _freepool_id(self) -> int:
        freepool = self._cloud.compute.find_aggregate(self._rules.freepool)
        if freepool is None:
            raise NoFreePool()
        return freepool.id

    def _require_no_servers(self, service_name: str) -> None:
        servers = self._cloud.compute.servers_on(service_name)
        if servers:
            raise HostHavingServers(servers=", ".join(s.id for s in servers), host=service_name)

    # describe

    def set_capabilities(self, host_id: str, capabilities: Mapping[str, str | None], caller: Caller) -> Registration:
        now = self._clock.now()

        def commit(uow: UnitOfWork) -> Registration:
            host = existing_host(uow, host_id)
            changed = {k for k, v in capabilities.items() if k in host.capabilities and host.capabilities[k] != v}
            relied_on = sorted(changed & self._asked_for(uow, host_id))
            if relied_on:
                raise CantAddExtraCapability(
                    keys=relied_on, host=host_id, reason="reservations on the host rely on the present value."
                )
            kept = {k: v for k, v in host.capabilities.items() if k not in capabilities}
            added = {k: v for k, v in capabilities.items() if v is not None}
            uow.resources.save(replace(host, capabilities=kept | added), now)
            uow.resources.add_properties(RESOURCE_TYPE, added, now)
            return existing_host(uow, host_id)

        return self._database.transact(commit)

    def _asked_for(self, uow: UnitOfWork, host_id: str) -> frozenset[str]:
        """The properties that present and future reservations on the host ask for."""
        allocations = uow.resources.allocations(Pool.HOST, resource_id=host_id, ending_after=self._clock.now())
        asked: frozenset[str] = frozenset()
        for lease_id in {a.lease_id for a in allocations}:
            lease = uow.leases.get(lease_id)
            for reservation in lease.reservations if lease else ():
                asked |= self._kinds[reservation.resource_type].demand(reservation).requirement.names
        return asked

    def properties(self, caller: Caller, include_private: bool) -> Sequence[PropertyView]:
        with self._database.read() as uow:
            records = uow.resources.private_properties(RESOURCE_TYPE)
            hosts = uow.resources.list(Pool.HOST)
        found: dict[str, set[str]] = {}
        for host in hosts:
            for name, value in host.capabilities.items():
                found.setdefault(name, set()).add(value)
        views = [
            PropertyView(name, name in records and records[name].private, tuple(sorted(values)))
            for name, values in sorted(found.items())
        ]
        return [view for view in views if include_private or not view.private]

    def set_property_private(self, name: str, private: bool, caller: Caller) -> PropertyRecord:
        now = self._clock.now()
        record = self._database.transact(
            lambda uow: uow.resources.set_property_private(RESOURCE_TYPE, name, private, now)
        )
        if record is None:
            raise PropertyNotFound(name=name)
        return record


def existing_host(uow: UnitOfWork, host_id: str) -> Registration:
    host = uow.resources.get(host_id)
    if host is None or host.pool is not Pool.HOST:
        raise NotFound(object=str({"host_id": host_id}))
    return host
