"""The answers that show hosts, their properties and their allocations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from blazar.api.lists import PageLink
from blazar.api.views.dates import stamp, stamp_with_t, wire_date
from blazar.api.views.maintenances import ImpactView
from blazar.domain.lease.maintenance import Lifetime
from blazar.domain.resource import Registration
from blazar.kinds.registered_hosts.pool import REGION
from blazar.kinds.registered_hosts.views import PropertyView, ResourceAllocations
from blazar.service.ports import PropertyRecord

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
NO_FACTS: Mapping[str, None] = dict.fromkeys((*FACTS, "status", "trust_id"))
"""What a host is shown with of which nothing is known."""


@with_config(ConfigDict(extra="allow"))
class HostView(TypedDict):
    """A registered host; further keys are its resource properties, always text."""

    id: Annotated[str, Field(description="The host's id in the reservation service.")]
    vcpus: Annotated[int | None, Field(description="Virtual CPUs.")]
    memory_mb: Annotated[int | None, Field(description="Memory in MiB.")]
    local_gb: Annotated[int | None, Field(description="Disk in GiB.")]
    hypervisor_version: Annotated[
        int | None, Field(description="Version of the hypervisor, as Nova tells it.")
    ]
    cpu_info: Annotated[str | None, Field(description="The CPU, as Nova tells it: JSON in a text.")]
    hypervisor_type: Annotated[str | None, Field(description="For example `QEMU`.")]
    hypervisor_hostname: Annotated[str | None, Field(description="The host's name in Nova.")]
    service_name: Annotated[str | None, Field(description="The name of its nova-compute service.")]
    availability_zone: Annotated[
        str | None, Field(description="The zone that it was in when it was registered.")
    ]
    status: Annotated[None, Field(description="Always null.")]
    trust_id: Annotated[None, Field(description="Always null.")]
    reservable: Annotated[bool, Field(description="Whether reservations may get it.")]
    created_at: Annotated[str | None, Field(description="When it was made, in UTC: `2026-11-20 14:58:06`.")]
    updated_at: Annotated[str | None, Field(description="When it was last changed, in UTC; null if never.")]
    available_from: NotRequired[
        Annotated[
            str | None,
            Field(description="From when on it is there, in UTC; null if it is. From 1.15 on."),
        ]
    ]
    available_until: NotRequired[
        Annotated[
            str | None,
            Field(description="Until when it is there, in UTC; null if it stays. From 1.15 on."),
        ]
    ]
    buffer: NotRequired[
        Annotated[
            bool | str,
            Field(
                description="Whether it is kept for leases that lose others. From 1.15 on; before, the text "
                "of a property that is called so."
            ),
        ]
    ]
    region: NotRequired[
        Annotated[
            str | None,
            Field(description="The region that it lies in; null where there is but one. From 1.26 on."),
        ]
    ]


class HostReply(TypedDict):
    host: Annotated[HostView, Field(description="The host.")]
    impact: NotRequired[
        Annotated[
            ImpactView,
            Field(description="What the time for which it is there has done to leases. From 1.15 on."),
        ]
    ]


class HostsReply(TypedDict):
    hosts: Annotated[
        list[HostView], Field(description="The registered hosts: all of them, from 1.1 on a page.")
    ]
    hosts_links: NotRequired[
        Annotated[
            list[PageLink],
            Field(description="The link `next` to the next page, where there is one. From 1.1 on."),
        ]
    ]


class PropertyListItem(TypedDict):
    """A resource property that some host has; `private` and `values` only with `detail`."""

    property: Annotated[str, Field(description="The name of the property.")]
    private: NotRequired[Annotated[bool, Field(description="Whether only administrators are shown it.")]]
    values: NotRequired[Annotated[list[str], Field(description="The values that hosts have, each once.")]]


class PropertiesReply(TypedDict):
    resource_properties: Annotated[
        list[PropertyListItem], Field(description="The properties that some host has.")
    ]


class PropertyRecordView(TypedDict):
    """A resource property after a change."""

    id: Annotated[str, Field(description="UUID of the record.")]
    resource_type: Annotated[str, Field(description="Always `physical:host`.")]
    property_name: Annotated[str, Field(description="The name of the property.")]
    private: Annotated[bool, Field(description="Whether only administrators are shown it.")]
    created_at: Annotated[str | None, Field(description="When it was made, in UTC: `2026-11-20T14:58:06`.")]
    updated_at: Annotated[str | None, Field(description="When it was last changed, in UTC; null if never.")]


class PropertyReply(TypedDict):
    resource_property: Annotated[PropertyRecordView, Field(description="The property.")]


class AllocatedReservation(TypedDict):
    """A reservation on a host; one that has several slots there is listed once for each."""

    id: Annotated[str, Field(description="UUID of the reservation.")]
    lease_id: Annotated[str, Field(description="UUID of its lease.")]
    start_date: Annotated[str, Field(description="When it begins, in UTC: `2050-01-01T10:00:00.000000`.")]
    end_date: Annotated[str, Field(description="When it ends, in UTC: `2050-01-01T10:00:00.000000`.")]


class AllocationView(TypedDict):
    resource_id: Annotated[str, Field(description="The id of the host.")]
    reservations: Annotated[list[AllocatedReservation], Field(description="What is reserved on it, by time.")]


class AllocationReply(TypedDict):
    allocation: Annotated[AllocationView, Field(description="The host's reservations.")]


class AllocationsReply(TypedDict):
    allocations: Annotated[
        list[AllocationView],
        Field(description="The hosts with their reservations: all of them, from 1.1 on a page."),
    ]
    allocations_links: NotRequired[
        Annotated[
            list[PageLink],
            Field(description="The link `next` to the next page, where there is one. From 1.1 on."),
        ]
    ]


def host_reply(host: Registration) -> HostReply:
    return {"host": host_view(host)}


def host_view(host: Registration) -> HostView:
    """The built-in fields win over a property of the same name, should an old database hold one."""
    view: dict[str, Any] = {"id": host.id, **NO_FACTS}
    facts = host.facts
    for name in FACTS:
        if name in facts:
            view[name] = facts[name]
    view["reservable"] = host.can_be_reserved
    view["created_at"] = stamp(host.created_at)
    view["updated_at"] = stamp(host.updated_at)
    for name, text in host.capabilities.items():
        if name not in view:
            view[name] = text
    return view  # type: ignore[return-value]  # the operator's own keys are not ours to name


def lasting_view(host: Registration, lifetime: Lifetime, is_buffer: bool) -> HostView:
    """Return the view of a host since 1.15, with the time for which it is there."""
    return {
        **host_view(host),
        "available_from": _moment(lifetime.available_from),
        "available_until": _moment(lifetime.available_until),
        "buffer": is_buffer,
    }


def regional_view(host: Registration, lifetime: Lifetime, is_buffer: bool) -> HostView:
    """Return the view of a host since 1.26, with its region."""
    region = host.facts.get(REGION)
    return {**lasting_view(host, lifetime, is_buffer), "region": None if region is None else str(region)}


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else wire_date(moment)


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
    return {"allocation": allocation_view(allocated)}


def allocation_view(allocated: ResourceAllocations) -> AllocationView:
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
