"""A resource kind of another distribution: VLANs, with each part that a kind can have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blazarclient import exception
from blazarclient.kinds.base import CommandNames, Kind, RegisteredResource, SDKExtension
from blazarclient.kinds.fields import ChoiceField, CountField
from blazarclient.parsing.errors import InvalidInput
from blazarclient.transport import Transport

VLAN = RegisteredResource(noun="vlan", name_key="segment", allocations_path="vlans")


class VlanKind(Kind):
    """VLANs of a physical network."""

    resource_type = "virtual:vlan"
    help = "VLANs"
    fields = (
        CountField(name="amount", help="how many VLANs", required=True, minimum=1),
        ChoiceField(
            name="speed",
            help="speed of the ports",
            choices=("10G", "100G"),
            default="10G",
            sends_default=True,
        ),
    )
    answer_keys = ("segments",)
    resource = VLAN

    def check(self, reservation: Mapping[str, Any]) -> None:
        if reservation["speed"] == "100G" and reservation["amount"] > 2:
            raise InvalidInput("there are only two VLANs of 100G")

    def managers(self, transport: Transport) -> Mapping[str, object]:
        from vlankind.v1 import Vlans

        return {"vlan": Vlans(transport)}

    def sdk(self) -> SDKExtension:
        from vlankind.sdk import Vlan, VlanMethods

        return SDKExtension(VlanMethods, (Vlan,))

    def advice(self, error: Exception, names: CommandNames) -> str:
        if isinstance(error, exception.BlazarClientException) and error.code == 409 and names.noun == "vlan":
            return f"Take another segment: {names.call('vlan', 'list')} shows those in use."
        return ""
