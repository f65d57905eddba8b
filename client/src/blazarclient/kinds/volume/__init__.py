"""The kind ``storage:volume``: capacity of volume types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blazarclient import exception
from blazarclient.kinds.base import CommandNames, Kind, RegisteredResource
from blazarclient.kinds.fields import CountField, StepsField, TextField
from blazarclient.parsing.errors import InvalidInput
from blazarclient.transport import Transport

if TYPE_CHECKING:
    from openstack.connection import Connection

VOLUME_TYPE = RegisteredResource(noun="volumetype", name_key="name")
_NOT_FOUND = "Failed to find volume type "
_NO_SOURCE = re.compile(r"(Server|Image|Snapshot) .* could not be found")
_LISTS = {"Snapshot": "volume snapshot"}
KEEP, DELETE = "keep", "delete"
NEW = "1.39"
"""The version of the API that brought volumes which are made at the start."""
MADE = ("volume_size", "image_id", "snapshot_id", "server_id")
"""What only such volumes have."""


@dataclass(frozen=True, kw_only=True)
class EndField(StepsField):
    """Steps in one text, as the service shows them, too."""

    def parse(self, value: Any) -> Any:
        words = value.replace(",", "+") if isinstance(value, str) else value
        return ",".join(super().parse(words))


class VolumeKind(Kind):
    """Capacity of a volume type, for volumes that are made at the start or by their user."""

    resource_type = "storage:volume"
    help = "capacity for volumes"
    position = 50
    fields = (
        TextField(name="volume_type", help="id or name of the volume type", required=True),
        CountField(name="gigabytes", help="size of all volumes together, in GiB", required=True, minimum=1),
        CountField(name="volumes", help="how many volumes", default=1, sends_default=True, minimum=1),
        EndField(
            name="on_end",
            help="what becomes of them at the end: keep, delete, or steps like snapshot+detach",
            steps=(KEEP, "snapshot", "detach", DELETE),
        ),
        TextField(name="volume_name", help="name of the volume that is made at the start", since=NEW),
        CountField(name="volume_size", help="size of each, in GiB", minimum=1, since=NEW),
        TextField(name="image_id", help="id or name of the image they are made from", since=NEW),
        TextField(name="snapshot_id", help="id or name of the snapshot they are made from", since=NEW),
        TextField(name="server_id", help="id or name of the server that gets them", since=NEW),
    )
    answer_keys = ("made_volumes",)
    resource = VOLUME_TYPE

    def check(self, reservation: Mapping[str, Any]) -> None:
        given = [name for name in MADE if name in reservation]
        if given and "volume_name" not in reservation:
            raise InvalidInput(f"{given[0]} is of volumes that are made at the start: volume_name is missing")
        if "volume_name" not in reservation and reservation.get("on_end", KEEP) not in (KEEP, DELETE):
            raise InvalidInput(f"on_end={reservation['on_end']} is not possible without volume_name")

    def refused_name(self, error: Exception, reservation: Mapping[str, Any]) -> str | None:
        told = str(error)
        named = [(name, str(reservation.get(name))) for name in ("server_id", "image_id", "snapshot_id")]
        return next((text for name, text in named if f"{name} (must be the id" in told), None)

    def with_id(self, cloud: Connection, reservation: Mapping[str, Any]) -> dict[str, Any]:
        finders = {
            "server_id": cloud.compute.find_server,
            "image_id": cloud.image.find_image,
            "snapshot_id": cloud.block_storage.find_snapshot,
        }
        found = dict(reservation)
        for name, find in finders.items():
            if name in found and (resource := find(found[name], ignore_missing=True)):
                found[name] = resource.id
        return found

    def advice(self, error: Exception, names: CommandNames) -> str:
        if not isinstance(error, exception.BlazarClientException):
            return ""
        if _NOT_FOUND in str(error):
            return "See the volume types with `openstack volume type list`."
        if refused := _NO_SOURCE.search(str(error)):
            return f"See what there is with `openstack {_LISTS.get(refused[1], refused[1].lower())} list`."
        return ""

    def managers(self, transport: Transport) -> Mapping[str, object]:
        from blazarclient.kinds.volume.v1 import VolumeTypes

        return {"volumetype": VolumeTypes(transport)}
