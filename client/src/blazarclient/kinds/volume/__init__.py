"""The kind ``storage:volume``: capacity of volume types."""

from __future__ import annotations

from collections.abc import Mapping

from blazarclient import exception
from blazarclient.kinds.base import CommandNames, Kind, RegisteredResource
from blazarclient.kinds.fields import ChoiceField, CountField, TextField
from blazarclient.transport import Transport

VOLUME_TYPE = RegisteredResource(noun="volumetype", name_key="name")
_NOT_FOUND = "Failed to find volume type "


class VolumeKind(Kind):
    """Capacity of a volume type."""

    resource_type = "storage:volume"
    help = "capacity for volumes"
    position = 50
    fields = (
        TextField(name="volume_type", help="id or name of the volume type", required=True),
        CountField(name="gigabytes", help="size of all volumes together, in GiB", required=True, minimum=1),
        CountField(name="volumes", help="how many volumes", default=1, sends_default=True, minimum=1),
        ChoiceField(
            name="on_end", help="what becomes of those beyond the quota then", choices=("keep", "delete")
        ),
    )
    resource = VOLUME_TYPE

    def advice(self, error: Exception, names: CommandNames) -> str:
        if isinstance(error, exception.BlazarClientException) and _NOT_FOUND in str(error):
            return "See the volume types with `openstack volume type list`."
        return ""

    def managers(self, transport: Transport) -> Mapping[str, object]:
        from blazarclient.kinds.volume.v1 import VolumeTypes

        return {"volumetype": VolumeTypes(transport)}
