"""Hosts, their properties and their allocations in `blazarclient.sdk`."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import requests
from openstack import proxy, resource

from blazarclient.sdk.allocation import Allocation
from blazarclient.sdk.base import HEADERS, ServiceResource, find_resource, raise_for_status, resource_id

BUILT_IN = frozenset(
    {
        "id", "name", "location", "availability_zone", "cpu_info", "created_at", "hypervisor_hostname",
        "hypervisor_type", "hypervisor_version", "local_gb", "memory_mb", "reservable", "service_name",
        "status", "trust_id", "updated_at", "vcpus",
    }
)  # fmt: skip


class Host(ServiceResource):
    """A reservable hypervisor, with built-in fields and `properties`.

    `HostMethods` creates and updates hosts, because the API has no separate key for properties.
    """

    resource_key = "host"
    resources_key = "hosts"
    base_path = "/os-hosts"
    allow_delete = True
    _store_unknown_attrs_as_properties = True

    hypervisor_hostname: str = resource.Body("hypervisor_hostname")
    hypervisor_type: str = resource.Body("hypervisor_type")
    hypervisor_version: int = resource.Body("hypervisor_version", type=int)
    service_name: str = resource.Body("service_name")
    vcpus: int = resource.Body("vcpus", type=int)
    memory_mb: int = resource.Body("memory_mb", type=int)
    local_gb: int = resource.Body("local_gb", type=int)
    #: JSON text, as Nova gave it.
    cpu_info: str = resource.Body("cpu_info")
    availability_zone: str = resource.Body("availability_zone")
    status: str | None = resource.Body("status")
    trust_id: str | None = resource.Body("trust_id")
    #: False while monitoring considers the host failed.
    reservable: bool = resource.Body("reservable", type=bool)
    created_at: str = resource.Body("created_at")
    updated_at: str | None = resource.Body("updated_at")
    #: The free keys and values of this host; all values are text.
    properties: dict[str, Any] = resource.Body("properties", type=dict)

    def _translate_response(self, response: requests.Response, *args: Any, **kwargs: Any) -> None:
        # openstacksdk puts unknown fields into properties when it lists, but not when it fetches one.
        super()._translate_response(response, *args, **kwargs)
        if response.content:
            row = response.json()[self.resource_key]
            self._update(properties={key: value for key, value in row.items() if key not in BUILT_IN})
            self._body.clean()


class HostProperty(ServiceResource):
    """A property that at least one host has."""

    resource_key = "resource_property"
    resources_key = "resource_properties"
    base_path = "/os-hosts/properties"
    allow_fetch = False

    property: str = resource.Body("property", alternate_id=True)
    #: Visible to administrators only.
    private: bool = resource.Body("private", type=bool)
    #: All values that hosts have; only with details.
    property_values: list[str] | None = resource.Body("values", type=list)

    @classmethod
    def _identity(cls, row: dict[str, Any]) -> str:
        return str(row["property"])


class HostMethods(proxy.Proxy):
    """The methods of `conn.reservation` for hosts, their properties and their allocations."""

    def hosts(self, *, limit: int | None = None, marker: str | None = None) -> Generator[Host, None, None]:
        """Yield the reservable hosts."""
        return Host.list(self, limit=limit, marker=marker)

    def get_host(self, host: str | Host) -> Host:
        """Return one host by its id."""
        return self._get(Host, host)

    def find_host(self, name_or_id: str, ignore_missing: bool = True) -> Host | None:
        """Return one host by its id or hypervisor hostname."""
        keys = ("id", "hypervisor_hostname")
        return find_resource(self.hosts(), keys, name_or_id, "host", ignore_missing)

    def create_host(self, name: str, /, **properties: Any) -> Host:
        """Register the hypervisor of this hostname with these properties."""
        return self._send_host("POST", Host.base_path, {"name": name, **properties})

    def update_host(self, host: str | Host, /, **properties: Any) -> Host:
        """Set properties of a host; None removes one, where the service supports it."""
        return self._send_host("PUT", f"{Host.base_path}/{resource_id(host)}", properties)

    def delete_host(self, host: str | Host, ignore_missing: bool = True) -> None:
        """Remove a host from the reservation service."""
        self._delete(Host, host, ignore_missing=ignore_missing)

    def _send_host(self, method: str, path: str, body: Mapping[str, Any]) -> Host:
        response = self.request(path, method, json=dict(body), headers=HEADERS, raise_exc=False)
        raise_for_status(response)
        return Host.existing(**response.json()["host"])

    def properties(self, detail: bool = False, all: bool = False) -> Generator[HostProperty, None, None]:
        """Yield the properties of hosts; with `detail` also their values, with `all` also private ones."""
        query: dict[str, Any] = {
            name: "True" for name, wanted in (("detail", detail), ("all", all)) if wanted
        }
        return HostProperty.list(self, **query)

    def update_property(self, name: str, private: bool) -> HostProperty:
        """Make a property private, visible to administrators only, or public."""
        path = f"{HostProperty.base_path}/{name}"
        response = self.request(path, "PATCH", json={"private": private}, headers=HEADERS, raise_exc=False)
        raise_for_status(response)
        changed = response.json()["resource_property"]
        return HostProperty.existing(property=changed["property_name"], private=changed["private"])

    def allocations(
        self, *, lease_id: str | None = None, reservation_id: str | None = None
    ) -> Generator[Allocation, None, None]:
        """Yield all hosts with their reservations, past ones included.

        With a lease or a reservation, yield the reservations of this one only.
        """
        path = f"{Host.base_path}/allocations"
        return Allocation.list(self, base_path=path, lease_id=lease_id, reservation_id=reservation_id)

    def get_allocation(
        self, host: str | Host, *, lease_id: str | None = None, reservation_id: str | None = None
    ) -> Allocation:
        """Return the reservations on one host."""
        query = {"lease_id": lease_id, "reservation_id": reservation_id}
        params = {key: value for key, value in query.items() if value is not None}
        path = f"{Host.base_path}/{resource_id(host)}/allocation"
        response = self.request(path, "GET", params=params, headers=HEADERS, raise_exc=False)
        raise_for_status(response)
        return Allocation.existing(**response.json()["allocation"])
