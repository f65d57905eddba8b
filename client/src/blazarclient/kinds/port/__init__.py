"""The kind ``network:port``: a number of ports."""

from __future__ import annotations

from collections.abc import Mapping

from blazarclient import exception
from blazarclient.kinds.base import CommandNames, Kind
from blazarclient.kinds.fields import ChoiceField, CountField
from blazarclient.transport import Transport

_TOO_FEW = "Not enough ports available"


class PortKind(Kind):
    """Ports, of which the project may have so many more."""

    resource_type = "network:port"
    help = "ports of networks"
    position = 70
    fields = (
        CountField(name="amount", help="how many ports", required=True, minimum=1),
        ChoiceField(
            name="on_end",
            help="what becomes at the end of ports beyond the quota",
            choices=("keep", "delete"),
            default="keep",
        ),
    )

    def advice(self, error: Exception, names: CommandNames) -> str:
        if isinstance(error, exception.BlazarClientException) and _TOO_FEW in str(error):
            return "See how many there are with `openstack reservation portpool show`."
        return ""

    def managers(self, transport: Transport) -> Mapping[str, object]:
        from blazarclient.kinds.port.v1 import PortPool

        return {"portpool": PortPool(transport)}
