"""VLANs in `blazarclient.sdk`."""

from __future__ import annotations

from collections.abc import Generator

from openstack import proxy, resource

from blazarclient.sdk.base import ServiceResource


class Vlan(ServiceResource):
    """A reservable VLAN."""

    resource_key = "vlan"
    resources_key = "vlans"
    base_path = "/vlans"

    segment: str = resource.Body("segment")


class VlanMethods(proxy.Proxy):
    """The methods of `conn.reservation` for VLANs."""

    def vlans(self) -> Generator[Vlan, None, None]:
        return Vlan.list(self)
