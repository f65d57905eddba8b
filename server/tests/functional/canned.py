"""A Service with fixed contents: what the edge shows of them, and what it lets through, is what its tests
look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from blazar.domain.errors import NotFound
from blazar.domain.lease.event import Event, EventType
from blazar.domain.lease.lease import BEGINNING, Lease, Reservation
from blazar.domain.lease.share import ShareRight
from blazar.domain.resource import Allocation, Pool, Registration, database_order
from blazar.domain.time import Interval
from blazar.kinds.floatingip.commands import RegisterFloatingIP
from blazar.kinds.floatingip.errors import FloatingIPNotFound
from blazar.kinds.floatingip.names import ADDRESS, NETWORK_ID, SUBNET_ID
from blazar.kinds.registered_hosts.commands import RegisterHost
from blazar.kinds.registered_hosts.errors import PropertyNotFound
from blazar.kinds.registered_hosts.views import (
    AllocationsPage,
    PropertyView,
    ResourceAllocations,
    of_rows,
    to_rows,
)
from blazar.service.commands import CreateLease, UpdateLease
from blazar.service.context import Caller
from blazar.service.health import ManagerHealth
from blazar.service.pages import ResourcePage
from blazar.service.ports import LeasePage, LeaseQuery, ListPage, PropertyRecord
from blazar.service.ports.lease_lists import is_asked_for, lease_place
from blazar.service.quotas import LimitUse, Quota, QuotaList

LEASE_ID = "051ec3b5-33a7-49a3-90fa-ebbb92c7439c"
RESERVATION_ID = "feb5b3ab-1f0c-4f2b-8f0e-0d7cb6a3a111"
MADE = datetime(2026, 11, 20, 14, 58, 6, 496404, UTC)
CHANGED = datetime(2026, 11, 20, 14, 58, 7, 0, UTC)
INTERVAL = Interval(datetime(2050, 1, 1, 10, tzinfo=UTC), datetime(2050, 1, 1, 11, tzinfo=UTC))


def event(name: EventType, time: datetime) -> Event:
    return Event(f"event-{name.value}", LEASE_ID, name, time, created_at=MADE)


LEASE = Lease(
    id=LEASE_ID,
    name="a",
    user_id="u1",
    project_id="p1",
    interval=INTERVAL,
    trust_id="972d27e2c26340859c1261cc0a65f04c",
    reservations=(
        Reservation(
            id=RESERVATION_ID,
            lease_id=LEASE_ID,
            resource_id="bf8a0d6e-8a70-4f1c-9b06-8e2a3a0a2222",
            resource_type="physical:host",
            parameters={
                "min": 1,
                "max": 1,
                "hypervisor_properties": "",
                "resource_properties": "",
                "before_end": "default",
            },
            created_at=MADE,
        ),
    ),
    events=(
        event(EventType.BEFORE_END, INTERVAL.start),
        event(EventType.END, INTERVAL.end),
        event(EventType.START, INTERVAL.start),
        event(EventType.CONVERGE, INTERVAL.start),
    ),
    created_at=MADE,
    updated_at=CHANGED,
)

QUOTA = Quota("p1", {"leases": 5000, "hosts": 2}, {"hosts": 2})

HOST = Registration(
    id="1",
    pool=Pool("host"),
    name="compute-0001",
    facts={
        "vcpus": 4,
        "memory_mb": 8192,
        "local_gb": 100,
        "hypervisor_version": 8000000,
        "cpu_info": '{"arch": "x86_64"}',
        "hypervisor_type": "QEMU",
        "hypervisor_hostname": "compute-0001",
        "service_name": "compute-0001",
        "availability_zone": "nova",
    },
    capabilities={"n": "5", "gpu": "True", "vcpus": "shadow"},
    created_at=MADE,
)

FLOATING_IP = Registration(
    id="5f4c2a9e-6e1b-5a0e-9a4f-2d8b5d7c3333",
    pool=Pool("floatingip"),
    name="net1/172.24.4.102",
    facts={NETWORK_ID: "net1", SUBNET_ID: "subnet1", ADDRESS: "172.24.4.102"},
    created_at=MADE,
)

ALLOCATED = ResourceAllocations(
    "1", (Allocation("al1", RESERVATION_ID, LEASE_ID, "1", INTERVAL, slots=2, created_at=MADE),)
)


@dataclass
class Canned:
    """Knows one lease, host and floating IP, and two properties; remembers the commands; raises ``failure``
    if there is one."""

    commands: list[Any] = field(default_factory=list)
    callers: list[Caller | None] = field(default_factory=list)
    caller: Caller | None = None
    failure: Exception | None = None
    share: ShareRight | Exception | None = None
    """What every other project may do with the lease, or what the question fails with."""
    stored: Sequence[Lease] = (LEASE,)
    hosts: Sequence[Registration] = (HOST,)
    floatingips: Sequence[Registration] = (FLOATING_IP,)
    allocated: Sequence[ResourceAllocations] = (ALLOCATED, ResourceAllocations("2", ()))

    @property
    def leases(self) -> CannedLeases:
        return CannedLeases(self)

    @property
    def health(self) -> CannedVitals:
        return CannedVitals()

    @property
    def quotas(self) -> CannedQuotas:
        return CannedQuotas(self)

    def noun(self, name: str) -> Any:
        return {
            "leases": self.leases,
            "health": self.health,
            "hosts": CannedHosts(self),
            "floatingips": CannedFloatingIPs(self),
            "allocations": CannedAllocations(self),
            "quotas": self.quotas,
            "shares": CannedShares(self),
        }[name]

    def called_by(self, caller: Caller) -> Canned:
        bound = copy(self)
        bound.caller = caller
        return bound

    def note(self, caller: Caller | None = None, command: Any = None) -> None:
        self.callers.append(caller or self.caller)
        if command is not None:
            self.commands.append(command)
        if self.failure is not None:
            raise self.failure


@dataclass
class CannedShares:
    service: Canned

    def get_right(self, lease_id: str, project_id: str) -> ShareRight | None:
        if isinstance(self.service.share, Exception):
            raise self.service.share
        return self.service.share


@dataclass
class CannedLeases:
    service: Canned

    def create(self, command: CreateLease, caller: Caller) -> Lease:
        self.service.note(caller, command)
        return LEASE

    def get(self, lease_id: str) -> Lease:
        self.service.note()
        if lease_id != LEASE_ID:
            raise NotFound(object=str({"lease_id": lease_id}))
        return LEASE

    def list(self, project_id: str | None, page: ListPage | None = None) -> Sequence[Lease]:
        self.service.note(command=page)
        found = [lease for lease in self.service.stored if project_id in (None, lease.project_id)]
        if page is None:
            return found
        return [lease for lease in found if page.after is None or lease.key > page.after][: page.limit]

    def find(self, query: LeaseQuery) -> LeasePage:
        self.service.note(command=query)
        found = {
            lease_place(each, query.sort): each for each in self.service.stored if is_asked_for(each, query)
        }
        places = sorted(found, reverse=query.descending)
        if query.after is not None:
            places = places[places.index(query.after) + 1 :]
        page = [found[place] for place in places[: query.limit]]
        return LeasePage(page, places[query.limit - 1] if len(places) > query.limit else None)

    def update(self, lease_id: str, command: UpdateLease, caller: Caller) -> Lease:
        self.service.note(caller, command)
        return self.get(lease_id)

    def delete(self, lease_id: str, caller: Caller) -> None:
        self.service.note(caller, ("delete", lease_id))
        self.get(lease_id)


@dataclass
class CannedHosts:
    service: Canned

    def register(self, command: RegisterHost, caller: Caller | None = None) -> Registration:
        self.service.note(caller, command)
        return HOST

    def get(self, host_id: str, caller: Caller | None = None) -> Registration:
        self.service.note(caller)
        if host_id != HOST.id:
            raise NotFound(object=str({"host_id": host_id}))
        return HOST

    def list(self, caller: Caller, page: ResourcePage | None = None) -> Sequence[Registration]:
        self.service.note(caller, page)
        return _on_page(self.service.hosts, page)

    def set_capabilities(self, host_id: str, capabilities: Mapping[str, str | None]) -> Registration:
        self.service.note(command=capabilities)
        return self.get(host_id)

    def unregister(self, host_id: str, caller: Caller | None = None) -> None:
        self.service.note(caller, ("unregister", host_id))
        self.get(host_id)

    def properties(self, include_private: bool) -> Sequence[PropertyView]:
        self.service.note(command=include_private)
        shown = [PropertyView("gpu", private=False, values=("False", "True"))]
        return [*shown, PropertyView("rack", private=True, values=("r1",))] if include_private else shown

    def set_property_private(self, name: str, private: bool) -> PropertyRecord:
        self.service.note(command=(name, private))
        if name != "gpu":
            raise PropertyNotFound(name=name)
        return PropertyRecord("8161", "physical:host", "gpu", private, MADE, CHANGED)


@dataclass
class CannedFloatingIPs:
    service: Canned

    def register(self, command: RegisterFloatingIP, caller: Caller | None = None) -> Registration:
        self.service.note(caller, command)
        return FLOATING_IP

    def get(self, floatingip_id: str) -> Registration:
        self.service.note()
        if floatingip_id != FLOATING_IP.id:
            raise FloatingIPNotFound(floatingip=floatingip_id)
        return FLOATING_IP

    def list(self, page: ResourcePage | None = None) -> Sequence[Registration]:
        self.service.note(command=page)
        return _on_page(self.service.floatingips, page)

    def unregister(self, floatingip_id: str) -> None:
        self.service.note(command=("unregister", floatingip_id))
        self.get(floatingip_id)


@dataclass
class CannedAllocations:
    service: Canned

    def list_for_hosts(
        self,
        lease_id: str | None = None,
        reservation_id: str | None = None,
        page: AllocationsPage | None = None,
    ) -> Sequence[ResourceAllocations]:
        self.service.note(command=("allocations", lease_id, reservation_id))
        if page is None:
            return self.service.allocated
        place = database_order(page.after or ""), page.after_start or BEGINNING, page.after_allocation or ""
        rows = [row for row in to_rows(self.service.allocated) if page.after is None or row.key > place]
        return list(of_rows(rows[: page.limit]))

    def get_for_host(
        self, host_id: str, lease_id: str | None = None, reservation_id: str | None = None
    ) -> ResourceAllocations:
        self.service.note(command=("allocation", host_id, lease_id, reservation_id))
        if host_id != HOST.id:
            raise NotFound(object=str({"host_id": host_id}))
        return ALLOCATED


def _on_page(registrations: Sequence[Registration], page: ResourcePage | None) -> Sequence[Registration]:
    if page is None:
        return registrations
    in_order = sorted(registrations, key=lambda each: database_order(each.id))
    after = [
        each
        for each in in_order
        if page.after is None or database_order(each.id) > database_order(page.after)
    ]
    return after[: page.limit]


@dataclass
class CannedQuotas:
    service: Canned

    def list(self) -> QuotaList:
        self.service.note()
        return QuotaList({"leases": 5000, "hosts": -1}, [QUOTA])

    def get(self, project_id: str) -> Quota:
        self.service.note()
        return replace(QUOTA, project_id=project_id)

    def get_usage(self, project_id: str) -> Sequence[LimitUse]:
        self.service.note()
        return [LimitUse("leases", 5000, 1, 1), LimitUse("hosts", 2, 1, 2)]

    def set(self, project_id: str, limits: Mapping[str, int | None]) -> Quota:
        self.service.note(command=(project_id, limits))
        return self.get(project_id)

    def unset(self, project_id: str) -> None:
        self.service.note(command=("unset", project_id))


class CannedVitals:
    def read(self) -> ManagerHealth:
        return ManagerHealth(event_lag_seconds=1.5, outbox=2)


class ShownKind:
    """Renders a reservation's parameters as they are."""

    parameters_schema: ClassVar[Mapping[str, Any]] = {}
    later_parameters: ClassVar[Mapping[str, tuple[int, int]]] = {}

    def render(self, reservation: Reservation) -> dict[str, Any]:
        return dict(reservation.parameters)
