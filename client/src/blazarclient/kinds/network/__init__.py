"""The kind ``network``: networks on segments of their own."""

from __future__ import annotations

from collections.abc import Mapping

from blazarclient import exception
from blazarclient.kinds.base import CommandNames, Kind, RegisteredResource
from blazarclient.kinds.fields import ChoiceField, CountField, TextField
from blazarclient.transport import Transport

NETWORK_SEGMENT = RegisteredResource(noun="networksegment", name_key="name")
TYPES = ("vlan", "vxlan", "geneve", "gre")
_TOO_FEW = "Not enough network segments available"


class NetworkKind(Kind):
    """Networks, each on a segment such as a VLAN."""

    resource_type = "network"
    help = "networks on segments of their own"
    position = 60
    fields = (
        CountField(name="amount", help="how many networks", default=1, sends_default=True, minimum=1),
        ChoiceField(name="network_type", help="the type of their segments", choices=TYPES),
        TextField(name="physical_network", help="the physical network of their segments"),
        TextField(name="network_name", help="the name of the network; that of the lease by default"),
    )
    resource = NETWORK_SEGMENT

    def advice(self, error: Exception, names: CommandNames) -> str:
        if isinstance(error, exception.BlazarClientException) and _TOO_FEW in str(error):
            return "See the segments with `openstack reservation networksegment list`."
        return ""

    def managers(self, transport: Transport) -> Mapping[str, object]:
        from blazarclient.kinds.network.v1 import NetworkSegments

        return {"networksegment": NetworkSegments(transport)}
