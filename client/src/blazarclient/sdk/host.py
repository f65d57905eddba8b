"""What is a host in the service's care, and what properties do hosts have?"""

from __future__ import annotations

from typing import Any

import requests
from openstack import resource

from blazarclient.sdk.base import ServiceResource

BUILT_IN = frozenset(
    {
        "id", "name", "location", "availability_zone", "cpu_info", "created_at", "hypervisor_hostname",
        "hypervisor_type", "hypervisor_version", "local_gb", "memory_mb", "reservable", "service_name", "status",
        "trust_id", "updated_at", "vcpus",
    }
)  # fmt: skip


class Host(ServiceResource):
    """A hypervisor that can be reserved. Its own properties stand beside the built-in fields, see `properties`."""

    resource_key = "host"
    resources_key = "hosts"
    base_path = "/os-hosts"
    allow_delete = True  # to create and change one, use the proxy: properties are not fields of their own there
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
    #: False while monitoring holds it for failed.
    reservable: bool = resource.Body("reservable", type=bool)
    created_at: str = resource.Body("created_at")
    updated_at: str | None = resource.Body("updated_at")
    #: The free keys and values of this host; all values are text.
    properties: dict[str, Any] = resource.Body("properties", type=dict)

    def _translate_response(self, response: requests.Response, *args: Any, **kwargs: Any) -> None:
        # openstacksdk packs unknown fields into properties when it lists, but not when it fetches one resource.
        super()._translate_response(response, *args, **kwargs)
        if response.content:
            row = response.json()[self.resource_key]
            self._update(properties={key: value for key, value in row.items() if key not in BUILT_IN})
            self._body.clean()


class HostProperty(ServiceResource):
    """The name of a property that at least one host has."""

    resource_key = "resource_property"
    resources_key = "resource_properties"
    base_path = "/os-hosts/properties"
    allow_fetch = False

    property: str = resource.Body("property", alternate_id=True)
    #: Shown to administrators only.
    private: bool = resource.Body("private", type=bool)
    #: All values that hosts have; only when asked for details.
    property_values: list[str] | None = resource.Body("values", type=list)

    @classmethod
    def _identity(cls, row: dict[str, Any]) -> str:
        return str(row["property"])
