"""A Service with fixed contents: what the edge shows of them, and what it lets through, is what its tests look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from blazar.domain.errors import FloatingIPNotFound, NotFound, PropertyNotFound
from blazar.domain.event import Event, EventType
from blazar.domain.floatingip import ADDRESS, NETWORK_ID, SUBNET_ID
from blazar.domain.lease import Lease, Reservation
from blazar.domain.resource import Allocation, Pool, Registration
from blazar.domain.time import Interval
from blazar.service.commands import CreateLease, RegisterFloatingIP, RegisterHost, UpdateLease
from blazar.service.context import Caller
from blazar.service.ports import PropertyRecord
from blazar.service.views import PropertyView, ResourceAllocations
from blazar.service.vitals import Vitals

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

HOST = Registration(
    id="1",
    pool=Pool.HOST,
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
    pool=Pool.FLOATING_IP,
    name="net1/172.24.4.102",
    facts={NETWORK_ID: "net1", SUBNET_ID: "subnet1", ADDRESS: "172.24.4.102"},
    created_at=MADE,
)

ALLOCATED = ResourceAllocations(
    "1", (Allocation("al1", RESERVATION_ID, LEASE_ID, "1", INTERVAL, slots=2, created_at=MADE),)
)


@dataclass
class Canned:
    """Knows one lease, host and floating IP, and two properties; remembers the commands; raises ``failure`` if there is
    one."""

    commands: list[Any] = field(default_factory=list)
    callers: list[Caller] = field(default_factory=list)
    failure: Exception | None = None

    @property
    def leases(self) -> CannedLeases:
        return CannedLeases(self)

    @property
    def hosts(self) -> CannedHosts:
        return CannedHosts(self)

    @property
    def floatingips(self) -> CannedFloatingIPs:
        return CannedFloatingIPs(self)

    @property
    def allocations(self) -> CannedAllocations:
        return CannedAllocations(self)

    @property
    def vitals(self) -> CannedVitals:
        return CannedVitals()

    def note(self, caller: Caller, command: Any = None) -> None:
        self.callers.append(caller)
        if command is not None:
            self.commands.append(command)
        if self.failure is not None:
            raise self.failure


@dataclass
class CannedLeases:
    service: Canned

    def create(self, command: CreateLease, caller: Caller) -> Lease:
        self.service.note(caller, command)
        return LEASE

    def get(self, lease_id: str, caller: Caller) -> Lease:
        self.service.note(caller)
        if lease_id != LEASE_ID:
            raise NotFound(object=str({"lease_id": lease_id}))
        return LEASE

    def list(self, caller: Caller, project_id: str | None) -> Sequence[Lease]:
        self.service.note(caller)
        return [LEASE] if project_id in (None, LEASE.project_id) else []

    def update(self, lease_id: str, command: UpdateLease, caller: Caller) -> Lease:
        self.service.note(caller, command)
        return self.get(lease_id, caller)

    def delete(self, lease_id: str, caller: Caller) -> None:
        self.service.note(caller, ("delete", lease_id))
        self.get(lease_id, caller)


@dataclass
class CannedHosts:
    service: Canned

    def register(self, command: RegisterHost, caller: Caller) -> Registration:
        self.service.note(caller, command)
        return HOST

    def get(self, host_id: str, caller: Caller) -> Registration:
        self.service.note(caller)
        if host_id != HOST.id:
            raise NotFound(object=str({"host_id": host_id}))
        return HOST

    def list(self, caller: Caller) -> Sequence[Registration]:
        self.service.note(caller)
        return [HOST]

    def set_capabilities(self, host_id: str, capabilities: Mapping[str, str | None], caller: Caller) -> Registration:
        self.service.note(caller, capabilities)
        return self.get(host_id, caller)

    def unregister(self, host_id: str, caller: Caller) -> None:
        self.service.note(caller, ("unregister", host_id))
        self.get(host_id, caller)

    def properties(self, caller: Caller, include_private: bool) -> Sequence[PropertyView]:
        self.service.note(caller, include_private)
        shown = [PropertyView("gpu", private=False, values=("False", "True"))]
        return [*shown, PropertyView("rack", private=True, values=("r1",))] if include_private else shown

    def set_property_private(self, name: str, private: bool, caller: Caller) -> PropertyRecord:
        self.service.note(caller, (name, private))
        if name != "gpu":
            raise PropertyNotFound(name=name)
        return PropertyRecord("8161", "physical:host", "gpu", private, MADE, CHANGED)


@dataclass
class CannedFloatingIPs:
    service: Canned

    def register(self, command: RegisterFloatingIP, caller: Caller) -> Registration:
        self.service.note(caller, command)
        return FLOATING_IP

    def get(self, floatingip_id: str, caller: Caller) -> Registration:
        self.service.note(caller)
        if floatingip_id != FLOATING_IP.id:
            raise FloatingIPNotFound(floatingip=floatingip_id)
        return FLOATING_IP

    def list(self, caller: Caller) -> Sequence[Registration]:
        self.service.note(caller)
        return [FLOATING_IP]

    def unregister(self, floatingip_id: str, caller: Caller) -> None:
        self.service.note(caller, ("unregister", floatingip_id))
        self.get(floatingip_id, caller)


@dataclass
class CannedAllocations:
    service: Canned

    def list_for_hosts(
        self, caller: Caller, lease_id: str | None = None, reservation_id: str | None = None
    ) -> Sequence[ResourceAllocations]:
        self.service.note(caller, ("allocations", lease_id, reservation_id))
        return [ALLOCATED, ResourceAllocations("2", ())]

    def get_for_host(
        self, host_id: str, caller: Caller, lease_id: str | None = None, reservation_id: str | None = None
    ) -> ResourceAllocations:
        self.service.note(caller, ("allocation", host_id, lease_id, reservation_id))
        if host_id != HOST.id:
            raise NotFound(object=str({"host_id": host_id}))
        return ALLOCATED


class CannedVitals:
    def read(self) -> Vitals:
        return Vitals(event_lag_seconds=1.5, outbox=2)


class ShownKind:
    """Renders a reservation's parameters as they are."""

    def render(self, reservation: Reservation) -> dict[str, Any]:
        return dict(reservation.parameters)
