"""The kind ``virtual:floatingip``: floating IP addresses."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blazarclient import exception
from blazarclient.kinds.base import CommandNames, Kind, RegisteredResource, SDKExtension
from blazarclient.kinds.fields import CountField, Field, TextField
from blazarclient.parsing.errors import InvalidInput
from blazarclient.transport import Transport

if TYPE_CHECKING:
    from openstack.connection import Connection

FLOATING_IP = RegisteredResource(noun="floatingip", name_key="floating_ip_address")


@dataclass(frozen=True, kw_only=True)
class AddressesField(Field):
    """A list of IP addresses, in JSON or separated by commas, semicolons or spaces."""

    def parse(self, value: Any) -> list[str]:
        if isinstance(value, str):
            value = _split(value.strip())
        if not isinstance(value, list):
            raise InvalidInput(f"{self.name} is to be a list of addresses")
        addresses = [str(address) for address in value]
        for address in addresses:
            try:
                ipaddress.ip_address(address)
            except ValueError as error:
                raise InvalidInput(f"{self.name}: {address} is not an IP address") from error
        return addresses


def _split(text: str) -> Any:
    if not text.startswith("["):
        return text.replace(",", " ").replace(";", " ").split()
    try:
        return json.loads(text)
    except ValueError:
        return text.strip("[]").replace(",", " ").split()


class FloatingIPKind(Kind):
    """Floating IP addresses of an external network."""

    resource_type = "virtual:floatingip"
    help = "floating IP addresses"
    position = 40
    fields = (
        TextField(name="network_id", help="id or name of the external network", required=True),
        CountField(name="amount", help="how many addresses", default=1, sends_default=True, minimum=1),
        AddressesField(
            name="required_floatingips",
            help='these must be among them: ["172.24.4.10"]',
            default=[],
            sends_default=True,
        ),
    )
    resource = FLOATING_IP

    def refused_name(self, error: Exception, reservation: Mapping[str, Any]) -> str | None:
        name = str(reservation.get("network_id"))
        return name if f"Failed to find network {name}" in str(error) else None

    def with_id(self, cloud: Connection, reservation: Mapping[str, Any]) -> dict[str, Any]:
        found = cloud.network.find_network(reservation["network_id"], ignore_missing=True)
        return {**reservation, "network_id": found.id} if found else dict(reservation)

    def advice(self, error: Exception, names: CommandNames) -> str:
        if isinstance(error, exception.BlazarClientException) and "Failed to find network " in str(error):
            return "See the networks with `openstack network list --external`."
        return ""

    def managers(self, transport: Transport) -> Mapping[str, object]:
        from blazarclient.kinds.floatingip.v1 import FloatingIPs

        return {"floatingip": FloatingIPs(transport)}

    def sdk(self) -> SDKExtension:
        from blazarclient.kinds.floatingip.sdk import FloatingIP, FloatingIPMethods

        return SDKExtension(FloatingIPMethods, (FloatingIP,))
