"""What is a floating IP address in the service's care?"""

from __future__ import annotations

from openstack import resource

from blazarclient.sdk.base import ServiceResource


class FloatingIP(ServiceResource):
    """An address of an external network that can be reserved."""

    resource_key = "floatingip"
    resources_key = "floatingips"
    base_path = "/floatingips"
    allow_create = True
    allow_delete = True

    floating_network_id: str = resource.Body("floating_network_id")
    floating_ip_address: str = resource.Body("floating_ip_address")
    subnet_id: str = resource.Body("subnet_id")
    reservable: bool = resource.Body("reservable", type=bool)
    created_at: str = resource.Body("created_at")
    updated_at: str | None = resource.Body("updated_at")
