"""Floating IPs in `blazarclient.sdk`."""

from __future__ import annotations

from collections.abc import Generator

from openstack import proxy, resource

from blazarclient.sdk.base import ServiceResource, find_resource


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


class FloatingIPMethods(proxy.Proxy):
    """The methods of `conn.reservation` for floating IPs."""

    def floating_ips(
        self, *, limit: int | None = None, marker: str | None = None
    ) -> Generator[FloatingIP, None, None]:
        """Yield the reservable floating IP addresses."""
        return FloatingIP.list(self, limit=limit, marker=marker)

    def get_floating_ip(self, floating_ip: str | FloatingIP) -> FloatingIP:
        """Return one address by its id."""
        return self._get(FloatingIP, floating_ip)

    def find_floating_ip(self, address_or_id: str, ignore_missing: bool = True) -> FloatingIP | None:
        """Return one address by its id or by the address itself."""
        keys = ("id", "floating_ip_address")
        return find_resource(self.floating_ips(), keys, address_or_id, "floating IP", ignore_missing)

    def create_floating_ip(self, network_id: str, address: str) -> FloatingIP:
        """Register an address of an external network."""
        return self._create(FloatingIP, floating_network_id=network_id, floating_ip_address=address)

    def delete_floating_ip(self, floating_ip: str | FloatingIP, ignore_missing: bool = True) -> None:
        """Remove an address from the reservation service."""
        self._delete(FloatingIP, floating_ip, ignore_missing=ignore_missing)
