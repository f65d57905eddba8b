"""The kind ``instance:server``: capacity for a server that exists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blazarclient import exception
from blazarclient.kinds.base import CommandNames, Kind
from blazarclient.kinds.compute_fields import requirement
from blazarclient.kinds.fields import BooleanField, Field, TextField
from blazarclient.parsing.errors import InvalidInput

if TYPE_CHECKING:
    from openstack.connection import Connection

_NO_SERVER = re.compile(r"Server .* could not be found")
_MUST_BE_AN_ID = "server_id (must be the id of a server)"
STEPS = ("create_image", "suspend", "shelve", "stop", "delete")


@dataclass(frozen=True, kw_only=True)
class StepsField(Field):
    """Steps with plus signs between them, or a list of a file."""

    def parse(self, value: Any) -> list[str]:
        words = value if isinstance(value, list) else str(value).split("+")
        steps = [str(word).strip() for word in words]
        for step in steps:
            if step not in STEPS:
                raise InvalidInput(f"{self.name}={step} is not possible: {', '.join(STEPS)}, with + between")
        return steps


class ServerKind(Kind):
    """A server that exists."""

    resource_type = "instance:server"
    help = "capacity for a server that exists"
    position = 35
    fields = (
        TextField(name="server_id", help="id or name of the server", required=True),
        StepsField(name="on_end", help="what is done with it at the end, like create_image+delete"),
        BooleanField(name="locked", help="True: it is locked until the end against changes and deletion"),
        requirement("resource_properties"),
    )
    answer_keys = ("server_name", "vcpus", "memory_mb", "disk_gb", "aggregate_id")

    def refused_name(self, error: Exception, reservation: Mapping[str, Any]) -> str | None:
        name = str(reservation.get("server_id"))
        is_refused = _MUST_BE_AN_ID in str(error) or f"Server {name} could not be found" in str(error)
        return name if is_refused else None

    def with_id(self, cloud: Connection, reservation: Mapping[str, Any]) -> dict[str, Any]:
        found = cloud.compute.find_server(reservation["server_id"], ignore_missing=True)
        return {**reservation, "server_id": found.id} if found else dict(reservation)

    def advice(self, error: Exception, names: CommandNames) -> str:
        if isinstance(error, exception.BlazarClientException) and _NO_SERVER.search(str(error)):
            return "See the servers with `openstack server list`."
        return ""
