"""How hosts, their properties and their allocations look in answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NotRequired

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from blazar.api.views.dates import stamp, stamp_with_t, wire_date
from blazar.domain.resource import PropertyValue, Registration
from blazar.service.ports import PropertyRecord
from blazar.service.views import PropertyView, ResourceAllocations

FACTS = (
    "vcpus",
    "memory_mb",
    "local_gb",
    "hypervisor_version",
    "cpu_info",
    "hypervisor_type",
    "hypervisor_hostname",
    "service_name",
    "availability_zone",
)
"""What the cloud tells about a host, in the order of the answer."""


@with_config(ConfigDict(extra="allow"))
class HostView(TypedDict):
    """A registered host; further keys are its resource properties, always text."""

    id: str
    vcpus: int | None
    memory_mb: int | None
    local_gb: int | None
    hypervisor_version: int | None
    cpu_info: str | None
    hypervisor_type: str | None
    hypervisor_hostname: str | None
    service_name: str | None
    availability_zone: str | None
    status: None
    trust_id: None
    reservable: bool
    created_at: str | None
    updated_at: str | None


class HostReply(TypedDict):
    host: HostView


class HostsReply(TypedDict):
    hosts: list[HostView]


class PropertyListItem(TypedDict):
    """A resource property that some host has; `private` and `values` only with `detail`."""

    property: str
    private: NotRequired[bool]
    values: NotRequired[list[str]]


class PropertiesReply(TypedDict):
    resource_properties: list[PropertyListItem]


class PropertyRecordView(TypedDict):
    """A resource property after a change."""

    id: str
    resource_type: str
    property_name: str
    private: bool
    created_at: str | None
    updated_at: str | None


class PropertyReply(TypedDict):
    resource_property: PropertyRecordView


class AllocatedReservation(TypedDict):
    """A reservation on a host; one that has several slots there is listed once for each."""

    id: str
    lease_id: str
    start_date: str
    end_date: str


class AllocationView(TypedDict):
    resource_id: str
    reservations: list[AllocatedReservation]


class AllocationReply(TypedDict):
    allocation: AllocationView


class AllocationsReply(TypedDict):
    allocations: list[AllocationView]


def host_reply(host: Registration) -> HostReply:
    return {"host": host_view(host)}


def hosts_reply(hosts: Iterable[Registration]) -> HostsReply:
    return {"hosts": [host_view(host) for host in hosts]}


def host_view(host: Registration) -> HostView:
    """The built-in fields win over a property of the same name, should an old database hold one."""
    facts: dict[str, PropertyValue] = {name: host.facts.get(name) for name in FACTS}
    view: dict[str, Any] = {
        "id": host.id,
        **facts,
        "status": None,
        "trust_id": None,
        "reservable": host.reservable,
        "created_at": stamp(host.created_at),
        "updated_at": stamp(host.updated_at),
    }
    return {**view, **host.capabilities, **view}  # type: ignore[typeddict-item]  # the operator's own keys are not ours to name


def properties_reply(properties: Iterable[PropertyView], detail: bool) -> PropertiesReply:
    return {"resource_properties": [_property_view(each, detail) for each in properties]}


def _property_view(each: PropertyView, detail: bool) -> PropertyListItem:
    if not detail:
        return {"property": each.name}
    return {"property": each.name, "private": each.private, "values": list(each.values)}


def property_reply(record: PropertyRecord) -> PropertyReply:
    return {
        "resource_property": {
            "id": record.id,
            "resource_type": record.resource_type,
            "property_name": record.name,
            "private": record.private,
            "created_at": stamp_with_t(record.created_at),
            "updated_at": stamp_with_t(record.updated_at),
        }
    }


def allocation_reply(allocated: ResourceAllocations) -> AllocationReply:
    return {"allocation": _allocation_view(allocated)}


def allocations_reply(allocated: Iterable[ResourceAllocations]) -> AllocationsReply:
    return {"allocations": [_allocation_view(each) for each in allocated]}


def _allocation_view(allocated: ResourceAllocations) -> AllocationView:
    reservations: list[AllocatedReservation] = [
        {
            "id": allocation.reservation_id,
            "lease_id": allocation.lease_id,
            "start_date": wire_date(allocation.interval.start),
            "end_date": wire_date(allocation.interval.end),
        }
        for allocation in allocated.allocations
        for _ in range(allocation.slots)
    ]
    return {"resource_id": allocated.resource_id, "reservations": reservations}
